/* The merge: order, holding back, loss, marks; and a simulated guest whose records are written in
 * every nesting and interleaving that interrupts and migrations make, read while they are written.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "tracer/decode.h"
#include "tracer/merge.h"

#define NR_CPUS 3

static struct hv_state states[NR_CPUS];
static struct hv_record *records[NR_CPUS];
static struct hv_ring rings[NR_CPUS];
static uint64_t nr_slots;
static struct hv_merge *merge;
static struct hv_merge_item item;

static const struct hv_merge_clock tsc_clock = {NULL, NULL};

static void start(unsigned nr_cpus, uint64_t slots)
{
	nr_slots = slots;
	memset(states, 0, sizeof(states));
	for (unsigned cpu = 0; cpu < nr_cpus; cpu++) {
		records[cpu] = hv_alloc(slots * sizeof(**records));
		hv_ring_init(&rings[cpu], &states[cpu], records[cpu], slots);
	}
	merge = hv_merge_new(rings, 0, nr_cpus, NULL, tsc_clock);
}

static void teardown(void)
{
	hv_merge_free(merge);
	merge = NULL;
	for (unsigned cpu = 0; cpu < NR_CPUS; cpu++) {
		free(records[cpu]);
		records[cpu] = NULL;
	}
}

static void store(unsigned cpu, uint64_t position, unsigned i, uint64_t word)
{
	uint64_t lap = position / nr_slots & 1 ? 0 : UINT64_C(1) << HV_LAP_BIT;

	records[cpu][position % nr_slots].word[i] = word | lap;
}

static void write_at(unsigned cpu, uint64_t position, unsigned kind, uint64_t tsc)
{
	store(cpu, position, 0, tsc);
	store(cpu, position, 1, 0);
	store(cpu, position, 2, 0);
	store(cpu, position, 3, (uint64_t)kind << HV_RECORD_KIND_SHIFT);
}

static void add_kind(unsigned cpu, unsigned kind, uint64_t tsc)
{
	write_at(cpu, states[cpu].head++, kind, tsc);
}

static void add(unsigned cpu, uint64_t tsc)
{
	add_kind(cpu, HV_RECORD_FUNCTION, tsc);
}

static void expect_at(uint64_t now_ns, enum hv_merge_until until, unsigned cpu, uint64_t tsc)
{
	ck_assert(hv_merge_next(merge, now_ns, until, &item));
	ck_assert_uint_eq(item.time_ns, tsc);
	ck_assert_uint_eq(item.cpu, cpu);
}

static void expect(unsigned cpu, uint64_t tsc)
{
	expect_at(0, HV_MERGE_LIVE, cpu, tsc);
}

static void expect_none(void)
{
	ck_assert(!hv_merge_next(merge, 0, HV_MERGE_LIVE, &item));
}

START_TEST(nothing_gives_nothing)
{
	start(2, 8);
	expect_none();
	ck_assert(!hv_merge_next(merge, 0, HV_MERGE_FINAL, &item));
	hv_merge_free(merge);
	merge = hv_merge_new(rings, 0, 0, NULL, tsc_clock);
	expect_none();
}
END_TEST

START_TEST(rings_are_merged_by_time)
{
	start(3, 8);
	add(2, 1);
	add(0, 2);
	add(0, 4);
	add(1, 3);
	add(1, 5);
	expect(2, 1);
	expect(0, 2);
	expect(1, 3);
	expect(0, 4);
	expect(1, 5);
	expect_none();
	add(0, 6);
	expect(0, 6);
	expect_none();
}
END_TEST

START_TEST(equal_times_keep_the_order_of_writing)
{
	start(2, 8);
	add(1, 5);
	add(1, 5);
	add(0, 5);
	expect(0, 5);
	expect(1, 5);
	ck_assert_uint_eq(item.position, 0);
	expect(1, 5);
	ck_assert_uint_eq(item.position, 1);
}
END_TEST

START_TEST(nested_records_come_first)
{
	start(2, 16);
	add(0, 100); /* interrupted between reserving and the clock */
	add(0, 60);  /* likewise */
	add(0, 30);
	add(0, 40);
	add(0, 70);
	add(1, 50);
	add(0, 110);
	expect(0, 30);
	expect(0, 40);
	expect(1, 50);
	expect(0, 60);
	expect(0, 70);
	expect(0, 100);
	expect(0, 110);
	expect_none();
}
END_TEST

START_TEST(a_position_being_written_holds_the_others_back)
{
	start(2, 8);
	states[0].head = 1;
	add(1, 20);
	expect_none();
	ck_assert(!hv_merge_next(merge, HV_MERGE_HOLD_NS - 1, HV_MERGE_LIVE, &item));
	write_at(0, 0, HV_RECORD_FUNCTION, 10);
	expect(0, 10);
	expect(1, 20);
}
END_TEST

START_TEST(a_hold_ends)
{
	start(2, 8);
	states[0].head = 1;
	add(1, 20);
	ck_assert(!hv_merge_next(merge, 1000, HV_MERGE_LIVE, &item));
	ck_assert(!hv_merge_next(merge, 999 + HV_MERGE_HOLD_NS, HV_MERGE_LIVE, &item));
	expect_at(1000 + HV_MERGE_HOLD_NS, HV_MERGE_LIVE, 1, 20);
	add(1, 30);
	expect_at(1001 + HV_MERGE_HOLD_NS, HV_MERGE_LIVE, 1, 30);
	write_at(0, 0, HV_RECORD_FUNCTION, 10);
	expect_at(1002 + HV_MERGE_HOLD_NS, HV_MERGE_LIVE, 0, 10);
	ck_assert_uint_eq(hv_merge_lost(merge), 0);
}
END_TEST

START_TEST(the_next_position_holds_anew)
{
	start(2, 8);
	states[0].head = 1;
	add(1, 20);
	expect_none();
	write_at(0, 0, HV_RECORD_FUNCTION, 10);
	states[0].head = 2;
	ck_assert(!hv_merge_next(merge, HV_MERGE_HOLD_NS - 1, HV_MERGE_LIVE, &item));
	ck_assert(!hv_merge_next(merge, 2 * HV_MERGE_HOLD_NS - 2, HV_MERGE_LIVE, &item));
	expect_at(2 * HV_MERGE_HOLD_NS - 1, HV_MERGE_LIVE, 0, 10);
	expect_at(2 * HV_MERGE_HOLD_NS - 1, HV_MERGE_LIVE, 1, 20);
}
END_TEST

START_TEST(a_ring_that_runs_full_ends_the_hold)
{
	start(2, 8);
	states[0].head = 1;
	for (uint64_t tsc = 1; tsc <= 4; tsc++)
		add(1, tsc);
	expect_none();
	add(1, 5);
	expect(1, 1);
	expect_none();
}
END_TEST

/* Ring 0 is in the middle of its next record whenever one looks. */
START_TEST(a_ring_that_is_always_writing_lets_others_go_on)
{
	start(2, 64);
	states[0].head = 1;
	for (uint64_t i = 0; i < 20; i++) {
		add(1, 10 * i + 5);
		write_at(0, i, HV_RECORD_FUNCTION, 10 * i);
		states[0].head++;
		while (hv_merge_next(merge, 0, HV_MERGE_LIVE, &item))
			;
	}
	ck_assert_uint_ge(item.time_ns, 170);
	ck_assert_uint_le(item.time_ns, 190);
}
END_TEST

START_TEST(final_waits_for_nothing)
{
	start(2, 8);
	states[0].head = 2; /* both unwritten */
	add(0, 30);
	states[0].head++; /* and one after it */
	add(1, 20);
	expect_at(0, HV_MERGE_FINAL, 1, 20);
	expect_at(0, HV_MERGE_FINAL, 0, 30);
	ck_assert_uint_eq(item.lost_before, 2);
	ck_assert(!hv_merge_next(merge, 0, HV_MERGE_FINAL, &item));
	ck_assert_uint_eq(hv_merge_lost(merge), 2);
	/* the last one is not given up: nothing is after it */
	write_at(0, 3, HV_RECORD_FUNCTION, 40);
	expect_at(0, HV_MERGE_FINAL, 0, 40);
}
END_TEST

START_TEST(stop_here_ends_the_stream)
{
	start(2, 8);
	add(0, 1);
	add(0, 2);
	hv_merge_stop_here(merge);
	add(0, 3);
	add(1, 1);
	expect_at(0, HV_MERGE_FINAL, 0, 1);
	add(0, 4);
	expect_at(0, HV_MERGE_FINAL, 0, 2);
	ck_assert(!hv_merge_next(merge, 0, HV_MERGE_FINAL, &item));
}
END_TEST

/* 9 of 10 positions of ring 0 are gone or given up; its first record is a task's. */
START_TEST(loss_is_told_by_the_next_function_of_its_ring)
{
	start(2, 8);
	add(1, 1);
	for (uint64_t tsc = 2; tsc < 12; tsc++)
		add_kind(0, tsc == 5 ? HV_RECORD_TASK : HV_RECORD_FUNCTION, tsc);
	expect(1, 1);
	ck_assert_uint_eq(item.lost_before, 0);
	expect(0, 5); /* 2, 3 overwritten, 4 the margin */
	ck_assert_uint_eq(hv_record_kind(&item.record), HV_RECORD_TASK);
	ck_assert_uint_eq(item.lost_before, 0);
	expect(0, 6);
	ck_assert_uint_eq(item.lost_before, 3);
	expect(0, 7);
	ck_assert_uint_eq(item.lost_before, 0);
	ck_assert_uint_eq(hv_merge_lost(merge), 3);
}
END_TEST

/* The record before the gap is younger than those after it. */
START_TEST(loss_is_told_after_the_gap_not_before)
{
	start(1, 8);
	add(0, 5);
	add(0, 50);
	states[0].head++;
	add(0, 10);
	add(0, 20);
	expect_at(0, HV_MERGE_FINAL, 0, 5);
	ck_assert_uint_eq(item.lost_before, 0);
	expect(0, 10);
	ck_assert_uint_eq(item.lost_before, 1);
	expect(0, 20);
	ck_assert_uint_eq(item.lost_before, 0);
	expect(0, 50);
	ck_assert_uint_eq(item.lost_before, 0);
}
END_TEST

START_TEST(losses_of_many_gaps_add_up)
{
	uint64_t told = 0;

	start(1, 1024);
	for (unsigned i = 0; i < 40; i++) {
		states[0].head += i;
		add(0, 1000 + i);
	}
	for (unsigned i = 0; i < 40; i++) {
		ck_assert(hv_merge_next(merge, 0, HV_MERGE_FINAL, &item));
		told += item.lost_before;
		/* early when there are too many gaps, never late */
		ck_assert_uint_ge(told, i * (i + 1) / 2);
	}
	states[0].head = 1 << 20;
	add(0, 5000);
	while (hv_merge_next(merge, 0, HV_MERGE_FINAL, &item))
		told += item.lost_before;
	ck_assert_uint_eq(told, hv_merge_lost(merge));
}
END_TEST

/* As a buffer in host memory has it. */
START_TEST(a_record_of_loss_is_told)
{
	struct hv_record lost = hv_encode_lost(15, 41);

	start(1, 16);
	add(0, 10);
	for (unsigned i = 0; i < 4; i++)
		store(0, states[0].head, i, lost.word[i]);
	states[0].head++;
	add(0, 20);
	expect(0, 10);
	ck_assert_uint_eq(item.lost_before, 0);
	expect(0, 20);
	ck_assert_uint_eq(item.lost_before, 41);
	ck_assert_uint_eq(hv_merge_lost(merge), 41);
}
END_TEST

START_TEST(records_of_no_kind_count_as_lost)
{
	start(1, 8);
	add_kind(0, 0, 1);
	add_kind(0, 15, 2);
	add(0, 3);
	expect(0, 3);
	ck_assert_uint_eq(item.lost_before, 2);
	ck_assert_uint_eq(hv_merge_lost(merge), 2);
}
END_TEST

static uint64_t skewed(void *ctx, unsigned cpu, uint64_t tsc)
{
	const uint64_t *skew = ctx;

	return tsc * 2 + skew[cpu - 5];
}

START_TEST(the_clock_is_asked_for_the_right_cpu)
{
	static uint64_t skew[2] = {0, 1000};

	start(2, 8);
	hv_merge_free(merge);
	merge = hv_merge_new(rings, 5, 2, NULL, (struct hv_merge_clock){skewed, skew});
	add(1, 1);
	add(0, 100);
	expect(5, 200);
	expect(6, 1002);
}
END_TEST

static uint64_t end_of_time(void *ctx, unsigned cpu, uint64_t tsc)
{
	(void)ctx;
	(void)cpu;
	(void)tsc;
	return UINT64_MAX;
}

START_TEST(no_time_is_later_than_none)
{
	for (unsigned cpu = 0; cpu < NR_CPUS; cpu++) {
		start(NR_CPUS, 8);
		hv_merge_free(merge);
		merge = hv_merge_new(rings, 0, NR_CPUS, NULL,
				     (struct hv_merge_clock){end_of_time, NULL});
		add(cpu, 1);
		add(cpu, 2);
		expect(cpu, UINT64_MAX);
		expect(cpu, UINT64_MAX);
		expect_none();
		teardown();
	}
}
END_TEST

START_TEST(marks_go_on_exactly_there)
{
	static const uint64_t times[2][6] = {{100, 30, 40, 35, 110, 120},
					     {50, 45, 60, 115, 115, 130}};
	uint64_t all[12], sorted = 0;

	start(2, 8);
	for (unsigned i = 0; i < 6; i++) {
		add(0, times[0][i]);
		add(1, times[1][i]);
	}
	while (sorted < 12 && hv_merge_next(merge, 0, HV_MERGE_LIVE, &item))
		all[sorted++] = item.cpu << 8 | item.position;
	ck_assert_uint_eq(sorted, 12);
	for (unsigned first = 0; first <= 12; first++) {
		for (unsigned second = first; second <= 12; second++) {
			struct hv_merge_mark marks[2] = {hv_merge_mark_at(0), hv_merge_mark_at(0)};
			const unsigned ends[] = {first, second, 12};
			unsigned n = 0;

			for (unsigned i = 0; i < 3; i++) {
				hv_merge_free(merge);
				merge = hv_merge_new(rings, 0, 2, marks, tsc_clock);
				for (; n < ends[i]; n++) {
					ck_assert(hv_merge_next(merge, 0, HV_MERGE_LIVE, &item));
					ck_assert_uint_eq(item.cpu << 8 | item.position, all[n]);
				}
				hv_merge_marks(merge, marks);
			}
			expect_none();
		}
	}
}
END_TEST

START_TEST(marks_keep_loss_that_was_not_told)
{
	struct hv_merge_mark mark;

	start(1, 8);
	add_kind(0, 0, 1);
	expect_none();
	hv_merge_marks(merge, &mark);
	ck_assert_uint_eq(mark.lost, 1);
	hv_merge_free(merge);
	merge = hv_merge_new(rings, 0, 1, &mark, tsc_clock);
	add(0, 2);
	expect(0, 2);
	ck_assert_uint_eq(item.lost_before, 1);
	hv_merge_marks(merge, &mark);
	ck_assert_uint_eq(mark.lost, 0);
	ck_assert_uint_eq(mark.position, 2);
}
END_TEST

static void expect_next_of(unsigned cpu, uint64_t tsc)
{
	ck_assert(hv_merge_peek(merge, cpu, 0, HV_MERGE_LIVE, &item));
	ck_assert_uint_eq(item.time_ns, tsc);
	ck_assert_uint_eq(item.cpu, cpu);
}

START_TEST(a_peek_is_at_one_ring_and_takes_nothing)
{
	start(2, 8);
	add(0, 1);
	add(1, 2);
	add(1, 3);
	add(0, 4);
	expect(0, 1);
	expect_next_of(0, 4);
	expect_next_of(1, 2);
	expect(1, 2);
	expect_next_of(1, 3);
	expect(1, 3);
	ck_assert(!hv_merge_peek(merge, 1, 0, HV_MERGE_LIVE, &item));
	ck_assert(!hv_merge_peek(merge, 2, 0, HV_MERGE_LIVE, &item));
	expect(0, 4);
	expect_none();
}
END_TEST

START_TEST(a_peek_reads_on)
{
	start(2, 8);
	add(0, 1);
	add(0, 5);
	expect(0, 1);
	add(1, 2);
	add(1, 3);
	expect_next_of(1, 2);
	expect(1, 2);
	expect(1, 3);
	expect(0, 5);
}
END_TEST

START_TEST(a_peek_tells_of_loss)
{
	start(1, 8);
	add(0, 1);
	add_kind(0, 0, 2);
	add(0, 3);
	expect(0, 1);
	expect_next_of(0, 3);
	ck_assert_uint_eq(item.lost_before, 1);
	expect(0, 3);
	ck_assert_uint_eq(item.lost_before, 1);
}
END_TEST

START_TEST(what_is_skipped_does_not_come)
{
	struct hv_merge_mark marks[2];

	start(2, 8);
	add(0, 1);
	add(1, 2);
	add(0, 3);
	add(1, 4);
	add(0, 5);
	expect(0, 1);
	expect_next_of(0, 3);
	hv_merge_skip(merge, 0, 0, HV_MERGE_LIVE);
	hv_merge_marks(merge, marks);
	for (unsigned i = 0; i < 2; i++) {
		expect(1, 2);
		expect(1, 4);
		expect(0, 5);
		expect_none();
		hv_merge_free(merge);
		merge = hv_merge_new(rings, 0, 2, marks, tsc_clock);
	}
}
END_TEST

/* Far more than a lane keeps in ring 0, with inversions up to half of that; a few in ring 1. */
START_TEST(a_long_backlog_is_sorted)
{
	enum { NR = 1 << 16, SPAN = 4096 };
	uint64_t last = 0;

	start(2, NR);
	for (uint64_t i = 0; i < NR; i++) {
		uint64_t tsc = i % SPAN ? i : i + SPAN - 1;

		add(0, 3 * tsc);
		if (i % 16 == 0)
			add(1, 3 * i + 1);
	}
	hv_merge_stop_here(merge);
	for (uint64_t i = 0; i < NR + NR / 16; i++) {
		ck_assert(hv_merge_next(merge, 0, HV_MERGE_FINAL, &item));
		ck_assert_uint_ge(item.time_ns, last);
		last = item.time_ns;
	}
	ck_assert(!hv_merge_next(merge, 0, HV_MERGE_FINAL, &item));
	ck_assert_uint_eq(hv_merge_lost(merge), 0);
}
END_TEST

/* _i: seed. Any bytes and any heads: what is asked for ends, and nothing is read outside. */
START_TEST(hostile_rings_end)
{
	static const uint64_t heads[] = {0,  1,	   15,	       16,	   17,
					 33, 1000, 1ull << 62, 1ull << 63, UINT64_MAX};
	uint64_t random = (uint64_t)_i * 7919 + 1;

	start(3, 16);
	for (unsigned round = 0; round < 300; round++) {
		unsigned calls = 0;

		for (unsigned i = 0; i < 40; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			records[random >> 40 & 1][random >> 32 & 15].word[random >> 48 & 3] =
				random;
			if (i % 8 == 0)
				states[random >> 20 & 1].head =
					heads[(random >> 33) % HV_ARRAY_LEN(heads)] + (random & 3);
		}
		while (hv_merge_next(merge, round * HV_MERGE_HOLD_NS, round % 5, &item)) {
			ck_assert_uint_lt(item.cpu, 2);
			ck_assert_uint_ne(hv_record_kind(&item.record), 0);
			ck_assert_uint_lt(calls++, 200);
		}
	}
}
END_TEST

/* -- a guest ------------------------------------------------------------------------------- */

#define DEPTH_MAX 6

/* A stub being executed: where it reserved, and how far it is. */
struct writer {
	unsigned cpu;
	uint64_t position;
	uint64_t tsc;
	unsigned step; /* 0 reserved, 1 has its time, 2..5 words stored */
};

static struct writer running[NR_CPUS][DEPTH_MAX]; /* interrupts nest */
static unsigned depth[NR_CPUS];
static struct writer preempted[2]; /* tasks; they may go on elsewhere */
static unsigned nr_preempted;
static uint64_t tsc_now;
static uint64_t random_state;
static bool ends; /* it finishes what it began */

static unsigned chance(unsigned n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(random_state >> 33) % n;
}

static void step_writer(struct writer *w)
{
	if (w->step == 0)
		w->tsc = ++tsc_now;
	else
		store(w->cpu, w->position, w->step - 1,
		      w->step == 1   ? w->tsc
		      : w->step == 4 ? (uint64_t)HV_RECORD_FUNCTION << HV_RECORD_KIND_SHIFT
				     : 0);
	w->step++;
}

static void step_guest(unsigned cpu)
{
	struct writer *top = depth[cpu] ? &running[cpu][depth[cpu] - 1] : NULL;

	if (!ends && (!top || (depth[cpu] < DEPTH_MAX && chance(12) == 0))) {
		running[cpu][depth[cpu]++] = (struct writer){cpu, states[cpu].head++, 0, 0};
	} else if (!top && nr_preempted) {
		running[cpu][depth[cpu]++] = preempted[--nr_preempted];
	} else if (top && !ends && depth[cpu] == 1 && nr_preempted < 2 && chance(40) == 0) {
		preempted[nr_preempted++] = *top;
		depth[cpu]--;
	} else if (top) {
		step_writer(top);
		if (top->step == 5)
			depth[cpu]--;
	}
	if (nr_preempted && !depth[cpu] && chance(20) == 0)
		running[cpu][depth[cpu]++] = preempted[--nr_preempted];
}

static uint64_t nr_heads(void)
{
	return states[0].head + states[1].head + states[2].head;
}

static bool all_written(void)
{
	return !nr_preempted && !depth[0] && !depth[1] && !depth[2];
}

/* The guest goes on between any two records that the merge reads. */
static uint64_t stepping_clock(void *ctx, unsigned cpu, uint64_t tsc)
{
	(void)ctx;
	(void)cpu;
	for (unsigned i = chance(8); i > 0; i--)
		step_guest(chance(NR_CPUS));
	return tsc;
}

/* _i: seed */
START_TEST(a_guest_read_while_it_writes_is_in_order)
{
	uint64_t last = 0, nr = 0, early;

	random_state = (uint64_t)_i;
	start(NR_CPUS, 1 << 13);
	hv_merge_free(merge);
	merge = hv_merge_new(rings, 0, NR_CPUS, NULL,
			     (struct hv_merge_clock){stepping_clock, NULL});
	for (unsigned n = 0; n < 60000; n++) {
		step_guest(chance(NR_CPUS));
		if (chance(50))
			continue;
		for (unsigned i = chance(30); i > 0; i--) {
			if (!hv_merge_next(merge, 0, HV_MERGE_LIVE, &item))
				break;
			ck_assert_uint_gt(item.time_ns, last);
			last = item.time_ns;
			nr++;
		}
	}
	early = nr;
	ends = true;
	while (!all_written())
		step_guest(chance(NR_CPUS));
	while (hv_merge_next(merge, 0, HV_MERGE_LIVE, &item)) {
		ck_assert_uint_gt(item.time_ns, last);
		last = item.time_ns;
		nr++;
	}
	ck_assert_uint_eq(nr, nr_heads());
	ck_assert_uint_gt(early, nr / 2);
	ck_assert_uint_eq(hv_merge_lost(merge), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("merge");
	TCase *tc = tcase_create("merge");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, tc);
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, nothing_gives_nothing);
	tcase_add_test(tc, rings_are_merged_by_time);
	tcase_add_test(tc, equal_times_keep_the_order_of_writing);
	tcase_add_test(tc, nested_records_come_first);
	tcase_add_test(tc, a_position_being_written_holds_the_others_back);
	tcase_add_test(tc, a_hold_ends);
	tcase_add_test(tc, the_next_position_holds_anew);
	tcase_add_test(tc, a_ring_that_runs_full_ends_the_hold);
	tcase_add_test(tc, a_ring_that_is_always_writing_lets_others_go_on);
	tcase_add_test(tc, final_waits_for_nothing);
	tcase_add_test(tc, stop_here_ends_the_stream);
	tcase_add_test(tc, loss_is_told_by_the_next_function_of_its_ring);
	tcase_add_test(tc, loss_is_told_after_the_gap_not_before);
	tcase_add_test(tc, losses_of_many_gaps_add_up);
	tcase_add_test(tc, a_record_of_loss_is_told);
	tcase_add_test(tc, records_of_no_kind_count_as_lost);
	tcase_add_test(tc, the_clock_is_asked_for_the_right_cpu);
	tcase_add_test(tc, no_time_is_later_than_none);
	tcase_add_test(tc, marks_go_on_exactly_there);
	tcase_add_test(tc, marks_keep_loss_that_was_not_told);
	tcase_add_test(tc, a_peek_is_at_one_ring_and_takes_nothing);
	tcase_add_test(tc, a_peek_reads_on);
	tcase_add_test(tc, a_peek_tells_of_loss);
	tcase_add_test(tc, what_is_skipped_does_not_come);
	tcase_add_test(tc, a_long_backlog_is_sorted);
	tcase_add_loop_test(tc, hostile_rings_end, 0, 5);
	tcase_add_loop_test(tc, a_guest_read_while_it_writes_is_in_order, 0, 5);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
