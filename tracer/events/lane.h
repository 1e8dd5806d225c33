/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A lane of the merge: one vCPU's ring, read up to a goal; the records that were read and are not
 * yet returned; and what was lost between them. Leaves to others: which goal, which of all lanes
 * comes first, when a record may be returned (merge.h). One thread. */
#pragma once

#include "tracer/events/decode.h"
#include "tracer/events/gaps.h"
#include "tracer/events/merge.h"

struct hv_lane {
	unsigned cpu;
	struct hv_ring ring;
	uint64_t goal; /* the head in GOAL_ROUND; stays until all records before it are read */
	uint64_t goal_round;
	uint64_t done; /* the last goal_round whose goal was reached */
	uint64_t stop;
	bool stops; /* never read STOP or later */

	struct hv_backlog kept;
	size_t max_kept;
	size_t nr_full; /* with more than this the lane is full, and is not read */
	size_t turn;	/* where it is in the merge's heap */

	struct hv_gaps gaps; /* the records after them are not yet returned */
	uint64_t run;	     /* counts the losses */
	uint64_t nr_unknown; /* records of no known kind */
	uint64_t nr_told;    /* lost records that HV_RECORD_LOST has counted */

	bool blocked; /* the position is reserved and not written */
	uint64_t blocked_position;
	uint64_t blocked_since_ns;

	struct hv_merge_mark from;
	uint64_t last_tsc; /* of the youngest record returned, and its position */
	uint64_t last_position;
};

/* RING is copied, its memory stays the caller's. The lane begins at FROM. L is zeroed. */
void hv_lane_init(struct hv_lane *l, unsigned cpu, const struct hv_ring *ring,
		  const struct hv_merge_mark *from);
void hv_lane_deinit(struct hv_lane *l);

/* How a lane is read: when, in which round, with which clock. */
struct hv_lane_reading {
	const struct hv_merge_clock *clock; /* borrowed */
	uint64_t round;
	uint64_t now_ns;
	enum hv_merge_until until;
};

/* Reads up to the goal, as far as there is room and something is complete. If the guest moves its
 * head to and fro, ends after as many tries as a lap has slots. */
void hv_lane_fill(struct hv_lane *l, const struct hv_lane_reading *reading);

/* Returns how far the lane was returned. */
struct hv_merge_mark hv_lane_mark(const struct hv_lane *l);
/* Returns how many records were lost since it began. */
uint64_t hv_lane_lost(const struct hv_lane *l);

static inline bool hv_position_before(uint64_t position, uint64_t other)
{
	return (int64_t)(position - other) < 0;
}

static inline bool hv_lane_is_empty(const struct hv_lane *l)
{
	return !hv_backlog_nr(&l->kept);
}

static inline bool hv_lane_is_full(const struct hv_lane *l)
{
	return hv_backlog_nr(&l->kept) > l->nr_full;
}

/* Returns how many of the lane's records may be taken before it has to be read on. */
static inline size_t hv_lane_nr_until_read_on(const struct hv_lane *l)
{
	size_t nr = hv_backlog_nr(&l->kept);

	if (l->done == l->goal_round || l->blocked)
		return nr;
	return nr > l->nr_full + 1 ? nr - l->nr_full - 1 : 0;
}

/* Shows K, a record of the lane, as if nothing had been lost before it. */
static inline void hv_lane_show(const struct hv_lane *l, const struct hv_kept *k,
				struct hv_merge_item *ret)
{
	ret->record = k->record;
	ret->cpu = l->cpu;
	ret->position = k->position;
	ret->run = k->run;
	ret->time_ns = k->time_ns;
	ret->lost_before = 0;
}

/* A part of hv_lane_take. */
void hv_lane_take_oddly(struct hv_lane *l, const struct hv_kept *k, struct hv_merge_item *ret);

/* Notes that K is returned. */
static inline void hv_lane_note_returned(struct hv_lane *l, const struct hv_kept *k)
{
	uint64_t tsc = hv_record_tsc(&k->record);

	if (tsc < l->last_tsc)
		return;
	l->last_tsc = tsc;
	l->last_position = k->position;
}

/* Takes K, the lane's oldest record, which RET then is. The caller then reads on, and puts the lane
 * to its place in the heap. */
static inline void hv_lane_take(struct hv_lane *l, const struct hv_kept *k,
				struct hv_merge_item *ret)
{
	hv_lane_show(l, k, ret);
	hv_lane_note_returned(l, k);
	if (l->gaps.nr || l->kept.nr_heap)
		hv_lane_take_oddly(l, k, ret);
	else
		l->kept.run_first++;
}
