/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the copy of a BTF file (btf_copy.h) without trusting it. btf_proof.h decides whether its
 * types belong to the guest's kernel. */
#pragma once

#include "kernel/types/btf.h"

struct hv_btf_file {
	struct hv_btf *btf; /* owned */
	uint8_t build_id[32];
	size_t build_id_len_bytes; /* 0: the file has no build id */
	unsigned machine;	   /* e_machine of an ELF file; 0: raw BTF */
};

/* FD is borrowed. Messages do not name the file. */
struct hv_err *hv_btf_file_read(int fd, struct hv_btf_file *ret) hv_must_use;
