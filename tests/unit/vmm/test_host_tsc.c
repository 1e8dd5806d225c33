/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts the counter to the host's clock with samples of both. */
#include <check.h>

#include "tests/lib/run_suite.h"
#include "vmm/tsc.h"

static struct hv_host_time t;

static void add(uint64_t ticks, uint64_t ns)
{
	hv_host_time_add(&t, (struct hv_host_moment){ticks, ns});
}

static uint64_t at(uint64_t ticks)
{
	uint64_t ns = 0;

	ck_assert(hv_host_time_at(&t, ticks, &ns));
	return ns;
}

static void setup(void)
{
	t = (struct hv_host_time){0};
}

START_TEST(one_sample_gives_no_rate)
{
	uint64_t ns;

	ck_assert(!hv_host_time_at(&t, 5, &ns));
	add(1000, 500);
	ck_assert(!hv_host_time_at(&t, 5, &ns));
}
END_TEST

START_TEST(between_samples)
{
	add(1000, 500);
	add(3000, 1500);
	add(5000, 3500); /* the clock was slewed */
	ck_assert_uint_eq(at(1000), 500);
	ck_assert_uint_eq(at(2000), 1000);
	ck_assert_uint_eq(at(3000), 1500);
	ck_assert_uint_eq(at(4000), 2500);
	ck_assert_uint_eq(at(5000), 3500);
}
END_TEST

START_TEST(outside_of_all_samples)
{
	add(2000, 1000);
	add(4000, 2000);
	ck_assert_uint_eq(at(1000), 500);
	ck_assert_uint_eq(at(6000), 3000);
	add(6000, 3200); /* (3200 - 1000) / (6000 - 2000) from here on */
	ck_assert_uint_eq(at(8000), 3200 + 1100);
}
END_TEST

START_TEST(large_numbers_keep_every_tick)
{
	const uint64_t base = UINT64_C(0xf000000000000000), rate = 3;

	add(base, 1000);
	add(base + 3000000000 * rate, 3000001000);
	ck_assert_uint_eq(at(base + 1500000001 * rate), 1500001001);
	ck_assert_uint_eq(at(base + 3600000000001 * rate), 3600000001001);
}
END_TEST

START_TEST(backward_samples_are_dropped)
{
	add(1000, 500);
	add(1000, 600);
	add(2000, 500);
	add(900, 900);
	ck_assert_uint_eq(t.nr, 1);
}
END_TEST

START_TEST(the_oldest_sample_is_dropped)
{
	for (uint64_t i = 1; i <= HV_HOST_TIME_SAMPLES + 10; i++)
		add(i * 1000, i * 500);
	ck_assert_uint_eq(t.nr, HV_HOST_TIME_SAMPLES);
	for (uint64_t i = 1; i <= HV_HOST_TIME_SAMPLES + 20; i++)
		ck_assert_uint_eq(at(i * 1000 + 200), i * 500 + 100);
}
END_TEST

START_TEST(samples_of_the_real_counter)
{
	uint64_t ticks;

	if (!hv_host_ticks(&ticks))
		return;
	hv_host_time_sample(&t);
	hv_host_time_sample(&t);
	ck_assert_uint_eq(t.nr, 2);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, one_sample_gives_no_rate);
	tcase_add_test(tc, between_samples);
	tcase_add_test(tc, outside_of_all_samples);
	tcase_add_test(tc, large_numbers_keep_every_tick);
	tcase_add_test(tc, backward_samples_are_dropped);
	tcase_add_test(tc, the_oldest_sample_is_dropped);
	tcase_add_test(tc, samples_of_the_real_counter);
}

int main(void)
{
	return run_suite("host_tsc", add_tests);
}
