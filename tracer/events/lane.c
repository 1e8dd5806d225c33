/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/events/lane.h"

#define RUN_MAX HV_MERGE_RUN /* records read at a time */

static void note_lost(struct hv_lane *l, uint64_t position, uint64_t nr)
{
	l->run++;
	hv_gaps_add(&l->gaps, position, nr);
}

static bool returned_before(const struct hv_lane *l, const struct hv_kept *k)
{
	uint64_t tsc = hv_record_tsc(&k->record);

	if (!hv_position_before(k->position, l->from.read))
		return false;
	return tsc < l->from.tsc ||
	       (tsc == l->from.tsc && !hv_position_before(l->from.last, k->position));
}

/* Drops KEPT, which says how many records were lost, or is of an unknown kind. */
static void keep_not(struct hv_lane *l, const struct hv_kept *kept)
{
	uint64_t nr_lost = hv_record_lost(&kept->record);

	if (nr_lost)
		l->nr_told = hv_add_lost(l->nr_told, nr_lost);
	else
		l->nr_unknown++;
	note_lost(l, kept->position + 1, nr_lost ? nr_lost : 1);
}

/* Keeps the NR records read from POSITION on, which are in the backlog's room at KEPT. */
static void keep(struct hv_lane *l, const struct hv_lane_reading *reading, uint64_t position,
		 struct hv_kept *kept, size_t nr)
{
	const bool may_repeat = hv_position_before(position, l->from.read);
	uint64_t times[RUN_MAX], *time = times;

	for (size_t i = 0; i < nr; i++)
		times[i] = hv_record_tsc(&kept[i].record);
	if (reading->clock->ns && nr)
		reading->clock->ns(reading->clock->ctx, l->cpu, times, nr);
	for (const struct hv_kept *end = kept + nr; kept < end; kept++, time++) {
		kept->position = position++;
		kept->round = reading->round;
		kept->run = l->run;
		if (may_repeat && returned_before(l, kept))
			continue;
		if (hv_record_kind(&kept->record) == HV_RECORD_UNKNOWN) {
			keep_not(l, kept);
			continue;
		}
		kept->time_ns = *time;
		hv_backlog_add(&l->kept, kept);
	}
}

static enum hv_ring_result read_ring(struct hv_lane *l, const struct hv_lane_reading *reading,
				     struct hv_record *ret, uint64_t *ret_lost)
{
	enum hv_ring_result result = hv_ring_read(&l->ring, reading->now_ns, ret, ret_lost);

	if (result == HV_RING_EMPTY && reading->until == HV_MERGE_FINAL)
		result = hv_ring_read(&l->ring, reading->now_ns + HV_RING_STALL_NS, ret, ret_lost);
	return result;
}

static void block(struct hv_lane *l, uint64_t now_ns)
{
	l->blocked = true;
	if (l->blocked_position == l->ring.position && now_ns >= l->blocked_since_ns)
		return;
	l->blocked_position = l->ring.position;
	l->blocked_since_ns = now_ns;
}

/* Reads complete records up to the goal, as far as there is room. Returns their number. */
static size_t read_run(struct hv_lane *l, const struct hv_lane_reading *reading)
{
	uint64_t position = l->ring.position, left = l->goal - position;
	size_t max = l->max_kept - hv_backlog_nr(&l->kept), nr_room, nr;
	struct hv_kept *kept = hv_backlog_room(&l->kept, l->ring.position, &nr_room);

	if (max > nr_room)
		max = nr_room;
	if (max > left)
		max = (size_t)left;
	if (max > RUN_MAX)
		max = RUN_MAX;
	nr = hv_ring_read_run(&l->ring, max, &kept->record, sizeof(*kept));
	keep(l, reading, position, kept, nr);
	return nr;
}

/* Reads one record, or skips lost ones. Returns false if the position is not written yet. */
static bool read_one(struct hv_lane *l, const struct hv_lane_reading *reading)
{
	size_t nr_room;
	struct hv_kept *kept = hv_backlog_room(&l->kept, l->ring.position, &nr_room);
	uint64_t lost;

	switch (read_ring(l, reading, &kept->record, &lost)) {
	case HV_RING_RECORD:
		keep(l, reading, l->ring.position - 1, kept, 1);
		return true;
	case HV_RING_LOST:
		note_lost(l, l->ring.position, lost);
		return true;
	case HV_RING_EMPTY:
		break;
	}
	block(l, reading->now_ns);
	return false;
}

void hv_lane_fill(struct hv_lane *l, const struct hv_lane_reading *reading)
{
	uint64_t tries = l->ring.nr_slots;

	l->blocked = false;
	while (hv_backlog_nr(&l->kept) < l->max_kept &&
	       hv_position_before(l->ring.position, l->goal) && tries-- > 0)
		if (!read_run(l, reading) && !read_one(l, reading))
			return;
}

void hv_lane_take_oddly(struct hv_lane *l, const struct hv_kept *k, struct hv_merge_item *ret)
{
	if (hv_record_is_event(&k->record))
		ret->lost_before = hv_gaps_tell(&l->gaps, k->position);
	hv_backlog_drop_first(&l->kept);
}

void hv_lane_init(struct hv_lane *l, unsigned cpu, const struct hv_ring *ring,
		  const struct hv_merge_mark *from)
{
	l->cpu = cpu;
	l->ring = *ring;
	l->ring.lost = 0;
	l->ring.position = from->position;
	l->goal = from->position;
	l->blocked_position = from->position - 1;
	l->from = *from;
	l->last_tsc = from->tsc;
	l->last_position = from->last;
	l->max_kept = HV_MERGE_AHEAD;
	if (ring->nr_slots < HV_MERGE_AHEAD)
		l->max_kept = (size_t)ring->nr_slots;
	l->nr_full = l->max_kept - (l->max_kept < 2 * RUN_MAX ? l->max_kept / 2 : RUN_MAX);
	if (from->lost)
		note_lost(l, from->position, from->lost);
}

void hv_lane_deinit(struct hv_lane *l)
{
	hv_backlog_deinit(&l->kept);
}

struct hv_merge_mark hv_lane_mark(const struct hv_lane *l)
{
	struct hv_merge_mark mark = {.position = l->ring.position,
				     .read = l->ring.position,
				     .tsc = l->last_tsc,
				     .last = l->last_position};

	if (hv_position_before(mark.read, l->from.read))
		mark.read = l->from.read;
	mark.position = hv_backlog_lowest(&l->kept, mark.position);
	mark.lost = hv_gaps_sum(&l->gaps);
	return mark;
}

uint64_t hv_lane_lost(const struct hv_lane *l)
{
	return hv_add_lost(l->nr_told, hv_add_lost(l->ring.lost, l->nr_unknown));
}
