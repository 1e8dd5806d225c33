/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies a file with the BTF of a guest's kernel, for kernels that contain none, into a sealed
 * memfd. The file is BTF as in /sys/kernel/btf/vmlinux, or an ELF file with a section .BTF.
 *
 *   file --hv_btf_copy_make()--> sealed memfd --hv_btf_file_read()--> struct hv_btf
 *          privileged process                   unprivileged process
 *
 * The copy contains only BTF, the build id and the machine, and can no longer change. So the
 * unprivileged process gets no access to the file, and later changes of the file have no effect.
 * The file is untrusted: all lengths are limited before anything is read, and only the table of
 * sections and the notes are parsed here. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define HV_BTF_BYTES_MAX      (64u << 20) /* of the BTF */
#define HV_BTF_COPY_BYTES_MAX (HV_BTF_BYTES_MAX + sizeof(struct hv_btf_copy))

/* The start of a copy; BTF follows. */
struct hv_btf_copy {
	char magic[8];
	uint32_t machine;	     /* e_machine of an ELF file; 0: raw BTF */
	uint32_t build_id_len_bytes; /* 0: the file has no build id */
	uint8_t build_id[32];
};
#define HV_BTF_COPY_MAGIC "hv-btf1"

/* Copies the needed parts of FD, a regular file, which is borrowed. *RET is a sealed memfd, and
 * *RET_BYTES its length. Messages do not name the file. */
struct hv_err *hv_btf_copy_make(int fd, int *ret, uint64_t *ret_bytes) hv_must_use;
/* Reads LEN_BYTES at OFF of FD. EIO: the file is shorter. */
struct hv_err *hv_btf_copy_read(int fd, uint64_t off, void *ret, size_t len_bytes) hv_must_use;
/* Makes the memfd FD unchangeable. */
struct hv_err *hv_btf_copy_seal(int fd) hv_must_use;
