/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A lane of the merge: one vCPU's ring, read up to a goal; the records that were read and not yet
 * returned; and the losses between them.
 *
 * merge.h chooses the goal and the first lane, and decides when a record may be returned. One
 * thread. */
#pragma once

#include "tracer/events/decode.h"
#include "tracer/events/gaps.h"
#include "tracer/events/merge.h"

struct hv_lane {
	unsigned cpu;
	struct hv_ring ring;
	uint64_t goal; /* the head in GOAL_ROUND; kept until all records before it are read */
	uint64_t goal_round;
	uint64_t done; /* last goal_round whose goal was reached */
	uint64_t stop;
	bool stops; /* never read STOP or later positions */

	struct hv_backlog kept;
	size_t max_kept;
	size_t nr_full; /* the lane is full, and not read, above this number of records */
	size_t turn;	/* index in the merge's heap */

	struct hv_gaps gaps; /* gaps before records that are not yet returned */
	uint64_t run;	     /* incremented at each loss */
	uint64_t nr_unknown; /* records of unknown kinds */
	uint64_t nr_told;    /* lost records reported by HV_RECORD_LOST */

	bool blocked; /* the position is reserved but not written */
	uint64_t blocked_position;
	uint64_t blocked_since_ns;

	struct hv_merge_mark from;
	uint64_t last_tsc; /* time and position of the youngest record returned */
	uint64_t last_position;
};

/* Copies RING, whose memory remains the caller's. The lane starts at FROM. L must be zeroed. */
void hv_lane_init(struct hv_lane *l, unsigned cpu, const struct hv_ring *ring,
		  const struct hv_merge_mark *from);
void hv_lane_deinit(struct hv_lane *l);

/* Parameters for reading a lane. */
struct hv_lane_reading {
	const struct hv_merge_clock *clock; /* borrowed */
	uint64_t round;
	uint64_t now_ns;
	enum hv_merge_until until;
};

/* Reads up to the goal, as far as there is room and records are complete. Stops after as many
 * attempts as a lap has slots, because the guest can move its head back and forth. */
void hv_lane_fill(struct hv_lane *l, const struct hv_lane_reading *reading);

/* Returns how far the records of the lane were returned. */
struct hv_merge_mark hv_lane_mark(const struct hv_lane *l);
/* Returns the number of records lost since the lane started. */
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

/* Returns how many records may be taken before the lane must be read again. */
static inline size_t hv_lane_nr_until_read_on(const struct hv_lane *l)
{
	size_t nr = hv_backlog_nr(&l->kept);

	if (l->done == l->goal_round || l->blocked)
		return nr;
	return nr > l->nr_full + 1 ? nr - l->nr_full - 1 : 0;
}

/* Fills RET with K, a record of the lane, without losses before it. */
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

/* Slow path of hv_lane_take(). */
void hv_lane_take_oddly(struct hv_lane *l, const struct hv_kept *k, struct hv_merge_item *ret);

/* Notes that K was returned. */
static inline void hv_lane_note_returned(struct hv_lane *l, const struct hv_kept *k)
{
	uint64_t tsc = hv_record_tsc(&k->record);

	if (tsc < l->last_tsc)
		return;
	l->last_tsc = tsc;
	l->last_position = k->position;
}

/* Takes K, the lane's oldest record, and stores it in RET. The caller must then read more records
 * and restore the order of the heap. */
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
