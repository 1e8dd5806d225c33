/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/events/merge.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/guard.h"
#include "tracer/events/decode.h"

/* -- the backlog of a ring --------------------------------------------------------------------- */

#define CAP_MIN 64

void hv_backlog_deinit(struct hv_backlog *b)
{
	free(b->run);
	free(b->heap);
	*b = (struct hv_backlog){0};
}

static bool before(uint64_t position, uint64_t other)
{
	return (int64_t)(position - other) < 0;
}

static bool older(const struct hv_kept *a, const struct hv_kept *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns;
	return before(a->position, b->position);
}

/* -- the run ------------------------------------------------------------------------------- */

void hv_backlog_grow(struct hv_backlog *b)
{
	size_t cap = b->run_cap ? 2 * b->run_cap : CAP_MIN;
	struct hv_kept *run = hv_realloc_array(NULL, cap, sizeof(*run));

	for (size_t i = b->run_first; i < b->run_end; i++)
		run[i & (cap - 1)] = *hv_backlog_run_at(b, i);
	free(b->run);
	b->run = run;
	b->run_cap = cap;
}

/* -- the heap ------------------------------------------------------------------------------ */

void hv_backlog_heap_add(struct hv_backlog *b, const struct hv_kept *kept)
{
	size_t at = b->nr_heap++;

	if (at == b->heap_cap) {
		b->heap_cap = b->heap_cap ? 2 * b->heap_cap : CAP_MIN;
		b->heap = hv_realloc_array(b->heap, b->heap_cap, sizeof(*b->heap));
	}
	while (at > 0 && older(kept, &b->heap[(at - 1) / 2])) {
		b->heap[at] = b->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	b->heap[at] = *kept;
}

static void heap_drop_first(struct hv_backlog *b)
{
	const struct hv_kept *last = &b->heap[--b->nr_heap];
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= b->nr_heap)
			break;
		if (child + 1 < b->nr_heap && older(&b->heap[child + 1], &b->heap[child]))
			child++;
		if (!older(&b->heap[child], last))
			break;
		b->heap[at] = b->heap[child];
		at = child;
	}
	b->heap[at] = *last;
}

/* ------------------------------------------------------------------------------------------ */

static bool heap_is_first(const struct hv_backlog *b)
{
	if (!b->nr_heap || b->run_first == b->run_end)
		return b->nr_heap > 0;
	return older(&b->heap[0], hv_backlog_run_at(b, b->run_first));
}

const struct hv_kept *hv_backlog_first_of_both(const struct hv_backlog *b)
{
	return heap_is_first(b) ? &b->heap[0] : hv_backlog_run_at(b, b->run_first);
}

void hv_backlog_drop_first_of_both(struct hv_backlog *b)
{
	if (heap_is_first(b))
		heap_drop_first(b);
	else
		b->run_first++;
}

/* A record in the heap arrived after a younger one, which is still in the run. So unless positions
 * went back, the first record of the run has the lowest position. */
uint64_t hv_backlog_lowest(const struct hv_backlog *b, uint64_t position)
{
	size_t end = b->goes_back ? b->run_end : b->run_first + 1;

	for (size_t i = b->run_first; i < end && i < b->run_end; i++)
		if (before(hv_backlog_run_at(b, i)->position, position))
			position = hv_backlog_run_at(b, i)->position;
	return position;
}

/* -- gaps -------------------------------------------------------------------------------------- */

/* Records where a ring has missing records, and how many, until the record after them is returned.
 * If there are too many gaps, their numbers are added up: losses are then reported early but never
 * forgotten.
 *
 * ringbuf/ring.h detects losses. */

#define HV_GAPS_MAX 8

/* LOST records are missing before POSITION. */
struct gap {
	uint64_t position;
	uint64_t lost;
};

/* Zero-initialised: no gaps. */
struct gaps {
	struct gap list[HV_GAPS_MAX]; /* sorted by position */
	unsigned nr;
};

static inline uint64_t add_lost(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* Notes that LOST records are missing before POSITION, which must not be before any other gap. */
static inline void gaps_add(struct gaps *g, uint64_t position, uint64_t lost)
{
	struct gap *last = &g->list[HV_GAPS_MAX - 1];

	if (g->nr == HV_GAPS_MAX)
		last->lost = add_lost(last->lost, lost);
	else
		g->list[g->nr++] = (struct gap){position, lost};
}

/* Like gaps_add(), but before all other gaps. */
static inline void gaps_add_first(struct gaps *g, uint64_t position, uint64_t lost)
{
	if (g->nr == HV_GAPS_MAX) {
		g->list[0].lost = add_lost(g->list[0].lost, lost);
		return;
	}
	memmove(g->list + 1, g->list, g->nr * sizeof(*g->list));
	g->list[0] = (struct gap){position, lost};
	g->nr++;
}

/* Returns whether records are missing before the one at POSITION. */
static inline bool gaps_any(const struct gaps *g, uint64_t position)
{
	return g->nr && (int64_t)(position - g->list[0].position) >= 0;
}

/* Returns the number of records missing before the one at POSITION, and forgets them. */
static inline uint64_t gaps_report(struct gaps *g, uint64_t position)
{
	uint64_t lost = 0;
	unsigned nr = 0;

	while (nr < g->nr && (int64_t)(position - g->list[nr].position) >= 0)
		lost = add_lost(lost, g->list[nr++].lost);
	g->nr -= nr;
	memmove(g->list, g->list + nr, g->nr * sizeof(*g->list));
	return lost;
}

static inline uint64_t gaps_sum(const struct gaps *g)
{
	uint64_t lost = 0;

	for (unsigned i = 0; i < g->nr; i++)
		lost = add_lost(lost, g->list[i].lost);
	return lost;
}

/* -- lanes: one ring each ---------------------------------------------------------------------- */

/* A lane of the merge: one vCPU's ring, read up to a goal; the records that were read and not yet
 * returned; and the losses between them.
 *
 * The merge (below) chooses the goal and the first lane, and decides when a record may be
 * returned. */

struct lane {
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

	struct gaps gaps;     /* gaps before records that are not yet returned */
	uint64_t run;	      /* incremented at each loss */
	uint64_t nr_unknown;  /* records of unknown kinds */
	uint64_t nr_reported; /* lost records reported by HV_RECORD_LOST */

	bool blocked; /* the position is reserved but not written */
	uint64_t blocked_position;
	uint64_t blocked_since_ns;

	struct hv_merge_checkpoint from;
	uint64_t last_tsc; /* time and position of the youngest record returned */
	uint64_t last_position;
};

/* Parameters for reading a lane. */
struct lane_reading {
	const struct hv_merge_clock *clock; /* borrowed */
	uint64_t round;
	uint64_t now_ns;
	enum hv_merge_until until;
};

static inline bool position_before(uint64_t position, uint64_t other)
{
	return (int64_t)(position - other) < 0;
}

static inline bool lane_is_empty(const struct lane *l)
{
	return !hv_backlog_nr(&l->kept);
}

static inline bool lane_is_full(const struct lane *l)
{
	return hv_backlog_nr(&l->kept) > l->nr_full;
}

/* Returns how many records may be taken before the lane must be read again. */
static inline size_t lane_nr_until_read_on(const struct lane *l)
{
	size_t nr = hv_backlog_nr(&l->kept);

	if (l->done == l->goal_round || l->blocked)
		return nr;
	return nr > l->nr_full + 1 ? nr - l->nr_full - 1 : 0;
}

/* Fills RET with K, a record of the lane, without losses before it. */
static inline void lane_show(const struct lane *l, const struct hv_kept *k,
			     struct hv_merge_item *ret)
{
	ret->record = k->record;
	ret->cpu = l->cpu;
	ret->position = k->position;
	ret->run = k->run;
	ret->time_ns = k->time_ns;
	ret->lost_before = 0;
}

/* Notes that K was returned. */
static inline void lane_note_returned(struct lane *l, const struct hv_kept *k)
{
	uint64_t tsc = hv_record_tsc(&k->record);

	if (tsc < l->last_tsc)
		return;
	l->last_tsc = tsc;
	l->last_position = k->position;
}

#define RUN_MAX HV_MERGE_RUN /* records read at a time */

static void note_lost(struct lane *l, uint64_t position, uint64_t nr)
{
	l->run++;
	gaps_add(&l->gaps, position, nr);
}

static bool returned_before(const struct lane *l, const struct hv_kept *k)
{
	uint64_t tsc = hv_record_tsc(&k->record);

	if (!position_before(k->position, l->from.read))
		return false;
	return tsc < l->from.tsc ||
	       (tsc == l->from.tsc && !position_before(l->from.last, k->position));
}

/* Drops KEPT, which reports lost records or is of an unknown kind. */
static void keep_not(struct lane *l, const struct hv_kept *kept)
{
	uint64_t nr_lost = hv_record_lost(&kept->record);

	if (nr_lost)
		l->nr_reported = add_lost(l->nr_reported, nr_lost);
	else
		l->nr_unknown++;
	note_lost(l, kept->position + 1, nr_lost ? nr_lost : 1);
}

/* Keeps the NR records read from POSITION on, which are in the backlog's room at KEPT. */
static void keep(struct lane *l, const struct lane_reading *reading, uint64_t position,
		 struct hv_kept *kept, size_t nr)
{
	const bool may_repeat = position_before(position, l->from.read);
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

static enum hv_ring_result read_ring(struct lane *l, const struct lane_reading *reading,
				     struct hv_record *ret, uint64_t *ret_lost)
{
	enum hv_ring_result result = hv_ring_read(&l->ring, reading->now_ns, ret, ret_lost);

	if (result == HV_RING_EMPTY && reading->until == HV_MERGE_FINAL)
		result = hv_ring_read(&l->ring, reading->now_ns + HV_RING_STALL_NS, ret, ret_lost);
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

/* Reads complete records up to the goal, as far as there is room. Returns their number. */
static size_t read_run(struct lane *l, const struct lane_reading *reading)
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
static bool read_one(struct lane *l, const struct lane_reading *reading)
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

/* Reads up to the goal, as far as there is room and records are complete. Stops after as many
 * attempts as a lap has slots, because the guest can move its head back and forth. */
static void lane_fill(struct lane *l, const struct lane_reading *reading)
{
	uint64_t tries = l->ring.nr_slots;

	l->blocked = false;
	while (hv_backlog_nr(&l->kept) < l->max_kept &&
	       position_before(l->ring.position, l->goal) && tries-- > 0)
		if (!read_run(l, reading) && !read_one(l, reading))
			return;
}

/* Slow path of lane_take(). */
static void lane_take_oddly(struct lane *l, const struct hv_kept *k, struct hv_merge_item *ret)
{
	if (hv_record_is_event(&k->record))
		ret->lost_before = gaps_report(&l->gaps, k->position);
	hv_backlog_drop_first(&l->kept);
}

/* Takes K, the lane's oldest record, and stores it in RET. The caller must then read more records
 * and restore the order of the heap. */
static inline void lane_take(struct lane *l, const struct hv_kept *k, struct hv_merge_item *ret)
{
	lane_show(l, k, ret);
	lane_note_returned(l, k);
	if (l->gaps.nr || l->kept.nr_heap)
		lane_take_oddly(l, k, ret);
	else
		l->kept.run_first++;
}

/* Copies RING, whose memory remains the caller's. The lane starts at FROM. L must be zeroed. */
static void lane_init(struct lane *l, unsigned cpu, const struct hv_ring *ring,
		      const struct hv_merge_checkpoint *from)
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

static void lane_deinit(struct lane *l)
{
	hv_backlog_deinit(&l->kept);
}

/* Returns how far the records of the lane were returned. */
static struct hv_merge_checkpoint lane_mark(const struct lane *l)
{
	struct hv_merge_checkpoint checkpoint = {.position = l->ring.position,
						 .read = l->ring.position,
						 .tsc = l->last_tsc,
						 .last = l->last_position};

	if (position_before(checkpoint.read, l->from.read))
		checkpoint.read = l->from.read;
	checkpoint.position = hv_backlog_lowest(&l->kept, checkpoint.position);
	checkpoint.lost = gaps_sum(&l->gaps);
	return checkpoint;
}

/* Returns the number of records lost since the lane started. */
static uint64_t lane_lost(const struct lane *l)
{
	return add_lost(l->nr_reported, add_lost(l->ring.lost, l->nr_unknown));
}

/* -- the merge --------------------------------------------------------------------------------- */

/* Maximum number of rounds in one hv_merge_next. The second round confirms the result of the first.
 * A third is needed if an older record appeared in the second. */
#define ROUNDS_MAX 4

/* A lane and the time of its oldest record; UINT64_MAX: possibly none. */
struct turn {
	struct lane *lane;
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
	struct lane *lanes;
	struct turn *order; /* heap of the lanes by their oldest record */
};

/* -- order of the lanes -------------------------------------------------------------------- */

static bool comes_first(const struct turn *a, const struct turn *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns;
	if (a->time_ns == UINT64_MAX && lane_is_empty(a->lane) != lane_is_empty(b->lane))
		return lane_is_empty(b->lane);
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

/* Inserts L at AT in the heap or below. */
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

/* Moves L to its place in the heap after its first record changed. */
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

/* Returns the last round in which the lane was read up to its head, or did not need to be. */
static uint64_t lane_done(struct hv_merge *m, struct lane *l, uint64_t now_ns,
			  enum hv_merge_until until)
{
	if (!position_before(l->ring.position, l->goal)) {
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
	if (position_before(l->ring.position, l->goal))
		return;
	l->goal = hv_ring_head(&l->ring);
	l->goal_round = m->round;
	if (l->stops && position_before(l->stop, l->goal))
		l->goal = l->stop;
}

static void settle(const struct hv_merge *m)
{
	while (hv_now_ns() - m->read_ns < HV_MERGE_SETTLE_NS)
		;
}

static void start_round(struct hv_merge *m, uint64_t now_ns, enum hv_merge_until until)
{
	struct lane_reading reading = {&m->clock, ++m->round, now_ns, until};

	if (hv_backlog_nr(&m->order[0].lane->kept))
		settle(m);
	m->done = m->round;
	m->pressed = false;
	m->waived = false;
	for (size_t i = 0; i < m->nr_lanes; i++)
		set_goal(m, &m->lanes[i]);
	for (size_t i = 0; i < m->nr_lanes; i++) {
		lane_fill(&m->lanes[i], &reading);
		m->pressed |= lane_is_full(&m->lanes[i]);
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
static void refill(struct hv_merge *m, struct lane *l, uint64_t now_ns, enum hv_merge_until until)
{
	const struct lane_reading reading = {&m->clock, m->round, now_ns, until};
	uint64_t done;

	lane_fill(l, &reading);
	m->read_ns = hv_now_ns();
	done = lane_done(m, l, now_ns, until);
	if (done < m->done)
		m->done = done;
}

/* Reads more records after one was taken. */
static void read_on(struct hv_merge *m, struct lane *l, uint64_t now_ns, enum hv_merge_until until)
{
	if (lane_is_full(l))
		return;
	if (l->done != l->goal_round && !l->blocked)
		refill(m, l, now_ns, until);
	if (m->waived && !lane_is_full(l)) /* waiting for the blocked lane is possible again */
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
	struct lane *l;

	if (!m->nr_lanes)
		return false;
	first = hv_backlog_first(&m->order[0].lane->kept);
	if ((!first || first->round >= m->done) && !need_first(m, now_ns, until))
		return false;
	l = m->order[0].lane;
	lane_take(l, hv_backlog_first(&l->kept), ret);
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
	/* Otherwise the lane must be read again. */
	if (hv_backlog_nr(&l->kept) <= l->nr_full + 1 && l->done != l->goal_round && !l->blocked)
		return false;
	lane_take(l, k, ret);
	reorder_first(m);
	return true;
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
	if (max > lane_nr_until_read_on(l))
		max = lane_nr_until_read_on(l);
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
	struct lane *l = m->order[0].lane;
	const struct hv_kept *k = hv_backlog_run_at(&l->kept, l->kept.run_first);

	for (const struct hv_kept *end = k + nr; k < end; k++)
		lane_note_returned(l, k);
	l->kept.run_first += nr;
	reorder_first(m);
}

static struct lane *lane_of(struct hv_merge *m, unsigned cpu)
{
	return cpu - m->first_cpu < m->nr_lanes ? &m->lanes[cpu - m->first_cpu] : NULL;
}

/* Reads the lane if it has no records, because its goal may be old. */
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
	lane_show(l, k, ret);
	ret->lost_before = gaps_any(&l->gaps, k->position);
	return true;
}

void hv_merge_lose(struct hv_merge *m, const struct hv_merge_item *item)
{
	struct lane *l = lane_of(m, item->cpu);

	l->nr_unknown++;
	gaps_add_first(&l->gaps, item->position + 1, add_lost(item->lost_before, 1));
}

void hv_merge_skip(struct hv_merge *m, unsigned cpu, uint64_t now_ns, enum hv_merge_until until)
{
	struct lane *l = lane_of(m, cpu);
	const struct hv_kept *first = l ? hv_backlog_first(&l->kept) : NULL;
	struct hv_merge_item item;

	if (!first)
		return;
	lane_take(l, first, &item);
	read_on(m, l, now_ns, until);
	reorder(m, l);
}

struct hv_merge *hv_merge_new(const struct hv_ring *rings, unsigned first_cpu, size_t nr,
			      const struct hv_merge_checkpoint *checkpoints,
			      struct hv_merge_clock clock)
{
	struct hv_merge *m = hv_alloc(sizeof(*m));

	m->clock = clock;
	m->first_cpu = first_cpu;
	m->nr_lanes = nr;
	m->lanes = hv_alloc(nr * sizeof(*m->lanes));
	m->order = hv_alloc(nr * sizeof(*m->order));
	for (size_t i = 0; i < nr; i++) {
		struct hv_merge_checkpoint from = hv_merge_checkpoint_at(rings[i].position);

		lane_init(&m->lanes[i], first_cpu + (unsigned)i, &rings[i],
			  checkpoints ? &checkpoints[i] : &from);
	}
	order_lanes(m);
	return m;
}

void hv_merge_free(struct hv_merge *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->nr_lanes; i++)
		lane_deinit(&m->lanes[i]);
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

void hv_merge_checkpoints(const struct hv_merge *m, struct hv_merge_checkpoint *ret)
{
	for (size_t i = 0; i < m->nr_lanes; i++)
		ret[i] = lane_mark(&m->lanes[i]);
}

uint64_t hv_merge_lost(const struct hv_merge *m)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < m->nr_lanes; i++)
		lost = add_lost(lost, lane_lost(&m->lanes[i]));
	return lost;
}
