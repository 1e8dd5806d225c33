/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/events/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/guard.h"
#include "tracer/events/lane.h"

/* Maximum number of rounds in one hv_merge_next. The second round confirms the result of the first.
 * A third is needed if an older record appeared in the second. */
#define ROUNDS_MAX 4

/* A lane and the time of its oldest record; UINT64_MAX: possibly none. */
struct turn {
	struct hv_lane *lane;
	uint64_t time_ns;
};

struct hv_merge {
	struct hv_merge_clock clock;
	unsigned first_cpu;
	uint64_t round;
	/* Records read in rounds before this one can be returned: after they were complete, every
	 * lane was read up to its head. */
	uint64_t done;
	bool pressed;	  /* a lane is nearly full: do not wait for blocked lanes */
	bool waived;	  /* pressed, and a lane was blocked */
	uint64_t read_ns; /* hv_now_ns() at the last read of a lane */
	size_t nr_lanes;
	struct hv_lane *lanes;
	struct turn *order; /* heap of the lanes by their oldest record */
};

/* -- order of the lanes -------------------------------------------------------------------- */

static bool comes_first(const struct turn *a, const struct turn *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns;
	if (a->time_ns == UINT64_MAX && hv_lane_is_empty(a->lane) != hv_lane_is_empty(b->lane))
		return hv_lane_is_empty(b->lane);
	return a->lane < b->lane;
}

static struct turn turn_of(struct hv_lane *l)
{
	const struct hv_kept *first = hv_backlog_first(&l->kept);

	return (struct turn){l, first ? first->time_ns : UINT64_MAX};
}

static void put_turn(struct hv_merge *m, size_t at, struct turn turn)
{
	m->order[at] = turn;
	turn.lane->turn = at;
}

/* Inserts L at AT in the heap or below. */
static void sift_down(struct hv_merge *m, size_t at, struct hv_lane *l)
{
	const struct turn turn = turn_of(l);

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= m->nr_lanes)
			break;
		if (child + 1 < m->nr_lanes && comes_first(&m->order[child + 1], &m->order[child]))
			child++;
		if (!comes_first(&m->order[child], &turn))
			break;
		put_turn(m, at, m->order[child]);
		at = child;
	}
	put_turn(m, at, turn);
}

/* Moves L to its place in the heap after its first record changed. */
static void reorder(struct hv_merge *m, struct hv_lane *l)
{
	const struct turn turn = turn_of(l);
	size_t at = l->turn;

	while (at > 0 && comes_first(&turn, &m->order[(at - 1) / 2])) {
		put_turn(m, at, m->order[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	sift_down(m, at, l);
}

static void order_lanes(struct hv_merge *m)
{
	for (size_t i = 0; i < m->nr_lanes; i++)
		m->order[i].lane = &m->lanes[i];
	for (size_t i = m->nr_lanes; i-- > 0;)
		sift_down(m, i, m->order[i].lane);
}

/* Returns the last round in which the lane was read up to its head, or did not need to be. */
static uint64_t lane_done(struct hv_merge *m, struct hv_lane *l, uint64_t now_ns,
			  enum hv_merge_until until)
{
	if (!hv_position_before(l->ring.position, l->goal)) {
		l->done = l->goal_round;
		return l->done;
	}
	if (!l->blocked || until == HV_MERGE_FINAL ||
	    now_ns - l->blocked_since_ns >= HV_MERGE_WAIT_NS)
		return m->round;
	m->waived |= m->pressed;
	return m->pressed ? m->round : l->done;
}

static void set_goal(const struct hv_merge *m, struct hv_lane *l)
{
	if (hv_position_before(l->ring.position, l->goal))
		return;
	l->goal = hv_ring_head(&l->ring);
	l->goal_round = m->round;
	if (l->stops && hv_position_before(l->stop, l->goal))
		l->goal = l->stop;
}

static void settle(const struct hv_merge *m)
{
	while (hv_now_ns() - m->read_ns < HV_MERGE_SETTLE_NS)
		;
}

static void start_round(struct hv_merge *m, uint64_t now_ns, enum hv_merge_until until)
{
	struct hv_lane_reading reading = {&m->clock, ++m->round, now_ns, until};

	if (hv_backlog_nr(&m->order[0].lane->kept))
		settle(m);
	m->done = m->round;
	m->pressed = false;
	m->waived = false;
	for (size_t i = 0; i < m->nr_lanes; i++)
		set_goal(m, &m->lanes[i]);
	for (size_t i = 0; i < m->nr_lanes; i++) {
		hv_lane_fill(&m->lanes[i], &reading);
		m->pressed |= hv_lane_is_full(&m->lanes[i]);
	}
	m->read_ns = hv_now_ns();
	for (size_t i = 0; i < m->nr_lanes; i++) {
		uint64_t done = lane_done(m, &m->lanes[i], now_ns, until);

		if (done < m->done)
			m->done = done;
	}
	order_lanes(m);
}

/* Reads more records. Has no effect if the lane is blocked, full, or done in the round of its
 * goal. */
static void refill(struct hv_merge *m, struct hv_lane *l, uint64_t now_ns,
		   enum hv_merge_until until)
{
	const struct hv_lane_reading reading = {&m->clock, m->round, now_ns, until};
	uint64_t done;

	hv_lane_fill(l, &reading);
	m->read_ns = hv_now_ns();
	done = lane_done(m, l, now_ns, until);
	if (done < m->done)
		m->done = done;
}

/* Reads more records after one was taken. */
static void read_on(struct hv_merge *m, struct hv_lane *l, uint64_t now_ns,
		    enum hv_merge_until until)
{
	if (hv_lane_is_full(l))
		return;
	if (l->done != l->goal_round && !l->blocked)
		refill(m, l, now_ns, until);
	if (m->waived && !hv_lane_is_full(l)) /* waiting for the blocked lane is possible again */
		m->done = 0;
}

/* Returns the time of the oldest record in all lanes except the first of the heap. */
static inline uint64_t second_ns(const struct hv_merge *m)
{
	uint64_t ns = m->nr_lanes > 1 ? m->order[1].time_ns : UINT64_MAX;

	return m->nr_lanes > 2 && m->order[2].time_ns < ns ? m->order[2].time_ns : ns;
}

/* Restores the heap after the first record of its first lane changed. Usually the lane stays
 * first. */
static inline void reorder_first(struct hv_merge *m)
{
	struct turn *first = &m->order[0];
	const struct hv_kept *k = hv_backlog_first(&first->lane->kept);

	if (k && k->time_ns < second_ns(m))
		first->time_ns = k->time_ns;
	else
		sift_down(m, 0, first->lane);
}

/* Starts rounds until a record can be returned. */
static bool need_first(struct hv_merge *m, uint64_t now_ns, enum hv_merge_until until)
{
	for (unsigned i = 0; i < ROUNDS_MAX; i++) {
		const struct hv_kept *first;

		start_round(m, now_ns, until);
		first = hv_backlog_first(&m->order[0].lane->kept);
		if (!first)
			return false;
		if (first->round < m->done)
			return true;
	}
	return false;
}

bool hv_merge_next(struct hv_merge *m, uint64_t now_ns, enum hv_merge_until until,
		   struct hv_merge_item *ret)
{
	const struct hv_kept *first;
	struct hv_lane *l;

	if (!m->nr_lanes)
		return false;
	first = hv_backlog_first(&m->order[0].lane->kept);
	if ((!first || first->round >= m->done) && !need_first(m, now_ns, until))
		return false;
	l = m->order[0].lane;
	hv_lane_take(l, hv_backlog_first(&l->kept), ret);
	read_on(m, l, now_ns, until);
	reorder_first(m);
	return true;
}

bool hv_merge_take(struct hv_merge *m, struct hv_merge_item *ret)
{
	struct hv_lane *l = m->nr_lanes ? m->order[0].lane : NULL;
	const struct hv_kept *k = l ? hv_backlog_first(&l->kept) : NULL;

	if (!k || k->round >= m->done || m->waived || l->gaps.nr || l->kept.nr_heap)
		return false;
	/* Otherwise the lane must be read again. */
	if (hv_backlog_nr(&l->kept) <= l->nr_full + 1 && l->done != l->goal_round && !l->blocked)
		return false;
	hv_lane_take(l, k, ret);
	reorder_first(m);
	return true;
}

const struct hv_kept *hv_merge_run(const struct hv_merge *m, size_t max, unsigned *ret_cpu,
				   size_t *ret_nr)
{
	const struct hv_lane *l = m->nr_lanes ? m->order[0].lane : NULL;
	const struct hv_kept *first;
	uint64_t other_ns, heap_ns;
	size_t nr_beside, nr = 0;

	if (!l || m->waived || l->gaps.nr)
		return NULL;
	first = hv_backlog_beside(&l->kept, &nr_beside);
	if (max > nr_beside)
		max = nr_beside;
	if (max > hv_lane_nr_until_read_on(l))
		max = hv_lane_nr_until_read_on(l);
	heap_ns = l->kept.nr_heap ? l->kept.heap[0].time_ns : UINT64_MAX;
	other_ns = second_ns(m);
	/* If times are equal, only the lane's first record is known to precede the others. */
	for (; nr < max && first[nr].round < m->done; nr++)
		if ((nr && first[nr].time_ns >= other_ns) ||
		    (l->kept.nr_heap && first[nr].time_ns >= heap_ns))
			break;
	*ret_cpu = l->cpu;
	*ret_nr = nr;
	return nr ? first : NULL;
}

void hv_merge_take_run(struct hv_merge *m, size_t nr)
{
	struct hv_lane *l = m->order[0].lane;
	const struct hv_kept *k = hv_backlog_run_at(&l->kept, l->kept.run_first);

	for (const struct hv_kept *end = k + nr; k < end; k++)
		hv_lane_note_returned(l, k);
	l->kept.run_first += nr;
	reorder_first(m);
}

static struct hv_lane *lane_of(struct hv_merge *m, unsigned cpu)
{
	return cpu - m->first_cpu < m->nr_lanes ? &m->lanes[cpu - m->first_cpu] : NULL;
}

/* Reads the lane if it has no records, because its goal may be old. */
bool hv_merge_peek(struct hv_merge *m, unsigned cpu, uint64_t now_ns, enum hv_merge_until until,
		   struct hv_merge_item *ret)
{
	struct hv_lane *l = lane_of(m, cpu);
	const struct hv_kept *k;

	if (!l)
		return false;
	if (!hv_backlog_nr(&l->kept)) {
		set_goal(m, l);
		refill(m, l, now_ns, until);
		reorder(m, l);
	}
	k = hv_backlog_first(&l->kept);
	if (!k)
		return false;
	hv_lane_show(l, k, ret);
	ret->lost_before = hv_gaps_any(&l->gaps, k->position);
	return true;
}

void hv_merge_lose(struct hv_merge *m, const struct hv_merge_item *item)
{
	struct hv_lane *l = lane_of(m, item->cpu);

	l->nr_unknown++;
	hv_gaps_add_first(&l->gaps, item->position + 1, hv_add_lost(item->lost_before, 1));
}

void hv_merge_skip(struct hv_merge *m, unsigned cpu, uint64_t now_ns, enum hv_merge_until until)
{
	struct hv_lane *l = lane_of(m, cpu);
	const struct hv_kept *first = l ? hv_backlog_first(&l->kept) : NULL;
	struct hv_merge_item item;

	if (!first)
		return;
	hv_lane_take(l, first, &item);
	read_on(m, l, now_ns, until);
	reorder(m, l);
}

struct hv_merge *hv_merge_new(const struct hv_ring *rings, unsigned first_cpu, size_t nr,
			      const struct hv_merge_mark *marks, struct hv_merge_clock clock)
{
	struct hv_merge *m = hv_alloc(sizeof(*m));

	m->clock = clock;
	m->first_cpu = first_cpu;
	m->nr_lanes = nr;
	m->lanes = hv_alloc(nr * sizeof(*m->lanes));
	m->order = hv_alloc(nr * sizeof(*m->order));
	for (size_t i = 0; i < nr; i++) {
		struct hv_merge_mark from = hv_merge_mark_at(rings[i].position);

		hv_lane_init(&m->lanes[i], first_cpu + (unsigned)i, &rings[i],
			     marks ? &marks[i] : &from);
	}
	order_lanes(m);
	return m;
}

void hv_merge_free(struct hv_merge *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->nr_lanes; i++)
		hv_lane_deinit(&m->lanes[i]);
	free(m->lanes);
	free(m->order);
	free(m);
}

void hv_merge_stop_here(struct hv_merge *m)
{
	for (size_t i = 0; i < m->nr_lanes; i++) {
		m->lanes[i].stop = hv_ring_head(&m->lanes[i].ring);
		m->lanes[i].stops = true;
	}
}

void hv_merge_marks(const struct hv_merge *m, struct hv_merge_mark *ret)
{
	for (size_t i = 0; i < m->nr_lanes; i++)
		ret[i] = hv_lane_mark(&m->lanes[i]);
}

uint64_t hv_merge_lost(const struct hv_merge *m)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < m->nr_lanes; i++)
		lost = hv_add_lost(lost, hv_lane_lost(&m->lanes[i]));
	return lost;
}
