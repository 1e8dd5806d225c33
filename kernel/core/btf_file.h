/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file with the BTF of a guest's kernel, for kernels that contain none: BTF as in
 * /sys/kernel/btf/vmlinux, or an ELF file with a section .BTF. The file is untrusted: it is read
 * once, its size is limited, and btf.h checks its contents. btf_proof.h decides whether it belongs
 * to the guest's kernel. */
#pragma once

#include "kernel/types/btf.h"

/* Opens the file for a guest kernel that contains no BTF. */
struct hv_btf_files {
	/* RELEASE is the kernel's and untrusted. *RET_FD and *RET_PATH, which is for messages, are
	 * the caller's. ENOENT: there is no file, and the message lists the paths that were
	 * tried. */
	struct hv_err *(*open)(void *ctx, const char *release, int *ret_fd, char **ret_path);
	void *ctx;
};

struct hv_btf_file {
	struct hv_btf *btf; /* owned */
	uint8_t build_id[32];
	size_t build_id_len_bytes; /* 0: the file has none */
};

/* FD is borrowed. Messages do not name the file. */
struct hv_err *hv_btf_file_read(int fd, struct hv_btf_file *ret) hv_must_use;
