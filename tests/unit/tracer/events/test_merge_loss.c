/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The merge reports a loss once, at the position of the lost records. */
#include "ringbuf/writer.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/events/merge_rings.h"

/* Three positions of ring 0 are lost. The first record after them is a task's. */
START_TEST(the_next_function_of_a_ring_reports_loss)
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
START_TEST(the_record_after_a_gap_reports_loss)
{
	start(1, 8);
	add(0, 5);
	add(0, 50);
	reserve(0);
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

/* The next event of the ring, not of another ring, reports it together with the previous losses. */
START_TEST(an_unusable_record_counts_as_lost)
{
	struct hv_merge_item useless;

	start(2, 16);
	reserve(0);
	add(0, 5);
	reserve(0);
	add(0, 10);
	add(0, 30);
	add(1, 20);
	expect_at(0, HV_MERGE_FINAL, 0, 5);
	ck_assert_uint_eq(item.lost_before, 1);
	useless = item;
	hv_merge_lose(merge, &useless);
	expect_at(0, HV_MERGE_FINAL, 0, 10);
	ck_assert_uint_eq(item.lost_before, 3);
	useless = item;
	hv_merge_lose(merge, &useless);
	expect(1, 20);
	ck_assert_uint_eq(item.lost_before, 0);
	expect(0, 30);
	ck_assert_uint_eq(item.lost_before, 4);
	ck_assert_uint_eq(hv_merge_lost(merge), 4);
}
END_TEST

START_TEST(unusable_records_among_gaps_add_up)
{
	uint64_t told = 0;

	start(1, 1024);
	for (unsigned i = 0; i < 40; i++) {
		set_head(0, head(0) + 1);
		add(0, 1000 + i);
	}
	for (unsigned i = 0; i < 40; i++) {
		struct hv_merge_item useless;

		ck_assert(next_item(0, HV_MERGE_FINAL));
		useless = item;
		if (i < 39)
			hv_merge_lose(merge, &useless);
		else
			told = item.lost_before;
	}
	ck_assert_uint_eq(told, 40 + 39);
	ck_assert_uint_eq(hv_merge_lost(merge), 40 + 39);
}
END_TEST

START_TEST(losses_of_many_gaps_add_up)
{
	uint64_t told = 0;

	start(1, 1024);
	for (unsigned i = 0; i < 40; i++) {
		set_head(0, head(0) + i);
		add(0, 1000 + i);
	}
	for (unsigned i = 0; i < 40; i++) {
		ck_assert(next_item(0, HV_MERGE_FINAL));
		told += item.lost_before;
		/* with too many gaps a loss may be reported early, never late */
		ck_assert_uint_ge(told, i * (i + 1) / 2);
	}
	set_head(0, 1025 * 1024);
	add(0, 5000);
	while (next_item(0, HV_MERGE_FINAL))
		told += item.lost_before;
	ck_assert_uint_eq(told, hv_merge_lost(merge));
}
END_TEST

/* A loss record, as a host buffer contains it. */
START_TEST(a_loss_record_is_reported)
{
	struct hv_record lost = hv_encode_lost(15, 41);

	start(1, 16);
	add(0, 10);
	hv_ring_put(&states[0], records[0], nr_slots, &lost, 1);
	add(0, 20);
	expect(0, 10);
	ck_assert_uint_eq(item.lost_before, 0);
	expect(0, 20);
	ck_assert_uint_eq(item.lost_before, 41);
	ck_assert_uint_eq(hv_merge_lost(merge), 41);
}
END_TEST

START_TEST(the_loss_count_saturates)
{
	struct hv_record lost = hv_encode_lost(1, UINT64_MAX);

	start(1, 16);
	for (unsigned n = 0; n < 5; n++) /* a record has 62 bits for the number */
		hv_ring_put(&states[0], records[0], nr_slots, &lost, 1);
	add(0, 2);
	expect(0, 2);
	ck_assert_uint_eq(item.lost_before, UINT64_MAX);
	ck_assert_uint_eq(hv_merge_lost(merge), UINT64_MAX);
}
END_TEST

START_TEST(records_of_unknown_kinds_count_as_lost)
{
	start(1, 8);
	add_kind(0, NO_KIND, 1);
	add_kind(0, 15, 2);
	add(0, 3);
	expect(0, 3);
	ck_assert_uint_eq(item.lost_before, 2);
	ck_assert_uint_eq(hv_merge_lost(merge), 2);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, the_next_function_of_a_ring_reports_loss);
	tcase_add_test(tc, the_record_after_a_gap_reports_loss);
	tcase_add_test(tc, an_unusable_record_counts_as_lost);
	tcase_add_test(tc, unusable_records_among_gaps_add_up);
	tcase_add_test(tc, losses_of_many_gaps_add_up);
	tcase_add_test(tc, a_loss_record_is_reported);
	tcase_add_test(tc, the_loss_count_saturates);
	tcase_add_test(tc, records_of_unknown_kinds_count_as_lost);
}

int main(void)
{
	return run_suite("merge_loss", add_tests);
}
