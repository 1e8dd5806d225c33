/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the longest calls and the calls around them. */
#include <check.h>

#include "base/guard.h"
#include "latency/calls.h"
#include "tests/lib/run_suite.h"

static struct hv_calls calls;

static void begin(void)
{
	calls = (struct hv_calls){0};
}

/* FUNCTION returns; PID called it at FROM. */
static void returns(uint64_t function, uint32_t pid, uint64_t from, uint64_t to)
{
	hv_calls_see(&calls, &(struct hv_call){.function = function,
					       .from_ns = from,
					       .to_ns = to,
					       .task = hv_stall_task(pid, "a")});
}

START_TEST(the_longest_of_each_function_is_kept)
{
	returns(1, 7, 10, 20);
	returns(2, 7, 30, 90);
	returns(1, 8, 100, 150);
	returns(1, 7, 200, 210);
	hv_calls_sort(&calls);
	ck_assert_uint_eq(calls.nr, 2);
	ck_assert_uint_eq(calls.list[0].function, 2);
	ck_assert_uint_eq(calls.list[1].function, 1);
	ck_assert_uint_eq(calls.list[1].from_ns, 100);
	ck_assert_uint_eq(calls.list[1].task.pid, 8);
	ck_assert_uint_eq(calls.list[1].nr, 3);
	ck_assert_uint_eq(calls.nr_seen, 4);
}
END_TEST

/* A shorter call is not reported, although the host took more of its time. */
START_TEST(host_time_belongs_to_the_longest_call)
{
	struct hv_call call = {.function = 1, .from_ns = 10, .to_ns = 20, .host_ns = 9};

	hv_calls_see(&calls, &call);
	call = (struct hv_call){.function = 1, .from_ns = 30, .to_ns = 80, .host_ns = 3};
	hv_calls_see(&calls, &call);
	call = (struct hv_call){.function = 1, .from_ns = 90, .to_ns = 98, .host_ns = 8};
	hv_calls_see(&calls, &call);
	ck_assert_uint_eq(calls.nr, 1);
	ck_assert_uint_eq(calls.list[0].from_ns, 30);
	ck_assert_uint_eq(calls.list[0].host_ns, 3);
}
END_TEST

/* The calls around a call return later. Calls of other tasks and calls that began later are not
 * around it. */
START_TEST(callers_of_the_longest_call)
{
	returns(1, 7, 50, 60);
	returns(5, 8, 10, 70);
	returns(6, 7, 61, 70);
	returns(2, 7, 40, 80);
	returns(3, 7, 30, 90);
	returns(2, 7, 95, 96);
	hv_calls_sort(&calls);
	ck_assert_uint_eq(calls.list[3].function, 1);
	ck_assert_uint_eq(calls.list[3].nr_callers, 2);
	ck_assert_uint_eq(calls.list[3].callers[0], 2);
	ck_assert_uint_eq(calls.list[3].callers[1], 3);
	ck_assert_uint_eq(calls.list[0].nr_callers, 0);
}
END_TEST

/* A longer call that replaces a shorter one does not keep the calls around the shorter one. */
START_TEST(a_longer_call_replaces_the_callers)
{
	returns(1, 7, 50, 60);
	returns(2, 7, 40, 80);
	returns(1, 7, 100, 190);
	returns(3, 7, 90, 200);
	for (unsigned i = 0; i < calls.nr; i++) {
		if (calls.list[i].function != 1)
			continue;
		ck_assert_uint_eq(calls.list[i].nr_callers, 1);
		ck_assert_uint_eq(calls.list[i].callers[0], 3);
	}
}
END_TEST

START_TEST(recursion_is_bounded)
{
	returns(1, 7, 500, 501);
	for (uint64_t i = 1; i < 100; i++)
		returns(2, 7, 500 - i, 501 + i);
	ck_assert_uint_eq(calls.list[0].nr_callers, HV_CALL_CALLERS);
}
END_TEST

START_TEST(only_the_longest_calls_are_kept)
{
	for (uint64_t i = 1; i <= 2 * HV_CALLS_MAX; i++)
		returns(i, 7, 1000 * i, 1000 * i + i);
	returns(5000, 7, 1, 2);
	hv_calls_sort(&calls);
	ck_assert_uint_eq(calls.nr, HV_CALLS_MAX);
	ck_assert_uint_eq(calls.list[0].function, 2 * HV_CALLS_MAX);
	ck_assert_uint_eq(calls.list[HV_CALLS_MAX - 1].function, HV_CALLS_MAX + 1);
	ck_assert_uint_eq(calls.nr_skipped, HV_CALLS_MAX + 1);
}
END_TEST

START_TEST(a_call_with_a_negative_duration_is_ignored)
{
	returns(1, 7, 20, 10);
	ck_assert_uint_eq(calls.nr, 0);
	ck_assert_uint_eq(calls.nr_seen, 1);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, begin, NULL);
	tcase_add_test(tc, the_longest_of_each_function_is_kept);
	tcase_add_test(tc, host_time_belongs_to_the_longest_call);
	tcase_add_test(tc, callers_of_the_longest_call);
	tcase_add_test(tc, a_longer_call_replaces_the_callers);
	tcase_add_test(tc, recursion_is_bounded);
	tcase_add_test(tc, only_the_longest_calls_are_kept);
	tcase_add_test(tc, a_call_with_a_negative_duration_is_ignored);
}

int main(void)
{
	return run_suite("calls", add_tests);
}
