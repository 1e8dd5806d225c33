/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of code sites that the kernel patches: sites of static keys (jump_sites.h) and of static
 * calls (call_sites.h). The kernel and each module have one.
 *
 * A table is sorted by the object that its entries belong to, the *key*. The key points to its
 * first entry if only one table has entries for it, otherwise to a list with a link for each such
 * table. The tables are read from live memory, because loading or removing a module adds or removes
 * entries of keys in the core kernel. All input is untrusted and bounded. The users of this header
 * interpret the entries. */
#pragma once

#include "base/addr.h"
#include "base/bytes.h"
#include "base/err.h"

struct hv_kernel;
struct hv_kernel_core;

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
	uint32_t module_entries, module_nr; /* of struct module */
};

/* The names that hv_site_table_find() looks up. */
struct hv_site_table_names {
	const char *start, *stop, *entry;
	const char *link, *link_entries;
	const char *module_entries, *module_nr;
};

/* Fails with ENOENT if the kernel lacks a type or member, which the message names. */
struct hv_err *hv_site_table_find(const struct hv_kernel_core *core,
				  const struct hv_site_table_names *names,
				  struct hv_site_table *ret) hv_must_use;

#define HV_SITE_ENTRY_MAX 64u /* bytes */

struct hv_site_tables {
	const struct hv_kernel *k; /* borrowed, like the table */
	const struct hv_site_table *table;
	/* Called for each entry in turn. Returns false if ENTRY, at address AT, belongs to another
	 * key. */
	bool (*is_of_key)(void *ctx, struct hv_span entry, uint64_t at);
	void (*add)(void *ctx, struct hv_span entry, uint64_t at);
	void *ctx;
	size_t nr; /* number of entries added */
	/* Owned: the pointers that lead to the entries. While their values are unchanged, so are
	 * the key's entries. */
	struct hv_word *words;
	size_t nr_words;
};

/* Reads a pointer that leads to entries. */
struct hv_err *hv_site_tables_word(struct hv_site_tables *t, struct hv_gva at,
				   uint64_t *ret) hv_must_use;
/* Reads the entries of the key, starting at address ENTRIES; does nothing if ENTRIES is 0. Fails
 * with EINVAL if the address is in no table, or with E2BIG. */
struct hv_err *hv_site_tables_read(struct hv_site_tables *t, uint64_t entries) hv_must_use;
/* Reads the key's entries in all tables of the list of links that begins at LINK; 0 if empty. */
struct hv_err *hv_site_tables_read_list(struct hv_site_tables *t, uint64_t link) hv_must_use;
