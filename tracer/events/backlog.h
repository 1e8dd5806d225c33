/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of one ring that were read and not yet returned, the oldest first. Most come in order and
 * need no sorting; the others go through a heap, so that no order that a guest chooses is slow.
 * Leaves to others: how many there may be, which of them may be returned (merge.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ringbuf/abi.h"

struct hv_kept {
	struct hv_record record;
	uint64_t position;
	uint64_t time_ns;
	uint64_t round; /* the round of the merge in which it was read */
	uint64_t run;	/* the run of the lane: see struct hv_merge_item */
};

/* A zero-initialised backlog is empty and valid. */
struct hv_backlog {
	struct hv_kept *run;	/* owned; number N of them is at N % RUN_CAP */
	size_t run_first;	/* in order from this number */
	size_t run_end;		/* to before this one */
	size_t run_cap;		/* a power of two, or 0 */
	uint64_t run_end_ns;	/* the time of the last record that was added to the run */
	uint64_t next_position; /* after the last record that was added */
	unsigned goes_back;	/* not 0: positions went back since the backlog was empty */
	struct hv_kept *heap;	/* owned; records that came after a younger one */
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

/* Parts of the functions below, for records that do not come in order. */
void hv_backlog_grow(struct hv_backlog *b);
void hv_backlog_heap_add(struct hv_backlog *b, const struct hv_kept *kept);
const struct hv_kept *hv_backlog_first_of_both(const struct hv_backlog *b);
void hv_backlog_drop_first_of_both(struct hv_backlog *b);

/* Returns room for at least one more record, and for how many. The caller fills it with records
 * from POSITION on and adds them one after the other, or leaves them. */
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

/* Adds KEPT, which is in the room. Records are sorted by time, then by position. Positions ascend,
 * unless the guest moves its head back. */
static inline void hv_backlog_add(struct hv_backlog *b, const struct hv_kept *kept)
{
	struct hv_kept *end = hv_backlog_run_at(b, b->run_end);

	b->next_position = kept->position + 1;
	if (kept->time_ns < b->run_end_ns) {
		hv_backlog_heap_add(b, kept);
		return;
	}
	if (kept != end) /* one before it in the room was left, or is in the heap */
		*end = *kept;
	b->run_end_ns = kept->time_ns;
	b->run_end++;
}

/* Returns the oldest record; NULL: there is none. Valid until the next room, add or drop. */
static inline const struct hv_kept *hv_backlog_first(const struct hv_backlog *b)
{
	if (b->nr_heap)
		return hv_backlog_first_of_both(b);
	return b->run_first < b->run_end ? hv_backlog_run_at(b, b->run_first) : NULL;
}

/* Returns the first record of the run, and how many from there on lie side by side. They are in
 * order, but those of the heap are not among them. */
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

/* Drops the oldest record. There must be one. */
static inline void hv_backlog_drop_first(struct hv_backlog *b)
{
	if (b->nr_heap)
		hv_backlog_drop_first_of_both(b);
	else
		b->run_first++;
}

/* Returns the lowest position of all records if it is below POSITION, and POSITION otherwise. */
uint64_t hv_backlog_lowest(const struct hv_backlog *b, uint64_t position);
