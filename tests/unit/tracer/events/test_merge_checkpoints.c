/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The merge: checkpoints at which another merge continues, and reading one ring out of turn. */
#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/events/merge_rings.h"

START_TEST(reading_resumes_at_the_checkpoints)
{
	static const uint64_t times[2][6] = {{100, 30, 40, 35, 110, 120},
					     {50, 45, 130, 115, 115, 60}};
	uint64_t all[12], sorted = 0;

	start(2, 8);
	for (unsigned i = 0; i < 6; i++) {
		add(0, times[0][i]);
		add(1, times[1][i]);
	}
	while (sorted < 12 && next_item(0, HV_MERGE_LIVE))
		all[sorted++] = item.cpu << 8 | item.position;
	ck_assert_uint_eq(sorted, 12);
	for (unsigned first = 0; first <= 12; first++) {
		for (unsigned second = first; second <= 12; second++) {
			struct hv_merge_checkpoint checkpoints[2] = {hv_merge_checkpoint_at(0),
								     hv_merge_checkpoint_at(0)};
			const unsigned ends[] = {first, second, 12};
			unsigned n = 0;

			for (unsigned i = 0; i < 3; i++) {
				hv_merge_free(merge);
				merge = hv_merge_new(rings, 0, 2, checkpoints, tsc_clock);
				for (; n < ends[i]; n++) {
					ck_assert(next_item(0, HV_MERGE_LIVE));
					ck_assert_uint_eq(item.cpu << 8 | item.position, all[n]);
				}
				hv_merge_checkpoints(merge, checkpoints);
			}
			expect_none();
		}
	}
}
END_TEST

/* Records reserved after the checkpoints are returned even if their time is before the
 * checkpoints'. */
START_TEST(checkpoints_pass_a_late_record)
{
	struct hv_merge_checkpoint checkpoint;

	start(1, 8);
	add(0, 100);
	expect(0, 100);
	hv_merge_checkpoints(merge, &checkpoint);
	hv_merge_free(merge);
	merge = hv_merge_new(rings, 0, 1, &checkpoint, tsc_clock);
	add(0, 50);
	expect(0, 50);
	expect_none();
}
END_TEST

START_TEST(checkpoints_keep_unreported_loss)
{
	struct hv_merge_checkpoint checkpoint;

	start(1, 8);
	add_kind(0, NO_KIND, 1);
	expect_none();
	hv_merge_checkpoints(merge, &checkpoint);
	ck_assert_uint_eq(checkpoint.lost, 1);
	hv_merge_free(merge);
	merge = hv_merge_new(rings, 0, 1, &checkpoint, tsc_clock);
	add(0, 2);
	expect(0, 2);
	ck_assert_uint_eq(item.lost_before, 1);
	hv_merge_checkpoints(merge, &checkpoint);
	ck_assert_uint_eq(checkpoint.lost, 0);
	ck_assert_uint_eq(checkpoint.position, 2);
}
END_TEST

static void expect_next_of(unsigned cpu, uint64_t tsc)
{
	ck_assert(hv_merge_peek(merge, cpu, 0, HV_MERGE_LIVE, &item));
	ck_assert_uint_eq(item.time_ns, tsc);
	ck_assert_uint_eq(item.cpu, cpu);
}

START_TEST(a_peek_reads_one_ring_and_removes_nothing)
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

START_TEST(a_peek_reads_new_records)
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

START_TEST(a_peek_reports_loss)
{
	start(1, 8);
	add(0, 1);
	add(0, 2);
	add_kind(0, NO_KIND, 3);
	add(0, 4);
	expect(0, 1);
	expect_next_of(0, 2);
	ck_assert_uint_eq(item.lost_before, 0);
	expect(0, 2);
	expect_next_of(0, 4);
	ck_assert_uint_eq(item.lost_before, 1);
	expect(0, 4);
	ck_assert_uint_eq(item.lost_before, 1);
}
END_TEST

START_TEST(skipped_records_are_not_returned)
{
	struct hv_merge_checkpoint checkpoints[2];

	start(2, 8);
	add(0, 1);
	add(1, 2);
	add(0, 3);
	add(1, 4);
	add(0, 5);
	expect(0, 1);
	expect_next_of(0, 3);
	hv_merge_skip(merge, 0, 0, HV_MERGE_LIVE);
	hv_merge_checkpoints(merge, checkpoints);
	for (unsigned i = 0; i < 2; i++) {
		expect(1, 2);
		expect(1, 4);
		expect(0, 5);
		expect_none();
		hv_merge_free(merge);
		merge = hv_merge_new(rings, 0, 2, checkpoints, tsc_clock);
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, reading_resumes_at_the_checkpoints);
	tcase_add_test(tc, checkpoints_pass_a_late_record);
	tcase_add_test(tc, checkpoints_keep_unreported_loss);
	tcase_add_test(tc, a_peek_reads_one_ring_and_removes_nothing);
	tcase_add_test(tc, a_peek_reads_new_records);
	tcase_add_test(tc, a_peek_reports_loss);
	tcase_add_test(tc, skipped_records_are_not_returned);
}

int main(void)
{
	return run_suite("merge_checkpoints", add_tests);
}
