/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables in which the kernel, and each module for itself, has the places in code of something
 * that it switches: of static keys (jump_sites.h) and of static calls (call_sites.h). A table is
 * sorted by what its entries belong to, the *key*. The key leads to its first entry in the only
 * table that has any, or to a list with a link for each such table. They are read from live memory,
 * since a module that is loaded or removed adds or takes away entries of a key of the core kernel.
 * Everything is hostile and bounded. Leaves to others: what an entry says. */
#pragma once

#include "base/addr.h"
#include "base/bytes.h"
#include "base/err.h"

struct hv_kernel;
struct hv_kernel_core;

/* A word of the guest, as it was read. */
struct hv_word {
	struct hv_gva at;
	uint64_t value;
	uint64_t mask; /* of the bits that count */
};

/* Offsets and sizes, from BTF, and where the kernel's own table is. */
struct hv_site_table {
	const char *start, *stop; /* symbols */
	uint32_t entry_len_bytes;
	bool has_links; /* the following are known: this kernel has modules */
	uint32_t link_next, link_entries, link_module;
	uint32_t module_entries, module_nr; /* of struct module */
};

/* The names of what hv_site_table_find() looks for. */
struct hv_site_table_names {
	const char *start, *stop, *entry;
	const char *link, *link_entries;
	const char *module_entries, *module_nr;
};

/* ENOENT: the kernel lacks a type or a member, which the message names. */
struct hv_err *hv_site_table_find(const struct hv_kernel_core *core,
				  const struct hv_site_table_names *names,
				  struct hv_site_table *ret) hv_must_use;

#define HV_SITE_ENTRY_MAX 64u /* bytes */

struct hv_site_tables {
	const struct hv_kernel *k; /* borrowed, as the table */
	const struct hv_site_table *table;
	/* Is given each entry in turn. False: ENTRY, which is at AT, is of another key. */
	bool (*is_of_key)(void *ctx, struct hv_span entry, uint64_t at);
	void (*add)(void *ctx, struct hv_span entry, uint64_t at);
	void *ctx;
	size_t nr; /* that were added */
	/* Owned: the pointers by which the entries were found. While they have these values, the
	 * key has these entries. */
	struct hv_word *words;
	size_t nr_words;
};

/* Reads a pointer that leads to entries. */
struct hv_err *hv_site_tables_word(struct hv_site_tables *t, struct hv_gva at,
				   uint64_t *ret) hv_must_use;
/* Reads the entries of the key from ENTRIES on, the address of the first one; 0: there is none.
 * EINVAL: it is in no table; E2BIG. */
struct hv_err *hv_site_tables_read(struct hv_site_tables *t, uint64_t entries) hv_must_use;
/* Reads those of all tables in the list of links that begins at LINK; 0: it is empty. */
struct hv_err *hv_site_tables_read_list(struct hv_site_tables *t, uint64_t link) hv_must_use;
