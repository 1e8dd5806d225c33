/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code sites that the kernel patches for a static key and for a static call, from the tables of
 * the kernel and its modules. All input is untrusted: code that changes a site checks the bytes
 * first. tracer/tracepoints/plug.h changes sites. */
#pragma once

#include "base/addr.h"
#include "base/err.h"

struct hv_kernel;
struct hv_tracepoint;

/* -- tables of sites --------------------------------------------------------------------------- */

/* The kernel and each module have a table of the sites of static keys and one of the sites of
 * static calls.
 *
 * A table is sorted by the object that its entries belong to, the *key*. The key points to its
 * first entry if only one table has entries for it, otherwise to a list with a link for each such
 * table. The tables are read from live memory, because loading or removing a module adds or removes
 * entries of keys in the core kernel. All input is bounded. */

/* A word of guest memory and its value when it was read. */
struct hv_word {
	struct hv_gva at;
	uint64_t value;
	uint64_t mask; /* the relevant bits */
};

/* Offsets and sizes, from BTF, and the symbols of the kernel's own table. */
struct hv_site_table {
	const char *start, *stop; /* symbols */
	uint32_t entry_len_bytes;
	bool has_links; /* this kernel has modules, and the following members are valid */
	uint32_t link_next, link_entries, link_module;
	/* False: the types were derived while there was no module. Find the table again after a
	 * module was loaded. */
	bool has_module_tables;
	uint32_t module_entries, module_nr; /* of struct module; valid if has_module_tables */
};

/* -- static keys ------------------------------------------------------------------------------- */

/* The sites of a static key: the instructions that are a nop while the key is off and a jump to
 * TARGET while it is on, or the reverse (kernel/jump_label.c). arch/ knows the nops and jumps and
 * their lengths. */

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

/* -- static calls ------------------------------------------------------------------------------ */

/* The static call of a tracepoint (kernel/static_call_inline.c): direct calls of one function,
 * which the kernel patches to change the function. They are the static call's trampoline, which
 * jumps to the function, and call sites in the kernel and its modules. */

/* Offsets and sizes, from BTF. */
struct hv_call_layout {
	struct hv_site_table table;
	uint32_t key, trampoline; /* offsets in struct tracepoint; pointers */
	uint32_t links;		  /* of struct static_call_key */
	uint32_t site_code, site_key;
	uint32_t module_state; /* of struct module */
};

/* Fails with ENOENT if this kernel has no static calls or their layout is unknown. */
struct hv_err *hv_call_layout_find(const struct hv_kernel *k,
				   struct hv_call_layout *ret) hv_must_use;

/* A direct call or jump. */
struct hv_call_site {
	struct hv_gva at;
	struct hv_gva target;
	bool is_jump;
	uint8_t bytes[8];
};

struct hv_call_sites {
	struct hv_call_site *list; /* owned; the first one is the trampoline */
	size_t nr;
	struct hv_word *words; /* owned; the pointers that lead to the sites */
	size_t nr_words;
};

/* Reads the calls of TP's static call, except those in init code. Fails with EBUSY if one is being
 * changed, or EINVAL if one is neither a call nor a jump. */
struct hv_err *hv_call_sites_read(const struct hv_kernel *k, const struct hv_call_layout *layout,
				  const struct hv_tracepoint *tp,
				  struct hv_call_sites *ret) hv_must_use;
void hv_call_sites_deinit(struct hv_call_sites *s);

/* Fails with EBUSY if a module with calls of TP's static call is being loaded, because its init
 * code, which is not read, may contain calls. */
struct hv_err *hv_call_sites_check_modules(const struct hv_kernel *k,
					   const struct hv_call_layout *layout,
					   const struct hv_tracepoint *tp) hv_must_use;
