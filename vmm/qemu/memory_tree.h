/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where QEMU's memory tree can have RAM (`info mtree`; system/memory.c mtree_print_mr). The tree
 * does not say which of several regions is visible at an address (priorities, regions in front of
 * others). So the address space is cut into pieces where any region begins or ends, and gpa2hva
 * tells what is at one address of each piece.
 *
 * `info mtree -f` would show the visible regions directly. But it makes QEMU (7.2 and 10.0) keep a
 * reference to each flat view that several address spaces share, once for each of them, and then
 * memory and devices that are unplugged later are never freed. Pure: text in, values out. A line
 * that is not understood is skipped. The time is in proportion to the text, whatever a VMM writes.
 */
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
	struct hv_tree_piece *pieces; /* ascending; all of a piece is RAM, or is hidden */
	size_t nr_pieces, cap_pieces;
	char **names; /* of the blocks of RAM that belong to no device */
	size_t nr_names;
};

/* TEXT is the output of `info mtree -o`. Takes address space "memory" and resolves aliases. False:
 * there is none, or it has too many regions or lines (thousands). */
bool hv_memory_tree_parse(const char *text, struct hv_memory_tree *ret);
void hv_memory_tree_deinit(struct hv_memory_tree *t);
/* Cuts [START, START + LEN) out of the pieces. */
void hv_memory_tree_cut(struct hv_memory_tree *t, struct hv_gpa start, uint64_t len_bytes);
/* Whether NAME is a block of RAM that belongs to no device. */
bool hv_memory_tree_has(const struct hv_memory_tree *t, const char *name);
