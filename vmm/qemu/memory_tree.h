/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds possible RAM in QEMU's memory tree (`info mtree`; system/memory.c mtree_print_mr). The tree
 * does not show which of several regions is visible at an address (priorities, overlapping
 * regions). So the address space is divided at every start and end of a region, and gpa2hva shows
 * the memory at one address of each piece.
 *
 * `info mtree -f` would show the visible regions directly. But it makes QEMU (7.2 and 10.0) leak a
 * reference to each flat view that several address spaces share, once for each of them, so that
 * memory and devices unplugged later are never freed. Pure: text in, values out. Unknown lines are
 * skipped. The run time is proportional to the length of the text, whatever a VMM writes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

struct hv_tree_piece {
	struct hv_gpa start;
	uint64_t len_bytes;
};

struct hv_memory_tree {
	struct hv_tree_piece *pieces; /* ascending; each piece is either all RAM or all hidden */
	size_t nr_pieces, cap_pieces;
	char **names; /* of the blocks of RAM that belong to no device */
	size_t nr_names;
};

/* TEXT is the output of `info mtree -o`. Parses address space "memory" and resolves aliases.
 * Returns false if there is no such address space, or it has too many regions or lines
 * (thousands). */
bool hv_memory_tree_parse(const char *text, struct hv_memory_tree *ret);
void hv_memory_tree_deinit(struct hv_memory_tree *t);
/* Removes [START, START + LEN) from the pieces. */
void hv_memory_tree_cut(struct hv_memory_tree *t, struct hv_gpa start, uint64_t len_bytes);
/* Whether NAME is a block of RAM that belongs to no device. */
bool hv_memory_tree_has(const struct hv_memory_tree *t, const char *name);
