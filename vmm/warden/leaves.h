/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page-table entries that map the region in the guest's kernel, as they were written: leaves of
 * the region, or entries that lead to tables in it. rules.h decides which entries may be
 * written. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"

struct hv_leaf {
	struct hv_gva gva;
	uint64_t len_bytes; /* length of the mapping */
	struct hv_gpa to;   /* memory of the region, or a table in it */
	bool executable, writable;
};

struct hv_leaves {
	struct hv_leaf *list; /* owned; by address, disjoint */
	size_t nr, cap;
};

void hv_leaves_deinit(struct hv_leaves *l);
/* Replaces overlapping leaves. */
void hv_leaves_add(struct hv_leaves *l, const struct hv_leaf *leaf);
void hv_leaves_remove(struct hv_leaves *l, struct hv_gva gva);
/* Returns NULL if no leaf maps AT. */
const struct hv_leaf *hv_leaves_at(const struct hv_leaves *l, struct hv_gva at);
