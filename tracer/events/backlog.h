/* Records of one ring, read and not yet returned, the oldest first. Most come in order and cost
 * nothing to sort; the others go through a heap, so that no order a guest chooses is slow.
 * Leaves to others: how many there may be, which of them may be returned (merge.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ringbuf/abi.h"

struct hv_kept {
	struct hv_record record;
	uint64_t position;
	uint64_t time_ns;
	uint64_t round; /* the merge's, that it was read in */
	uint64_t run;	/* the lane's: see struct hv_merge_item */
};

/* Zero-initialised is empty and valid. */
struct hv_backlog {
	struct hv_kept *run; /* owned; in order from RUN_FIRST to RUN_END */
	size_t run_first;
	size_t run_end;
	size_t run_cap;
	struct hv_kept *heap; /* owned; what came after a younger one */
	size_t nr_heap;
	size_t heap_cap;
};

void hv_backlog_deinit(struct hv_backlog *b);

static inline size_t hv_backlog_nr(const struct hv_backlog *b)
{
	return b->run_end - b->run_first + b->nr_heap;
}

/* Sorted by time, then by position. Positions are added in ascending order. */
void hv_backlog_add(struct hv_backlog *b, const struct hv_kept *kept);
/* The oldest; NULL: empty. Valid until the next add or drop. */
const struct hv_kept *hv_backlog_first(const struct hv_backlog *b);
void hv_backlog_drop_first(struct hv_backlog *b);

/* The lowest position of all, if below POSITION, else POSITION. Looks at many records. */
uint64_t hv_backlog_lowest(const struct hv_backlog *b, uint64_t position);
