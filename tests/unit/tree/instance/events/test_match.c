/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The open calls of one instance, among calls that it does not match, and with lost returns. */
#include <check.h>

#include "tests/lib/run_suite.h"
#include "tree/instance/events/match.h"

#define SWITCH UINT64_C(0x9000)
#define NONE   -1

static struct hv_open_calls *calls;

static void set_up(void)
{
	calls = hv_open_calls_new((struct hv_gva_range){{SWITCH}, {SWITCH + 0x100}});
}

static void tear_down(void)
{
	hv_open_calls_free(calls);
}

static struct hv_event event(unsigned cpu, uint32_t pid, uint64_t ip, unsigned depth)
{
	return (struct hv_event){.cpu = cpu, .pid = pid, .ip = {ip}, .depth = (uint16_t)depth};
}

/* Returns the depth in the instance of the open call around E. */
static int around(const struct hv_event *e)
{
	const struct hv_open_call *call = hv_open_calls_around(calls, e);

	return call ? call->depth : NONE;
}

/* Returns the depth of the open call around a call that the instance does not match. */
static int others(unsigned cpu, uint32_t pid, uint64_t ip, unsigned depth)
{
	struct hv_event e = event(cpu, pid, ip, depth);

	return around(&e);
}

/* Enters a call from PARENT that the instance matches. Returns the depth of the call around it. */
static int own_of(unsigned cpu, uint32_t pid, uint64_t ip, unsigned depth, uint64_t parent)
{
	struct hv_event e = event(cpu, pid, ip, depth);
	int found;

	e.parent_ip = hv_gva(parent);
	found = around(&e);
	hv_open_calls_add(calls, &e, (struct hv_open_call){.depth = (uint16_t)(found + 1)});
	return found;
}

static int own(unsigned cpu, uint32_t pid, uint64_t ip, unsigned depth)
{
	return own_of(cpu, pid, ip, depth, 0x100);
}

/* Returns the depth in the instance of the call that ends, or NONE if the call is not in the
 * instance. */
static int ends(unsigned cpu, uint32_t pid, uint64_t ip, unsigned depth)
{
	struct hv_event e = event(cpu, pid, ip, depth);
	struct hv_open_call call;

	return hv_open_calls_end(calls, &e, &call) ? call.depth : NONE;
}

START_TEST(depths_count_own_calls)
{
	ck_assert_int_eq(others(0, 7, 0x1000, 0), NONE);
	ck_assert_int_eq(own(0, 7, 0x2000, 1), NONE);
	ck_assert_int_eq(others(0, 7, 0x3000, 2), 0);
	ck_assert_int_eq(own(1, 7, 0x4000, 3), 0);
	ck_assert_int_eq(others(1, 7, 0x4000, 4), 1);
	ck_assert_int_eq(ends(1, 7, 0x4000, 4), NONE);
	ck_assert_int_eq(ends(1, 7, 0x4000, 3), 1);
	ck_assert_int_eq(ends(1, 7, 0x3000, 2), NONE);
	ck_assert_int_eq(ends(0, 7, 0x2000, 1), 0);
	ck_assert_int_eq(ends(0, 7, 0x1000, 0), NONE);
}
END_TEST

/* Idle tasks share a pid, but each belongs to one vCPU. */
START_TEST(calls_are_matched_per_task)
{
	ck_assert_int_eq(own(0, 7, 0x1000, 0), NONE);
	ck_assert_int_eq(own(0, 8, 0x1000, 0), NONE);
	ck_assert_int_eq(own(0, 0, 0x1000, 0), NONE);
	ck_assert_int_eq(own(1, 0, 0x2000, 0), NONE);
	ck_assert_int_eq(own(0, 0, 0x3000, 1), 0);
	ck_assert_int_eq(own(0, 4103, 0x3000, 1), NONE);
	ck_assert_int_eq(ends(1, 0, 0x2000, 0), 0);
	ck_assert_int_eq(ends(0, 0, 0x3000, 1), 1);
	ck_assert_int_eq(ends(0, 8, 0x1000, 0), 0);
	ck_assert_int_eq(ends(1, 7, 0x1000, 0), 0);
	ck_assert_int_eq(ends(0, 4103, 0x3000, 1), 0);
}
END_TEST

START_TEST(lost_returns_end_with_the_next_call)
{
	own(0, 7, 0x1000, 0);
	own(0, 7, 0x2000, 1);
	own(0, 7, 0x3000, 2);
	ck_assert_int_eq(others(0, 7, 0x4000, 1), 0);
	ck_assert_int_eq(ends(0, 7, 0x2000, 1), NONE);
	own(0, 7, 0x3000, 2);
	own(0, 7, 0x4000, 3);
	ck_assert_int_eq(ends(0, 7, 0x1000, 0), 0);
	ck_assert_int_eq(own(0, 7, 0x5000, 1), NONE);
	/* a call whose entry was lost */
	ck_assert_int_eq(ends(0, 7, 0x6000, 1), NONE);
	ck_assert_int_eq(ends(0, 7, 0x5000, 1), NONE);
}
END_TEST

/* Until __switch_to() has finished, its calls have the previous task's pid and the next task's
 * stack depth. */
START_TEST(a_switch_is_on_another_stack)
{
	own(0, 7, 0x1000, 0);
	own(0, 7, 0x2000, 1);
	own(0, 7, 0x3000, 2);
	ck_assert_int_eq(own_of(0, 7, 0x4000, 1, SWITCH + 0x20), NONE);
	ck_assert_int_eq(own(0, 7, 0x5000, 2), 0);
	ck_assert_int_eq(ends(0, 7, 0x5000, 2), 1);
	ck_assert_int_eq(ends(0, 7, 0x4000, 1), 0);
	ck_assert_int_eq(own(0, 8, 0x6000, 1), NONE);
	ck_assert_int_eq(ends(1, 7, 0x3000, 2), 2);
	/* the return of this call is lost */
	own_of(1, 7, 0x4000, 5, SWITCH + 0x20);
	own(1, 8, 0x4000, 2);
	ck_assert_int_eq(ends(1, 7, 0x2000, 1), 1);
	ck_assert_int_eq(ends(0, 7, 0x1000, 0), 0);
}
END_TEST

/* More tasks than the limit: all are forgotten. */
START_TEST(a_guest_that_claims_any_number_of_tasks)
{
	for (uint32_t pid = 1; pid < 3u << 18; pid++)
		own(0, pid, 0x1000, 0);
	ck_assert_int_eq(ends(0, (3u << 18) - 1, 0x1000, 0), 0);
	ck_assert_int_eq(ends(0, 1, 0x1000, 0), NONE);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, depths_count_own_calls);
	tcase_add_test(tc, calls_are_matched_per_task);
	tcase_add_test(tc, lost_returns_end_with_the_next_call);
	tcase_add_test(tc, a_switch_is_on_another_stack);
	tcase_add_test(tc, a_guest_that_claims_any_number_of_tasks);
}

int main(void)
{
	return run_suite("match", add_tests);
}
