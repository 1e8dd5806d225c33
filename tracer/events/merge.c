/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/events/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "tracer/events/decode.h"
#include "tracer/events/gaps.h"

/* The number of rounds in one hv_merge_next. The second round proves what the first one read. A
 * third is needed if an older record appeared in the second. */
#define ROUNDS_MAX 4
#define RUN_MAX	   HV_MERGE_RUN /* how many records are read at once */

/* One vCPU. */
struct lane {
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

/* A lane and the time of its oldest record; UINT64_MAX: it may have none. */
struct turn {
	struct lane *lane;
	uint64_t time_ns;
};

struct hv_merge {
	struct hv_merge_clock clock;
	unsigned first_cpu;
	uint64_t round;
	/* Records that were read in rounds before this one can be returned: since then every lane
	 * was read up to where its head was after those records were complete. */
	uint64_t done;
	bool pressed; /* a lane is nearly full: blocked lanes are not waited for */
	bool waived;  /* and a lane was blocked */
	size_t nr_lanes;
	struct lane *lanes;
	struct turn *order; /* a heap of the lanes, the one with the oldest record first */
};

static bool before(uint64_t position, uint64_t other)
{
	return (int64_t)(position - other) < 0;
}

/* -- loss ---------------------------------------------------------------------------------- */

static void note_lost(struct lane *l, uint64_t position, uint64_t nr)
{
	l->run++;
	hv_gaps_add(&l->gaps, position, nr);
}

/* -- reading ------------------------------------------------------------------------------- */

static bool returned_before(const struct lane *l, const struct hv_kept *k)
{
	uint64_t tsc = hv_record_tsc(&k->record);

	if (!before(k->position, l->from.read))
		return false;
	return tsc < l->from.tsc || (tsc == l->from.tsc && !before(l->from.last, k->position));
}

/* KEPT is of no known kind. */
static void keep_not(struct lane *l, const struct hv_kept *kept)
{
	uint64_t nr_lost = hv_record_lost(&kept->record);

	if (nr_lost)
		l->nr_told = hv_add_lost(l->nr_told, nr_lost);
	else
		l->nr_unknown++;
	note_lost(l, kept->position + 1, nr_lost ? nr_lost : 1);
}

/* KEPT, in the backlog's room, has NR records that were read from POSITION on. */
static void keep(struct hv_merge *m, struct lane *l, uint64_t position, struct hv_kept *kept,
		 size_t nr)
{
	const bool may_repeat = before(position, l->from.read);
	uint64_t times[RUN_MAX], *time = times;

	for (size_t i = 0; i < nr; i++)
		times[i] = hv_record_tsc(&kept[i].record);
	if (m->clock.ns && nr)
		m->clock.ns(m->clock.ctx, l->cpu, times, nr);
	for (const struct hv_kept *end = kept + nr; kept < end; kept++, time++) {
		kept->position = position++;
		kept->round = m->round;
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

static enum hv_ring_result read_ring(struct lane *l, uint64_t now_ns, enum hv_merge_until until,
				     struct hv_record *ret, uint64_t *ret_lost)
{
	enum hv_ring_result result = hv_ring_read(&l->ring, now_ns, ret, ret_lost);

	if (result == HV_RING_EMPTY && until == HV_MERGE_FINAL)
		result = hv_ring_read(&l->ring, now_ns + HV_RING_STALL_NS, ret, ret_lost);
	return result;
}

static void block(struct lane *l, uint64_t now_ns)
{
	l->blocked = true;
	if (l->blocked_position == l->ring.position && now_ns >= l->blocked_since_ns)
		return;
	l->blocked_position = l->ring.position;
	l->blocked_since_ns = now_ns;
}

/* Reads what is complete, up to the goal and as far as there is room. Returns how much that was. */
static size_t read_run(struct hv_merge *m, struct lane *l)
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
	keep(m, l, position, kept, nr);
	return nr;
}

/* Reads one record, or passes what is lost. Returns false if the position is not written yet. */
static bool read_one(struct hv_merge *m, struct lane *l, uint64_t now_ns, enum hv_merge_until until)
{
	size_t nr_room;
	struct hv_kept *kept = hv_backlog_room(&l->kept, l->ring.position, &nr_room);
	uint64_t lost;

	switch (read_ring(l, now_ns, until, &kept->record, &lost)) {
	case HV_RING_RECORD:
		keep(m, l, l->ring.position - 1, kept, 1);
		return true;
	case HV_RING_LOST:
		note_lost(l, l->ring.position, lost);
		return true;
	case HV_RING_EMPTY:
		break;
	}
	block(l, now_ns);
	return false;
}

/* Reads up to the goal, as far as there is room. If the guest moves its head to and fro, ends after
 * as many tries as a lap has slots. */
static void fill(struct hv_merge *m, struct lane *l, uint64_t now_ns, enum hv_merge_until until)
{
	uint64_t tries = l->ring.nr_slots;

	l->blocked = false;
	while (hv_backlog_nr(&l->kept) < l->max_kept && before(l->ring.position, l->goal) &&
	       tries-- > 0)
		if (!read_run(m, l) && !read_one(m, l, now_ns, until))
			return;
}

/* -- order of the lanes -------------------------------------------------------------------- */

static bool is_empty(const struct lane *l)
{
	return !hv_backlog_nr(&l->kept);
}

static bool comes_first(const struct turn *a, const struct turn *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns;
	if (a->time_ns == UINT64_MAX && is_empty(a->lane) != is_empty(b->lane))
		return is_empty(b->lane);
	return a->lane < b->lane;
}

static struct turn turn_of(struct lane *l)
{
	const struct hv_kept *first = hv_backlog_first(&l->kept);

	return (struct turn){l, first ? first->time_ns : UINT64_MAX};
}

static void put_turn(struct hv_merge *m, size_t at, struct turn turn)
{
	m->order[at] = turn;
	turn.lane->turn = at;
}

/* Puts L at AT in the heap, or below. */
static void sift_down(struct hv_merge *m, size_t at, struct lane *l)
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

/* Moves L, whose first record is another one now, to its place in the heap. */
static void reorder(struct hv_merge *m, struct lane *l)
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

static bool is_full(const struct lane *l)
{
	return hv_backlog_nr(&l->kept) > l->nr_full;
}

/* Returns the last round for which the lane is done: it was read up to its head in that round, or
 * need not be. */
static uint64_t lane_done(struct hv_merge *m, struct lane *l, uint64_t now_ns,
			  enum hv_merge_until until)
{
	if (!before(l->ring.position, l->goal)) {
		l->done = l->goal_round;
		return l->done;
	}
	if (!l->blocked || until == HV_MERGE_FINAL ||
	    now_ns - l->blocked_since_ns >= HV_MERGE_WAIT_NS)
		return m->round;
	m->waived |= m->pressed;
	return m->pressed ? m->round : l->done;
}

static void set_goal(const struct hv_merge *m, struct lane *l)
{
	if (before(l->ring.position, l->goal))
		return;
	l->goal = hv_ring_head(&l->ring);
	l->goal_round = m->round;
	if (l->stops && before(l->stop, l->goal))
		l->goal = l->stop;
}

static void start_round(struct hv_merge *m, uint64_t now_ns, enum hv_merge_until until)
{
	m->round++;
	m->done = m->round;
	m->pressed = false;
	m->waived = false;
	for (size_t i = 0; i < m->nr_lanes; i++)
		set_goal(m, &m->lanes[i]);
	for (size_t i = 0; i < m->nr_lanes; i++) {
		fill(m, &m->lanes[i], now_ns, until);
		m->pressed |= is_full(&m->lanes[i]);
	}
	for (size_t i = 0; i < m->nr_lanes; i++) {
		uint64_t done = lane_done(m, &m->lanes[i], now_ns, until);

		if (done < m->done)
			m->done = done;
	}
	order_lanes(m);
}

/* Reads on. Of use unless the lane is blocked, or full, or done in the round of its goal. */
static void refill(struct hv_merge *m, struct lane *l, uint64_t now_ns, enum hv_merge_until until)
{
	uint64_t done;

	fill(m, l, now_ns, until);
	done = lane_done(m, l, now_ns, until);
	if (done < m->done)
		m->done = done;
}

static void show(const struct lane *l, const struct hv_kept *k, struct hv_merge_item *ret)
{
	ret->record = k->record;
	ret->cpu = l->cpu;
	ret->position = k->position;
	ret->run = k->run;
	ret->time_ns = k->time_ns;
	ret->lost_before = 0;
}

/* What is rare about K, the first record that L returns: records are lost before it, or it is in
 * the heap. */
static void take_oddly(struct lane *l, const struct hv_kept *k, struct hv_merge_item *ret)
{
	if (hv_record_is_event(&k->record))
		ret->lost_before = hv_gaps_tell(&l->gaps, k->position);
	hv_backlog_drop_first(&l->kept);
}

static inline void note_returned(struct lane *l, const struct hv_kept *k)
{
	uint64_t tsc = hv_record_tsc(&k->record);

	if (tsc < l->last_tsc)
		return;
	l->last_tsc = tsc;
	l->last_position = k->position;
}

/* Takes K, the lane's oldest record. The caller then reads on, and puts the lane to its place in
 * the heap. */
static inline void take(struct lane *l, const struct hv_kept *k, struct hv_merge_item *ret)
{
	show(l, k, ret);
	note_returned(l, k);
	if (l->gaps.nr || l->kept.nr_heap)
		take_oddly(l, k, ret);
	else
		l->kept.run_first++;
}

/* Reads on, after a record was taken. */
static void read_on(struct hv_merge *m, struct lane *l, uint64_t now_ns, enum hv_merge_until until)
{
	if (is_full(l))
		return;
	if (l->done != l->goal_round && !l->blocked)
		refill(m, l, now_ns, until);
	if (m->waived && !is_full(l)) /* the blocked lane may be waited for again */
		m->done = 0;
}

/* The time of the oldest record of all lanes but the first one of the heap. */
static inline uint64_t second_ns(const struct hv_merge *m)
{
	uint64_t ns = m->nr_lanes > 1 ? m->order[1].time_ns : UINT64_MAX;

	return m->nr_lanes > 2 && m->order[2].time_ns < ns ? m->order[2].time_ns : ns;
}

/* The first lane of the heap has another first record. Mostly it stays where it is. */
static inline void reorder_first(struct hv_merge *m)
{
	struct turn *first = &m->order[0];
	const struct hv_kept *k = hv_backlog_first(&first->lane->kept);

	if (k && k->time_ns < second_ns(m))
		first->time_ns = k->time_ns;
	else
		sift_down(m, 0, first->lane);
}

/* Starts rounds until a record may be returned. */
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
	struct lane *l;

	if (!m->nr_lanes)
		return false;
	first = hv_backlog_first(&m->order[0].lane->kept);
	if ((!first || first->round >= m->done) && !need_first(m, now_ns, until))
		return false;
	l = m->order[0].lane;
	take(l, hv_backlog_first(&l->kept), ret);
	read_on(m, l, now_ns, until);
	reorder_first(m);
	return true;
}

bool hv_merge_take(struct hv_merge *m, struct hv_merge_item *ret)
{
	struct lane *l = m->nr_lanes ? m->order[0].lane : NULL;
	const struct hv_kept *k = l ? hv_backlog_first(&l->kept) : NULL;

	if (!k || k->round >= m->done || m->waived || l->gaps.nr || l->kept.nr_heap)
		return false;
	/* Otherwise the lane is read on. */
	if (hv_backlog_nr(&l->kept) <= l->nr_full + 1 && l->done != l->goal_round && !l->blocked)
		return false;
	take(l, k, ret);
	reorder_first(m);
	return true;
}

/* How many of the lane's records may be taken before it has to be read on. */
static size_t nr_until_read_on(const struct lane *l)
{
	size_t nr = hv_backlog_nr(&l->kept);

	if (l->done == l->goal_round || l->blocked)
		return nr;
	return nr > l->nr_full + 1 ? nr - l->nr_full - 1 : 0;
}

const struct hv_kept *hv_merge_run(const struct hv_merge *m, size_t max, unsigned *ret_cpu,
				   size_t *ret_nr)
{
	const struct lane *l = m->nr_lanes ? m->order[0].lane : NULL;
	const struct hv_kept *first;
	uint64_t other_ns, heap_ns;
	size_t nr_beside, nr = 0;

	if (!l || m->waived || l->gaps.nr)
		return NULL;
	first = hv_backlog_beside(&l->kept, &nr_beside);
	if (max > nr_beside)
		max = nr_beside;
	if (max > nr_until_read_on(l))
		max = nr_until_read_on(l);
	heap_ns = l->kept.nr_heap ? l->kept.heap[0].time_ns : UINT64_MAX;
	other_ns = second_ns(m);
	/* Of equal times, only that of the lane's first record says itself which one is first. */
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
	struct lane *l = m->order[0].lane;
	const struct hv_kept *k = hv_backlog_run_at(&l->kept, l->kept.run_first);

	for (const struct hv_kept *end = k + nr; k < end; k++)
		note_returned(l, k);
	l->kept.run_first += nr;
	reorder_first(m);
}

static struct lane *lane_of(struct hv_merge *m, unsigned cpu)
{
	return cpu - m->first_cpu < m->nr_lanes ? &m->lanes[cpu - m->first_cpu] : NULL;
}

/* Reads on if the lane has no records, because its goal may be old. */
bool hv_merge_peek(struct hv_merge *m, unsigned cpu, uint64_t now_ns, enum hv_merge_until until,
		   struct hv_merge_item *ret)
{
	struct lane *l = lane_of(m, cpu);
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
	show(l, k, ret);
	ret->lost_before = hv_gaps_any(&l->gaps, k->position);
	return true;
}

void hv_merge_lose(struct hv_merge *m, const struct hv_merge_item *item)
{
	struct lane *l = lane_of(m, item->cpu);

	l->nr_unknown++;
	hv_gaps_add_first(&l->gaps, item->position + 1, hv_add_lost(item->lost_before, 1));
}

void hv_merge_skip(struct hv_merge *m, unsigned cpu, uint64_t now_ns, enum hv_merge_until until)
{
	struct lane *l = lane_of(m, cpu);
	const struct hv_kept *first = l ? hv_backlog_first(&l->kept) : NULL;
	struct hv_merge_item item;

	if (!first)
		return;
	take(l, first, &item);
	read_on(m, l, now_ns, until);
	reorder(m, l);
}

static void lane_init(struct lane *l, const struct hv_ring *ring, const struct hv_merge_mark *from)
{
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

		lane_init(&m->lanes[i], &rings[i], marks ? &marks[i] : &from);
		m->lanes[i].cpu = first_cpu + (unsigned)i;
	}
	order_lanes(m);
	return m;
}

void hv_merge_free(struct hv_merge *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->nr_lanes; i++)
		hv_backlog_deinit(&m->lanes[i].kept);
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
	for (size_t i = 0; i < m->nr_lanes; i++) {
		const struct lane *l = &m->lanes[i];
		struct hv_merge_mark mark = {.position = l->ring.position,
					     .read = l->ring.position,
					     .tsc = l->last_tsc,
					     .last = l->last_position};

		if (before(mark.read, l->from.read))
			mark.read = l->from.read;
		mark.position = hv_backlog_lowest(&l->kept, mark.position);
		mark.lost = hv_gaps_sum(&l->gaps);
		ret[i] = mark;
	}
}

uint64_t hv_merge_lost(const struct hv_merge *m)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < m->nr_lanes; i++)
		lost = hv_add_lost(hv_add_lost(lost, m->lanes[i].nr_told),
				   hv_add_lost(m->lanes[i].ring.lost, m->lanes[i].nr_unknown));
	return lost;
}
