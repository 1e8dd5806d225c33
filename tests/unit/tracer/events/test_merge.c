/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The merge: the order of the rings' records, and how long it waits for one. */
#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/events/merge_rings.h"

START_TEST(empty_rings_have_no_events)
{
	start(2, 8);
	expect_none();
	ck_assert(!next_item(0, HV_MERGE_FINAL));
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
	add(0, 100); /* interrupted between the reservation and the clock */
	add(0, 60);  /* interrupted as well */
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

START_TEST(a_position_being_written_delays_the_other_rings)
{
	start(2, 8);
	set_head(0, 1);
	add(1, 20);
	expect_none();
	ck_assert(!next_item(HV_MERGE_WAIT_NS - 1, HV_MERGE_LIVE));
	write_at(0, 0, HV_RECORD_FUNCTION, 10);
	expect(0, 10);
	expect(1, 20);
}
END_TEST

START_TEST(the_delay_ends)
{
	start(2, 8);
	set_head(0, 1);
	add(1, 20);
	ck_assert(!next_item(1000, HV_MERGE_LIVE));
	ck_assert(!next_item(999 + HV_MERGE_WAIT_NS, HV_MERGE_LIVE));
	expect_at(1000 + HV_MERGE_WAIT_NS, HV_MERGE_LIVE, 1, 20);
	add(1, 30);
	expect_at(1001 + HV_MERGE_WAIT_NS, HV_MERGE_LIVE, 1, 30);
	write_at(0, 0, HV_RECORD_FUNCTION, 10);
	expect_at(1002 + HV_MERGE_WAIT_NS, HV_MERGE_LIVE, 0, 10);
	ck_assert_uint_eq(hv_merge_lost(merge), 0);
}
END_TEST

START_TEST(the_next_position_delays_again)
{
	start(2, 8);
	set_head(0, 1);
	add(1, 20);
	expect_none();
	write_at(0, 0, HV_RECORD_FUNCTION, 10);
	set_head(0, 2);
	ck_assert(!next_item(HV_MERGE_WAIT_NS - 1, HV_MERGE_LIVE));
	ck_assert(!next_item(2 * HV_MERGE_WAIT_NS - 2, HV_MERGE_LIVE));
	expect_at(2 * HV_MERGE_WAIT_NS - 1, HV_MERGE_LIVE, 0, 10);
	expect_at(2 * HV_MERGE_WAIT_NS - 1, HV_MERGE_LIVE, 1, 20);
}
END_TEST

START_TEST(a_ring_that_runs_full_ends_the_delay)
{
	start(2, 8);
	set_head(0, 1);
	for (uint64_t tsc = 1; tsc <= 4; tsc++)
		add(1, tsc);
	expect_none();
	add(1, 5);
	expect(1, 1);
	expect_none();
}
END_TEST

/* Whenever the merge reads, ring 0 is in the middle of its next record. */
START_TEST(a_ring_that_always_writes_delays_no_other)
{
	start(2, 64);
	set_head(0, 1);
	for (uint64_t i = 0; i < 20; i++) {
		add(1, 10 * i + 5);
		write_at(0, i, HV_RECORD_FUNCTION, 10 * i);
		reserve(0);
		while (next_item(0, HV_MERGE_LIVE))
			;
	}
	ck_assert_uint_ge(item.time_ns, 170);
	ck_assert_uint_le(item.time_ns, 190);
}
END_TEST

START_TEST(a_final_read_does_not_wait)
{
	start(2, 8);
	set_head(0, 2); /* both unwritten */
	add(0, 30);
	reserve(0); /* another unwritten one */
	add(1, 20);
	expect_at(0, HV_MERGE_FINAL, 1, 20);
	expect_at(0, HV_MERGE_FINAL, 0, 30);
	ck_assert_uint_eq(item.lost_before, 2);
	ck_assert(!next_item(0, HV_MERGE_FINAL));
	ck_assert_uint_eq(hv_merge_lost(merge), 2);
	/* The last one is not given up because no record follows it. */
	write_at(0, 3, HV_RECORD_FUNCTION, 40);
	expect_at(0, HV_MERGE_FINAL, 0, 40);
}
END_TEST

START_TEST(stop_here_excludes_later_records)
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
	ck_assert(!next_item(0, HV_MERGE_FINAL));
}
END_TEST

static void skewed(void *ctx, unsigned cpu, uint64_t *times, size_t nr)
{
	const uint64_t *skew = ctx;

	for (size_t i = 0; i < nr; i++)
		times[i] = times[i] * 2 + skew[cpu - 5];
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

static void end_of_time(void *ctx, unsigned cpu, uint64_t *times, size_t nr)
{
	(void)ctx;
	(void)cpu;
	for (size_t i = 0; i < nr; i++)
		times[i] = UINT64_MAX;
}

START_TEST(the_largest_time_is_still_returned)
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

/* Ring 0 has far more records than a lane keeps, with inversions up to half of that number. Ring 1
 * has a few. */
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
		ck_assert(next_item(0, HV_MERGE_FINAL));
		ck_assert_uint_ge(item.time_ns, last);
		last = item.time_ns;
	}
	ck_assert(!next_item(0, HV_MERGE_FINAL));
	ck_assert_uint_eq(hv_merge_lost(merge), 0);
}
END_TEST

/* Two merges read two rings with inversions and a gap. One returns runs, the other single records;
 * records and checkpoints must be equal. */
START_TEST(runs_equal_single_records)
{
	enum { NR = 1 << 12 };
	struct hv_merge_checkpoint checkpoints[2][2];
	const struct hv_kept *kept;
	struct hv_merge *other;
	uint64_t seed = 7;
	size_t nr, nr_shown = 0, nr_runs = 0;
	unsigned cpu;

	start(2, NR);
	for (uint64_t i = 0; i < NR; i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1;
		add(seed >> 40 & 1, 100 + 4 * i + (seed >> 50 & 15));
		if ((seed >> 33) % 512 == 0)
			reserve(seed >> 41 & 1);
	}
	other = hv_merge_new(rings, 0, 2, NULL, tsc_clock);
	while (hv_merge_next(merge, 0, HV_MERGE_FINAL, &item)) {
		struct hv_merge_item same;

		ck_assert(hv_merge_next(other, 0, HV_MERGE_FINAL, &same));
		ck_assert_mem_eq(&same.record, &item.record, sizeof(same.record));
		kept = hv_merge_run(merge, nr_runs % 8 ? SIZE_MAX : 3, &cpu, &nr);
		nr_runs += kept != NULL;
		for (size_t i = 0; kept && i < nr; i++) {
			ck_assert(hv_merge_next(other, 0, HV_MERGE_FINAL, &same));
			ck_assert_uint_eq(same.cpu, cpu);
			ck_assert_uint_eq(same.position, kept[i].position);
			ck_assert_uint_eq(same.time_ns, kept[i].time_ns);
			ck_assert_uint_eq(same.lost_before, 0);
		}
		if (kept)
			hv_merge_take_run(merge, nr);
		nr_shown += kept ? nr : 0;
		hv_merge_checkpoints(merge, checkpoints[0]);
		hv_merge_checkpoints(other, checkpoints[1]);
		for (unsigned lane = 0; lane < 2; lane++) {
			ck_assert_uint_eq(checkpoints[0][lane].tsc, checkpoints[1][lane].tsc);
			ck_assert_uint_eq(checkpoints[0][lane].last, checkpoints[1][lane].last);
			ck_assert_uint_eq(checkpoints[0][lane].read, checkpoints[1][lane].read);
		}
	}
	ck_assert(!hv_merge_next(other, 0, HV_MERGE_FINAL, &item));
	ck_assert_uint_gt(nr_runs, 0);
	ck_assert_uint_gt(nr_shown, nr_runs);
	hv_merge_free(other);
}
END_TEST

/* Two vCPUs continue to write while a ring that takes several rounds is read for the first time. */
static void clock_of_writers(void *ctx, unsigned cpu, uint64_t *times, size_t nr)
{
	unsigned *nr_asked = ctx;

	(void)times;
	for (size_t i = 0; cpu == 0 && i < nr; i++) {
		if (++*nr_asked != HV_MERGE_AHEAD)
			continue;
		add(0, 1000005);
		add(1, 1000010);
	}
}

START_TEST(new_records_wait_for_a_long_ring)
{
	enum { NR = 2 * HV_MERGE_AHEAD }; /* one more is beyond the capacity of two rounds */
	unsigned nr_asked = 0;

	start(2, 1 << 16);
	hv_merge_free(merge);
	merge = hv_merge_new(rings, 0, 2, NULL,
			     (struct hv_merge_clock){clock_of_writers, &nr_asked});
	for (uint64_t i = 0; i < NR; i++)
		add(0, 10 * i);
	add(0, 1000020);
	for (uint64_t i = 0; i < NR; i++)
		expect(0, 10 * i);
	expect(0, 1000005);
	expect(1, 1000010);
	expect(0, 1000020);
	expect_none();
}
END_TEST

/* Heads at low and high positions, in an empty ring, and in the middle of a record. */
static uint64_t a_head(uint64_t random)
{
	static const uint64_t heads[] = {0,  1,	   15,	       16,	   17,
					 33, 1000, 1ull << 57, 1ull << 58, UINT64_MAX};
	uint64_t position = heads[(random >> 33) % HV_ARRAY_LEN(heads)] + (random & 3);

	if (random >> 4 & 1)
		return position;
	return hv_ring_head_at(position, nr_slots) + (random >> 5 & 1) * (random >> 6 & 31);
}

/* _i: seed. With random bytes and heads, every request ends, and nothing outside is read. */
START_TEST(hostile_rings_end)
{
	uint64_t random = (uint64_t)_i * 7919 + 1;

	start(3, 16);
	for (unsigned round = 0; round < 300; round++) {
		unsigned calls = 0;

		for (unsigned i = 0; i < 40; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			records[random >> 40 & 1][random >> 32 & 15].word[random >> 48 & 3] =
				random;
			if (i % 8 == 0)
				states[random >> 20 & 1].head = a_head(random);
		}
		while (next_item(round * HV_MERGE_WAIT_NS, round % 5)) {
			ck_assert_uint_lt(item.cpu, 2);
			ck_assert_uint_ne(hv_record_kind(&item.record), HV_RECORD_UNKNOWN);
			ck_assert_uint_lt(calls++, 200);
		}
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, empty_rings_have_no_events);
	tcase_add_test(tc, rings_are_merged_by_time);
	tcase_add_test(tc, equal_times_keep_the_order_of_writing);
	tcase_add_test(tc, nested_records_come_first);
	tcase_add_test(tc, a_position_being_written_delays_the_other_rings);
	tcase_add_test(tc, the_delay_ends);
	tcase_add_test(tc, the_next_position_delays_again);
	tcase_add_test(tc, a_ring_that_runs_full_ends_the_delay);
	tcase_add_test(tc, a_ring_that_always_writes_delays_no_other);
	tcase_add_test(tc, a_final_read_does_not_wait);
	tcase_add_test(tc, stop_here_excludes_later_records);
	tcase_add_test(tc, the_clock_is_asked_for_the_right_cpu);
	tcase_add_test(tc, the_largest_time_is_still_returned);
	tcase_add_test(tc, a_long_backlog_is_sorted);
	tcase_add_test(tc, runs_equal_single_records);
	tcase_add_test(tc, new_records_wait_for_a_long_ring);
	tcase_add_loop_test(tc, hostile_rings_end, 0, 5);
}

int main(void)
{
	return run_suite("merge", add_tests);
}
