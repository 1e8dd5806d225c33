/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The histogram of waits for a vCPU, from lists of events. */
#include <check.h>

#include "latency/wait_times.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/latency/planted.h"

static struct hv_sched tasks;
static struct hv_wait_times times;

static void begin(void)
{
	times = (struct hv_wait_times){0};
	hv_sched_init(&tasks, 2);
}

static void end(void)
{
	hv_sched_deinit(&tasks);
}

static void see(const struct hv_moment *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		hv_wait_times_see(&times, &tasks, &list[i]);
		hv_sched_follow(&tasks, &list[i]);
	}
}
#define SEE(...)                                                                                   \
	do {                                                                                       \
		const struct hv_moment list[] = {__VA_ARGS__};                                     \
		see(list, HV_ARRAY_LEN(list));                                                     \
	} while (0)

static uint64_t nr_waits(void)
{
	uint64_t nr = 0;

	for (size_t i = 0; i <= HV_WAIT_TIMES_BOUNDS; i++)
		nr += times.nr[i];
	return nr;
}

/* Returns the bucket for WAIT_NS. */
static size_t bucket_of(uint64_t wait_ns)
{
	size_t i = 0;

	while (i < HV_WAIT_TIMES_BOUNDS && hv_wait_times_bounds_ns[i] < wait_ns)
		i++;
	return i;
}

START_TEST(a_wait_is_counted_when_it_ends)
{
	SEE(sw(0, 1, 0, 0, 99), wake(0, 5, 99, 7));
	ck_assert_uint_eq(nr_waits(), 0);
	SEE(sw(0, 30, 99, 1, 7));
	ck_assert_uint_eq(nr_waits(), 1);
	ck_assert_uint_eq(times.nr[bucket_of(25 * MS)], 1);
	ck_assert_uint_eq(times.sum_ns, 25 * MS);
}
END_TEST

START_TEST(a_wait_after_a_preemption_is_counted)
{
	SEE(sw(0, 1, 0, 0, 99), wake(0, 2, 99, 7), sw(0, 2, 99, 0, 7), sw(0, 12, 7, 1, 99));
	ck_assert_uint_eq(nr_waits(), 2);
	ck_assert_uint_eq(times.nr[0], 1); /* 7 ran without a wait */
	ck_assert_uint_eq(times.sum_ns, 10 * MS);
}
END_TEST

START_TEST(sleep_and_idle_time_do_not_count)
{
	SEE(sw(0, 1, 0, 0, 7), sw(0, 2, 7, 1, 0), sw(0, 900, 0, 0, 8), sw(0, 901, 8, 1, 0));
	ck_assert_uint_eq(nr_waits(), 0);
}
END_TEST

START_TEST(woken_on_the_way_to_sleep)
{
	SEE(sw(0, 1, 0, 0, 7), wake(1, 5, 99, 7), sw(0, 6, 7, 1, 8), sw(1, 9, 99, 1, 7));
	ck_assert_uint_eq(nr_waits(), 1);
	ck_assert_uint_eq(times.sum_ns, 3 * MS);
}
END_TEST

START_TEST(waits_begun_before_a_loss_are_not_counted)
{
	SEE(wake(0, 1, 0, 7), sw(0, 2, 0, 0, 99), wake(0, 3, 99, 7));
	hv_sched_lose(&tasks, 0);
	SEE(sw(0, 9, 99, 1, 7));
	ck_assert_uint_eq(nr_waits(), 0);
}
END_TEST

START_TEST(each_bound_is_in_its_bucket)
{
	for (size_t i = 0; i < HV_WAIT_TIMES_BOUNDS; i++)
		for (unsigned more = 0; more < 2; more++) {
			struct hv_moment run = sw(0, 2, 99, 1, 7);

			end();
			begin();
			SEE(sw(0, 1, 0, 0, 99), wake(0, 2, 99, 7));
			run.time_ns += hv_wait_times_bounds_ns[i] + more;
			SEE(run);
			ck_assert_uint_eq(times.nr[i + more], 1);
			ck_assert_uint_eq(nr_waits(), 1);
		}
}
END_TEST

START_TEST(backward_time_counts_no_wait)
{
	SEE(sw(0, 1, 0, 0, 99), wake(0, 50, 99, 7), sw(0, 40, 99, 1, 7));
	ck_assert_uint_eq(nr_waits(), 0);
	ck_assert_uint_eq(times.sum_ns, 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, a_wait_is_counted_when_it_ends);
	tcase_add_test(tc, a_wait_after_a_preemption_is_counted);
	tcase_add_test(tc, sleep_and_idle_time_do_not_count);
	tcase_add_test(tc, woken_on_the_way_to_sleep);
	tcase_add_test(tc, waits_begun_before_a_loss_are_not_counted);
	tcase_add_test(tc, each_bound_is_in_its_bucket);
	tcase_add_test(tc, backward_time_counts_no_wait);
}

int main(void)
{
	return run_suite("wait_times", add_tests);
}
