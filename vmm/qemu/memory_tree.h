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

/* -- free addresses ---------------------------------------------------------------------------- */

/* Finds an address for an injected region: guest-physical addresses that nothing in the guest uses
 * or will use, according to the monitor's output. Pure: text and numbers in, values out. */

struct hv_taken { /* [start, end) of guest-physical space */
	uint64_t start;
	uint64_t end;
};

struct hv_taken_list {
	struct hv_taken *list; /* owned */
	size_t nr, cap;
};

void hv_taken_add(struct hv_taken_list *t, uint64_t start, uint64_t end);
void hv_taken_deinit(struct hv_taken_list *t);
#define HV_TAKEN_MAX 65536
/* Adds every range in the output of `info mtree`, of all address spaces and kinds, except those as
 * large as an address space. Returns false if there are more than HV_TAKEN_MAX. */
bool hv_taken_parse(struct hv_taken_list *t, const char *text);

#define HV_FREE_GPA_UNIT (2ull << 20)

/* Chooses the highest address for LEN bytes that is aligned to HV_FREE_GPA_UNIT, above 4 GiB and
 * FLOOR, and in the lower three quarters of the PHYS_BITS address space: firmware puts PCI windows
 * into the last eighth, and AMD has a HyperTransport hole in the last 12 GiB. Returns false if
 * there is no free range. */
bool hv_free_gpa_choose(const struct hv_taken_list *taken, unsigned phys_bits, uint64_t floor,
			uint64_t len_bytes, struct hv_gpa *ret);
