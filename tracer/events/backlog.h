/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of one ring that were read and not yet returned, oldest first. Most arrive in order and
 * need no sorting. The others go through a heap, so that a guest cannot choose an order that is
 * slow.
 *
 * merge.h bounds their number and decides which of them may be returned. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ringbuf/abi.h"

struct hv_kept {
	struct hv_record record;
	uint64_t position;
	uint64_t time_ns;
	uint64_t round; /* number of the merge round that read it */
	uint64_t run;	/* see struct hv_merge_item */
};

/* Zero-initialised: empty. */
struct hv_backlog {
	struct hv_kept *run;	/* owned; record N is at N % RUN_CAP */
	size_t run_first;	/* the first record, in order */
	size_t run_end;		/* one past the last record */
	size_t run_cap;		/* a power of two, or 0 */
	uint64_t run_end_ns;	/* time of the last record added to the run */
	uint64_t next_position; /* one past the position of the last record added */
	unsigned goes_back;	/* not 0: positions went back since the backlog was empty */
	struct hv_kept *heap;	/* owned; records that arrived after a younger record */
	size_t nr_heap;
	size_t heap_cap;
};

void hv_backlog_deinit(struct hv_backlog *b);

static inline size_t hv_backlog_nr(const struct hv_backlog *b)
{
	return b->run_end - b->run_first + b->nr_heap;
}

static inline struct hv_kept *hv_backlog_run_at(const struct hv_backlog *b, size_t number)
{
	return &b->run[number & (b->run_cap - 1)];
}

/* Slow paths of the functions below, for records that are out of order. */
void hv_backlog_grow(struct hv_backlog *b);
void hv_backlog_heap_add(struct hv_backlog *b, const struct hv_kept *kept);
const struct hv_kept *hv_backlog_first_of_both(const struct hv_backlog *b);
void hv_backlog_drop_first_of_both(struct hv_backlog *b);

/* Returns room for *RET_NR records, at least one. The caller reads records from POSITION on into it
 * and adds them one by one, or skips them. */
static inline struct hv_kept *hv_backlog_room(struct hv_backlog *b, uint64_t position,
					      size_t *ret_nr)
{
	size_t used = b->run_end - b->run_first, to_end;

	if (used == b->run_cap)
		hv_backlog_grow(b);
	if (!used)
		b->goes_back = b->run_end_ns = 0;
	else if ((int64_t)(position - b->next_position) < 0)
		b->goes_back = 1;
	to_end = b->run_cap - (b->run_end & (b->run_cap - 1));
	*ret_nr = to_end < b->run_cap - used ? to_end : b->run_cap - used;
	return hv_backlog_run_at(b, b->run_end);
}

/* Adds KEPT, which is in the room. Records are sorted by time, then by position. Positions ascend
 * unless the guest moves its head back. */
static inline void hv_backlog_add(struct hv_backlog *b, const struct hv_kept *kept)
{
	struct hv_kept *end = hv_backlog_run_at(b, b->run_end);

	b->next_position = kept->position + 1;
	if (kept->time_ns < b->run_end_ns) {
		hv_backlog_heap_add(b, kept);
		return;
	}
	if (kept != end) /* an earlier record in the room was skipped, or is in the heap */
		*end = *kept;
	b->run_end_ns = kept->time_ns;
	b->run_end++;
}

/* Returns the oldest record, or NULL. Valid until the next room, add or drop. */
static inline const struct hv_kept *hv_backlog_first(const struct hv_backlog *b)
{
	if (b->nr_heap)
		return hv_backlog_first_of_both(b);
	return b->run_first < b->run_end ? hv_backlog_run_at(b, b->run_first) : NULL;
}

/* Returns the first record of the run and how many consecutive ones follow in memory. They are in
 * order; records in the heap are not included. */
static inline const struct hv_kept *hv_backlog_beside(const struct hv_backlog *b, size_t *ret_nr)
{
	size_t nr = b->run_end - b->run_first, to_end;

	*ret_nr = 0;
	if (!nr)
		return NULL;
	to_end = b->run_cap - (b->run_first & (b->run_cap - 1));
	*ret_nr = nr < to_end ? nr : to_end;
	return hv_backlog_run_at(b, b->run_first);
}

/* Drops the oldest record, which must exist. */
static inline void hv_backlog_drop_first(struct hv_backlog *b)
{
	if (b->nr_heap)
		hv_backlog_drop_first_of_both(b);
	else
		b->run_first++;
}

/* Returns POSITION or the lowest position of any record, whichever is lower. */
uint64_t hv_backlog_lowest(const struct hv_backlog *b, uint64_t position);
