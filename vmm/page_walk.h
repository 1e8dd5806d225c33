/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A page-table walk, independent of how entries are read. The tables are untrusted: a walk has at
 * most one step per level and reads each entry once, in one piece. If the guest changes its tables
 * during a walk, the result may be out of date, but it is always well-formed. arch/ knows the entry
 * formats; the caller chooses the tables. */
#pragma once

#include "arch/arch.h"
#include "base/err.h"

#define HV_PAGE_LEVELS_MAX 5

struct hv_page_tables {
	const struct hv_arch *arch;
	struct hv_gpa root;
	unsigned levels; /* 1 to HV_PAGE_LEVELS_MAX */
};

/* A translation, valid for [gva, gva + len_bytes). */
struct hv_mapping {
	struct hv_gpa gpa;
	uint64_t len_bytes; /* from the requested address to the end of its page or hole */
	unsigned level;	    /* of the leaf or of the non-present entry */
	struct hv_gpa entry_gpa;
	uint64_t entry;
	bool present;
	bool writable;
	bool executable;
};

/* Reads the entry at AT. */
typedef struct hv_err *(*hv_read_entry_fn)(void *ctx, struct hv_gpa at, uint64_t *ret);

/* Walks from T's root to GVA. A table at ENTRY_LEVEL is not followed: then ret->present is true and
 * ret->gpa is the table's address; 0: follow all tables. An unmapped address is not an error. Fails
 * only if READ fails. */
struct hv_err *hv_page_walk(const struct hv_page_tables *t, struct hv_gva gva, unsigned entry_level,
			    hv_read_entry_fn read, void *ctx, struct hv_mapping *ret) hv_must_use;
