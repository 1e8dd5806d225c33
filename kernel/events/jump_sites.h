/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sites of a static key: the instructions that are a nop while the key is off and a jump to
 * TARGET while it is on, or the reverse (kernel/jump_label.c). All input is untrusted: code that
 * changes a site checks the bytes first. arch/ knows the nops and jumps and their lengths. */
#pragma once

#include "kernel/events/site_tables.h"

struct hv_jump_site {
	struct hv_gva code; /* untrusted */
	struct hv_gva target;
	bool is_default_on; /* the site is a nop while the key is on */
	bool is_init; /* in code that is freed after the kernel or module has been initialised */
};

struct hv_jump_sites {
	struct hv_jump_site *list; /* owned */
	size_t nr;
	/* Owned: the pointers that lead to the sites. While their values are unchanged, so is the
	 * list of sites. */
	struct hv_word *words;
	size_t nr_words;
};

/* Offsets and sizes, from BTF. */
struct hv_jump_layout {
	struct hv_site_table table;
	uint32_t key_entries;	    /* of struct static_key */
	uint32_t code, target, key; /* of struct jump_entry */
	bool is_relative;	    /* members of an entry are distances from their own addresses */
};

/* Fails with ENOENT if the layout of this kernel's static keys is unknown. */
struct hv_err *hv_jump_layout_find(const struct hv_kernel *k,
				   struct hv_jump_layout *ret) hv_must_use;

/* KEY is the address of a struct static_key (hv_tracepoint.key). Fails with ENOENT if this kernel
 * does not patch code for static keys. */
struct hv_err *hv_jump_sites_read(const struct hv_kernel *k, const struct hv_jump_layout *layout,
				  struct hv_gva key, struct hv_jump_sites *ret) hv_must_use;
/* Returns this kernel's nop for a site of LEN_BYTES, copied from a site of another key that is off.
 * Fails with EUCLEAN if there is no such site. */
struct hv_err *hv_jump_nop_find(const struct hv_kernel *k, const struct hv_jump_layout *layout,
				size_t len_bytes, uint8_t ret[8]) hv_must_use;
void hv_jump_sites_deinit(struct hv_jump_sites *s);
