/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A vmlinux or debug file that the user provides, read with libelf: build id, symbols,
 * __mcount_loc, BTF or DWARF. Addresses are link-time addresses; the caller adds the KASLR offset. The file
 * is untrusted: libelf and this code check it. */
#pragma once

#include "kernel/image/symbols.h"

/* The file that the user provides. */
struct hv_vmlinux_file {
	const char *path;
	int fd; /* borrowed; -1: open PATH */
};

struct hv_vmlinux {
	const char *arch; /* the name in struct hv_arch */
	uint8_t build_id[32];
	size_t build_id_len_bytes;
	struct hv_symbols symbols;
	uint64_t *mcount_locs; /* owned, sorted, link-time; empty if the section is missing */
	size_t nr_mcount_locs;
	uint8_t *btf; /* owned; NULL if missing */
	size_t btf_len_bytes;
	bool has_dwarf;		     /* kernel/types/dwarf.h reads it */
	struct hv_vmlinux_file file; /* borrowed */
};

struct hv_err *hv_vmlinux_open(const struct hv_vmlinux_file *file,
			       struct hv_vmlinux *ret) hv_must_use;
void hv_vmlinux_deinit(struct hv_vmlinux *v);
