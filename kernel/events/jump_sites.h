/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sites of a static key: the places in the guest's code that have a nop while the key is off
 * and a jump to TARGET while it is on, or the other way round (kernel/jump_label.c). Everything
 * is hostile: whoever changes a site checks what is there. Leaves to others: the bytes of a nop and
 * of a jump, and how many they are (arch/). */
#pragma once

#include "kernel/events/site_tables.h"

struct hv_jump_site {
	struct hv_gva code; /* hostile */
	struct hv_gva target;
	bool is_default_on; /* the nop is there while the key is on */
	bool is_init;	    /* in code that is freed after the kernel or the module has started */
};

struct hv_jump_sites {
	struct hv_jump_site *list; /* owned */
	size_t nr;
	/* Owned: the pointers by which the sites were found. While they have these values, the key
	 * has these sites. */
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

/* ENOENT: this kernel's static keys are of a form that is not known. */
struct hv_err *hv_jump_layout_find(const struct hv_kernel *k,
				   struct hv_jump_layout *ret) hv_must_use;

/* KEY: the address of a struct static_key (hv_tracepoint.key). ENOENT: this kernel patches no code
 * for static keys. */
struct hv_err *hv_jump_sites_read(const struct hv_kernel *k, const struct hv_jump_layout *layout,
				  struct hv_gva key, struct hv_jump_sites *ret) hv_must_use;
/* What this kernel has at a site of LEN_BYTES while its key is off, as another key's site in its
 * own code has it. EUCLEAN: none is off. */
struct hv_err *hv_jump_nop_find(const struct hv_kernel *k, const struct hv_jump_layout *layout,
				size_t len_bytes, uint8_t ret[8]) hv_must_use;
void hv_jump_sites_deinit(struct hv_jump_sites *s);
