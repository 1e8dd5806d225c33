#include "tracer/events/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "tracer/events/backlog.h"
#include "tracer/events/decode.h"

/* Rounds in one hv_merge_next: the second one proves what the first one read. A third is needed
 * when an older record came to light in the second. */
#define ROUNDS_MAX 4
#define GAPS_MAX   8

/* LOST records are missing before POSITION. */
struct gap {
	uint64_t position;
	uint64_t lost;
};

/* One vCPU. */
struct lane {
	struct hv_ring ring;
	uint64_t goal; /* the head as it was in GOAL_ROUND; stays until all before it is read */
	uint64_t goal_round;
	uint64_t done; /* the last goal_round whose goal was reached */
	uint64_t stop;
	bool stops; /* never read STOP or later */

	struct hv_backlog kept;
	size_t max_kept;

	struct gap gaps[GAPS_MAX]; /* by position; the records after them are not yet returned */
	unsigned nr_gaps;
	uint64_t run;	     /* counts the losses */
	uint64_t nr_unknown; /* records of no known kind */
	uint64_t nr_told;    /* lost, as records say */

	bool blocked; /* the position is reserved and not written */
	uint64_t blocked_position;
	uint64_t blocked_since_ns;

	struct hv_merge_mark from;
	uint64_t last_tsc; /* of the youngest record returned, and its position */
	uint64_t last_position;
};

/* A lane and the time of its oldest record; none: empty. */
struct turn {
	struct lane *lane;
	uint64_t time_ns;
	bool none;
};

struct hv_merge {
	struct hv_merge_clock clock;
	unsigned first_cpu;
	uint64_t round;
	/* Records read in earlier rounds than this one can be returned: every lane was then read up
	 * to where its head was after those records were complete. */
	uint64_t done;
	bool pressed; /* a lane runs full: blocked ones are not waited for */
	bool waived;  /* and there was a blocked one */
	size_t nr_lanes;
	struct lane *lanes;
	struct turn *order; /* a heap of the lanes, the one with the oldest record first */
};

static bool before(uint64_t position, uint64_t other)
{
	return (int64_t)(position - other) < 0;
}

/* -- loss ---------------------------------------------------------------------------------- */

static uint64_t add_lost(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* NR records are missing before the lane's position. With too many gaps at once the last one takes
 * them: told early, never forgotten. */
static void note_lost(struct lane *l, uint64_t nr)
{
	l->run++;
	if (l->nr_gaps == GAPS_MAX) {
		l->gaps[GAPS_MAX - 1].lost = add_lost(l->gaps[GAPS_MAX - 1].lost, nr);
		return;
	}
	l->gaps[l->nr_gaps++] = (struct gap){l->ring.position, nr};
}

/* What is missing before the record at POSITION; told once. */
static uint64_t tell_lost(struct lane *l, uint64_t position)
{
	uint64_t lost = 0;
	unsigned nr = 0;

	while (nr < l->nr_gaps && !before(position, l->gaps[nr].position))
		lost = add_lost(lost, l->gaps[nr++].lost);
	l->nr_gaps -= nr;
	memmove(l->gaps, l->gaps + nr, l->nr_gaps * sizeof(*l->gaps));
	return lost;
}

/* -- reading ------------------------------------------------------------------------------- */

static bool returned_before(const struct lane *l, const struct hv_kept *k)
{
	uint64_t tsc = hv_record_tsc(&k->record);

	if (!before(k->position, l->from.read))
		return false;
	return tsc < l->from.tsc || (tsc == l->from.tsc && !before(l->from.last, k->position));
}

static void keep(struct hv_merge *m, struct lane *l, const struct hv_record *record)
{
	struct hv_kept k = {
		.record = *record,
		.position = l->ring.position - 1,
		.round = m->round,
		.run = l->run,
	};
	uint64_t tsc = hv_record_tsc(record);

	if (returned_before(l, &k))
		return;
	if (hv_record_lost(record)) {
		l->nr_told = add_lost(l->nr_told, hv_record_lost(record));
		note_lost(l, hv_record_lost(record));
		return;
	}
	if (!hv_record_kind(record)) {
		l->nr_unknown++;
		note_lost(l, 1);
		return;
	}
	k.time_ns = tsc;
	if (m->clock.ns)
		k.time_ns = m->clock.ns(m->clock.ctx, m->first_cpu + (unsigned)(l - m->lanes), tsc);
	hv_backlog_add(&l->kept, &k);
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

/* Reads up to the goal, as far as there is room. A guest whose head runs to and fro is left after a
 * lap's worth of tries. */
static void fill(struct hv_merge *m, struct lane *l, uint64_t now_ns, enum hv_merge_until until)
{
	uint64_t tries = l->ring.nr_slots;
	struct hv_record record;
	uint64_t lost;

	l->blocked = false;
	while (hv_backlog_nr(&l->kept) < l->max_kept && before(l->ring.position, l->goal) &&
	       tries-- > 0) {
		switch (read_ring(l, now_ns, until, &record, &lost)) {
		case HV_RING_RECORD:
			keep(m, l, &record);
			break;
		case HV_RING_LOST:
			note_lost(l, lost);
			break;
		case HV_RING_EMPTY:
			block(l, now_ns);
			return;
		}
	}
}

/* -- order of the lanes -------------------------------------------------------------------- */

static struct turn turn_of(struct lane *l)
{
	const struct hv_kept *first = hv_backlog_first(&l->kept);

	return (struct turn){l, first ? first->time_ns : UINT64_MAX, !first};
}

static bool comes_first(const struct turn *a, const struct turn *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns;
	return a->none == b->none ? a->lane < b->lane : b->none;
}

/* Puts TURN in the place of the one at AT, or below. */
static void sift_down(struct hv_merge *m, size_t at, struct turn turn)
{
	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= m->nr_lanes)
			break;
		if (child + 1 < m->nr_lanes && comes_first(&m->order[child + 1], &m->order[child]))
			child++;
		if (!comes_first(&m->order[child], &turn))
			break;
		m->order[at] = m->order[child];
		at = child;
	}
	m->order[at] = turn;
}

static void order_lanes(struct hv_merge *m)
{
	for (size_t i = 0; i < m->nr_lanes; i++)
		m->order[i] = turn_of(&m->lanes[i]);
	for (size_t i = m->nr_lanes / 2; i-- > 0;)
		sift_down(m, i, m->order[i]);
}

static bool is_full(const struct lane *l)
{
	return hv_backlog_nr(&l->kept) > l->max_kept / 2;
}

/* The round up to whose heads the lane was read, or need not be. */
static uint64_t lane_done(struct hv_merge *m, struct lane *l, uint64_t now_ns,
			  enum hv_merge_until until)
{
	if (!before(l->ring.position, l->goal)) {
		l->done = l->goal_round;
		return l->done;
	}
	if (!l->blocked || until == HV_MERGE_FINAL ||
	    now_ns - l->blocked_since_ns >= HV_MERGE_HOLD_NS)
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

static void refill(struct hv_merge *m, struct lane *l, uint64_t now_ns, enum hv_merge_until until)
{
	uint64_t done;

	if (is_full(l) || l->blocked)
		return;
	fill(m, l, now_ns, until);
	done = lane_done(m, l, now_ns, until);
	if (done < m->done)
		m->done = done;
}

static struct hv_merge_item item_of(const struct hv_merge *m, const struct lane *l,
				    const struct hv_kept *k)
{
	return (struct hv_merge_item){
		.record = k->record,
		.cpu = m->first_cpu + (unsigned)(l - m->lanes),
		.position = k->position,
		.run = k->run,
		.time_ns = k->time_ns,
	};
}

/* The lane's oldest record; the lanes are to be put in order after it. */
static void take(struct hv_merge *m, struct lane *l, uint64_t now_ns, enum hv_merge_until until,
		 struct hv_merge_item *ret)
{
	struct hv_kept k = *hv_backlog_first(&l->kept);

	hv_backlog_drop_first(&l->kept);
	*ret = item_of(m, l, &k);
	if (hv_record_is_event(&k.record))
		ret->lost_before = tell_lost(l, k.position);
	if (hv_record_tsc(&k.record) >= l->last_tsc) {
		l->last_tsc = hv_record_tsc(&k.record);
		l->last_position = k.position;
	}
	refill(m, l, now_ns, until);
	if (m->waived && !is_full(l)) /* perhaps to be waited for again */
		m->done = 0;
}

bool hv_merge_next(struct hv_merge *m, uint64_t now_ns, enum hv_merge_until until,
		   struct hv_merge_item *ret)
{
	if (!m->nr_lanes)
		return false;
	for (unsigned i = 0; i <= ROUNDS_MAX; i++) {
		const struct hv_kept *first = hv_backlog_first(&m->order[0].lane->kept);

		if (first && first->round < m->done) {
			struct lane *l = m->order[0].lane;

			take(m, l, now_ns, until, ret);
			sift_down(m, 0, turn_of(l));
			return true;
		}
		if (i > 0 && !first)
			return false;
		start_round(m, now_ns, until);
	}
	return false;
}

static struct lane *lane_of(struct hv_merge *m, unsigned cpu)
{
	return cpu - m->first_cpu < m->nr_lanes ? &m->lanes[cpu - m->first_cpu] : NULL;
}

/* Reads on when nothing is kept: what the lane was to be read up to may be long ago. */
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
		order_lanes(m);
	}
	k = hv_backlog_first(&l->kept);
	if (!k)
		return false;
	*ret = item_of(m, l, k);
	ret->lost_before = l->nr_gaps && !before(k->position, l->gaps[0].position);
	return true;
}

void hv_merge_skip(struct hv_merge *m, unsigned cpu, uint64_t now_ns, enum hv_merge_until until)
{
	struct lane *l = lane_of(m, cpu);
	struct hv_merge_item item;

	if (!l || !hv_backlog_nr(&l->kept))
		return;
	take(m, l, now_ns, until, &item);
	order_lanes(m);
}

/* ------------------------------------------------------------------------------------------ */

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
	if (from->lost)
		note_lost(l, from->lost);
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
		for (unsigned g = 0; g < l->nr_gaps; g++)
			mark.lost = add_lost(mark.lost, l->gaps[g].lost);
		ret[i] = mark;
	}
}

uint64_t hv_merge_lost(const struct hv_merge *m)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < m->nr_lanes; i++)
		lost = add_lost(add_lost(lost, m->lanes[i].nr_told),
				add_lost(m->lanes[i].ring.lost, m->lanes[i].nr_unknown));
	return lost;
}
