/* Where QEMU's memory tree can have RAM (`info mtree`; system/memory.c mtree_print_mr). Which of
 * its regions is seen at an address the tree does not say (priorities, regions in front of others):
 * it is cut where any of them begins or ends, and gpa2hva tells what one address of each piece is.
 *
 * `info mtree -f` would say it at once, but QEMU (7.2 and 10.0) keeps a reference to each flat view
 * that several address spaces share, once for each of them: memory and devices that are unplugged
 * later would never be freed. Pure: text in, values out. A line that is not understood is skipped.
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
	struct hv_tree_piece *pieces; /* ascending; RAM, or what hides it, from end to end */
	size_t nr_pieces;
	char **names; /* of the blocks of RAM that no device owns */
	size_t nr_names;
};

/* TEXT: of `info mtree -o`. Takes address space "memory", aliases resolved. False: there is none,
 * or it has more regions (thousands) than are looked at. */
bool hv_memory_tree_parse(const char *text, struct hv_memory_tree *ret);
void hv_memory_tree_deinit(struct hv_memory_tree *t);
/* Takes [START, START + LEN) out of the pieces. */
void hv_memory_tree_cut(struct hv_memory_tree *t, struct hv_gpa start, uint64_t len_bytes);
/* Whether NAME is a block of RAM of the machine's own. */
bool hv_memory_tree_has(const struct hv_memory_tree *t, const char *name);
