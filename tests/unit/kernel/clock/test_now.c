/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's current clock value, from the run queues of a fake kernel. */
#include <check.h>

#include "kernel/clock/clock.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/tasks/fake_tasks.h"

#define MS 1000000ull

static struct ft t;
static struct hv_now n;

static void setup(void)
{
	ft_init(&t);
	t.f.k.layout.nr_cpus = FK_NR_CPUS;
	hv_now_init(&n, &t.f.k);
}

static void teardown(void)
{
	ft_deinit(&t);
}

static void tick(unsigned cpu, uint64_t clock)
{
	fk_u64(&t.f, t.f.areas[cpu] + FK_PERCPU(FT_RQ) + FT_RQ_CLOCK, clock);
}

static uint64_t now_at(uint64_t host_ns)
{
	uint64_t guest_ns = 0;

	ck_assert(hv_now_at(&n, host_ns, &guest_ns));
	return guest_ns;
}

START_TEST(the_newest_queue_of_all_looks_counts)
{
	uint64_t guest_ns;

	ck_assert(!hv_now_at(&n, 0, &guest_ns));
	tick(0, 100 * MS);
	tick(1, 103 * MS);
	hv_now_sample(&n, 1000 * MS); /* host - guest: 897 ms */
	ck_assert_uint_eq(now_at(1000 * MS), 103 * MS);
	hv_now_sample(&n, 1002 * MS); /* an old tick gives no new value */
	ck_assert_uint_eq(now_at(1002 * MS), 105 * MS);
	tick(0, 110 * MS);
	hv_now_sample(&n, 1004 * MS); /* host - guest: 894 ms */
	ck_assert_uint_eq(now_at(1010 * MS), 116 * MS);
}
END_TEST

START_TEST(the_scheduler_s_offset_is_taken_off)
{
	tick(0, 100 * MS);
	fk_u64(&t.f, t.sched_offset, 30 * MS);
	hv_now_sample(&n, 1000 * MS);
	ck_assert_uint_eq(now_at(1000 * MS), 70 * MS);
}
END_TEST

START_TEST(a_guest_that_was_stopped_is_forgotten)
{
	tick(0, 100 * MS);
	hv_now_sample(&n, 1000 * MS);
	tick(0, 101 * MS);
	hv_now_sample(&n, 1500 * MS);
	ck_assert_uint_eq(now_at(1500 * MS), 600 * MS);
	hv_now_restart(&n);
	hv_now_sample(&n, 1500 * MS);
	ck_assert_uint_eq(now_at(1500 * MS), 101 * MS);
}
END_TEST

START_TEST(old_samples_are_dropped)
{
	uint64_t host_ns = 1000 * MS;

	tick(0, 900 * MS);
	hv_now_sample(&n, host_ns);
	for (unsigned i = 1; i <= 2; i++) {
		host_ns += HV_NOW_WINDOW_NS;
		tick(0, host_ns - 500 * MS);
		hv_now_sample(&n, host_ns);
		ck_assert_uint_eq(now_at(host_ns), host_ns - (i == 1 ? 100 : 500) * MS);
	}
}
END_TEST

START_TEST(a_kernel_without_types_gives_no_time)
{
	uint64_t guest_ns;

	hv_btf_free(t.f.k.core.btf);
	t.f.k.core.btf = NULL;
	hv_now_init(&n, &t.f.k);
	hv_now_sample(&n, 1000);
	ck_assert(!hv_now_at(&n, 1000, &guest_ns));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_newest_queue_of_all_looks_counts);
	tcase_add_test(tc, the_scheduler_s_offset_is_taken_off);
	tcase_add_test(tc, a_guest_that_was_stopped_is_forgotten);
	tcase_add_test(tc, old_samples_are_dropped);
	tcase_add_test(tc, a_kernel_without_types_gives_no_time);
}

int main(void)
{
	return run_suite("now", add_tests);
}
