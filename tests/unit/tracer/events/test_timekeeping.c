/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's clocks between samples of its timekeeper. */
#include "tracer/events/clocks.h"

#include <check.h>

#include "tests/lib/run_suite.h"

#define SHIFT 24
#define HALF  (1u << (SHIFT - 1)) /* two cycles per ns */

static struct hv_timekeeping t;
static const struct hv_timekeeper_moment *of;

static void teardown(void)
{
	hv_timekeeping_deinit(&t);
}

static void add(uint64_t cycles, uint64_t ns, uint32_t mult, uint64_t boot_ns)
{
	const struct hv_timekeeper_moment m = {
		.cycles = cycles, .base_ns = ns, .mult = mult, .shift = SHIFT, .boot_ns = boot_ns};

	hv_timekeeping_add(&t, &m);
}

static uint64_t ns(uint64_t cycles)
{
	return hv_timekeeping_ns(&t, cycles, &of);
}

/* As the guest computes it, including the carry of fractions of a ns. */
START_TEST(after_the_newest_moment_time_equals_the_guests)
{
	const struct hv_timekeeper_moment m = {.cycles = 1000,
					       .base_ns = 5000,
					       .shifted_ns = (7ull << SHIFT) + HALF,
					       .mult = HALF,
					       .shift = SHIFT};

	hv_timekeeping_add(&t, &m);
	ck_assert_uint_eq(ns(1000), 5007);
	ck_assert_uint_eq(ns(1001), 5008);
	ck_assert_uint_eq(ns(1002), 5008);
	ck_assert_uint_eq(ns(2000), 5507);
	ck_assert_uint_eq(ns(500), 4757);
}
END_TEST

/* NTP makes the clock faster at some time between two samples. */
START_TEST(ntp_corrections_are_interpolated)
{
	uint64_t last = 0;

	add(1000000, 10000000, HALF, 0);
	add(3000000, 11000500, HALF, 0); /* 500 ns more */
	add(5000000, 12000500, HALF, 0);
	ck_assert_uint_eq(ns(1000000), 10000000);
	ck_assert_uint_eq(ns(2000000), 10500250);
	ck_assert_uint_eq(ns(3000000), 11000500);
	ck_assert_uint_eq(ns(4000000), 11500500);
	for (uint64_t at = 900000; at < 5100000; at += 1001) {
		ck_assert_uint_ge(ns(at), last);
		last = ns(at);
	}
}
END_TEST

/* The counter continues for a second, the monotonic clock does not. */
START_TEST(a_suspend_is_in_boot_time_only)
{
	const uint64_t second = 1000000000;

	add(0, 0, HALF, 0);
	add(2 * second + 400000, 200000, HALF, second); /* 200 us of running, a second of suspend */
	ck_assert_uint_eq(ns(200000), 100000);
	ck_assert_uint_eq(of->boot_ns, 0);
	ck_assert_uint_eq(ns(2 * second + 300000), 150000);
	ck_assert_uint_eq(of->boot_ns, second);
	ck_assert_uint_eq(ns(2 * second + 400000), 200000);
	ck_assert_uint_eq(of->boot_ns, second);
}
END_TEST

START_TEST(a_reset_counter_drops_older_moments)
{
	add(1000000, 500000, HALF, 0);
	add(1000, 500500, HALF, 0);
	ck_assert_uint_eq(t.nr, 1);
	ck_assert_uint_eq(ns(3000), 501500);
}
END_TEST

START_TEST(old_moments_become_rarer)
{
	const uint64_t nr = 3 * HV_MOMENTS_MAX;

	for (uint64_t i = 0; i < nr; i++)
		add(i * 2000000, i * 1000000, HALF, 0);
	ck_assert_uint_le(t.nr, HV_MOMENTS_MAX);
	ck_assert_uint_eq(t.list[0].cycles, 0);
	ck_assert_uint_eq(t.list[t.nr - 1].cycles, (nr - 1) * 2000000);
	for (uint64_t i = 0; i < nr; i++)
		ck_assert_uint_eq(ns(i * 2000000 + 1000000), i * 1000000 + 500000);
}
END_TEST

/* Moments with untrusted values. */
START_TEST(hostile_moments_give_any_time)
{
	const struct hv_timekeeper_moment m[] = {
		{.cycles = 1, .base_ns = UINT64_MAX, .mult = UINT32_MAX, .shift = UINT32_MAX},
		{.cycles = 2, .shifted_ns = UINT64_MAX, .mult = UINT32_MAX, .shift = 127},
		{.cycles = UINT64_MAX, .base_ns = 1, .mult = 0, .shift = 0}};

	for (size_t i = 0; i < 3; i++)
		hv_timekeeping_add(&t, &m[i]);
	for (uint64_t at = 1; at; at *= 3) {
		ns(at);
		if (at > UINT64_MAX / 3)
			break;
	}
	ns(0);
	ns(UINT64_MAX);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, after_the_newest_moment_time_equals_the_guests);
	tcase_add_test(tc, ntp_corrections_are_interpolated);
	tcase_add_test(tc, a_suspend_is_in_boot_time_only);
	tcase_add_test(tc, a_reset_counter_drops_older_moments);
	tcase_add_test(tc, old_moments_become_rarer);
	tcase_add_test(tc, hostile_moments_give_any_time);
}

int main(void)
{
	return run_suite("timekeeping", add_tests);
}
