/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A vmlinux or debug file that the user named, read with libelf: build id, symbols, __mcount_loc,
 * BTF. Addresses are link-time ones; the caller adds the KASLR offset. The file is trusted no
 * further than libelf's checks and ours. */
#pragma once

#include "kernel/symbols.h"
#include "base/bytes.h"

struct hv_vmlinux {
	const char *arch; /* as struct hv_arch names it */
	uint8_t build_id[32];
	size_t build_id_len_bytes;
	struct hv_symbols symbols;
	uint64_t *mcount_locs; /* owned, sorted, link-time; empty when the section is not there */
	size_t nr_mcount_locs;
	uint8_t *btf; /* owned; NULL when there is none */
	size_t btf_len_bytes;
};

/* The file that the user named. */
struct hv_vmlinux_file {
	const char *path;
	int fd; /* borrowed; -1: it is opened by its path */
};

struct hv_err *hv_vmlinux_open(const struct hv_vmlinux_file *file,
			       struct hv_vmlinux *ret) hv_must_use;
void hv_vmlinux_deinit(struct hv_vmlinux *v);
