/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clocks of events, where the guest's counter cannot be followed from outside. */
#include <check.h>

#include "base/clock.h"
#include "patcher/patcher.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/fake_tasks.h"
#include "tracer/events/clocks.h"

static struct ft t;
static struct hv_hold_stat holds;
static struct hv_clocks *clocks;

/* Two ticks are a ns, and OFFSET_NS at tick 0. */
static void open_clocks(uint64_t offset_ns)
{
	uint64_t at = t.f.areas[0] + FK_PERCPU(FT_CYC2NS);
	struct hv_clock *guest;

	fk_u64(&t.f, t.pv_sched_clock, FK_BASE + 0x300);
	fk_u32(&t.f, t.use_tsc, 1);
	fk_u32(&t.f, at, 1 << 10);
	fk_u32(&t.f, at + 4, 11);
	fk_u64(&t.f, at + 8, offset_ns);
	ck_assert_ptr_null(hv_clock_new(&t.f.k, &guest));
	holds = (struct hv_hold_stat){0};
	clocks = hv_clocks_new(guest, NULL, &t.f.k, &holds);
}

static void setup(void)
{
	ft_init(&t);
}

static void teardown(void)
{
	hv_clocks_free(clocks);
	ft_deinit(&t);
}

START_TEST(an_event_has_the_time_of_the_clock_asked_for)
{
	open_clocks(1000);
	ck_assert_uint_eq(hv_clocks_event_ns(clocks, HV_TRACE_CLOCK_GUEST, 0, 2000), 2000);
	ck_assert_uint_eq(hv_clocks_event_ns(clocks, HV_TRACE_CLOCK_TSC, 0, 2001), 2001);
	ck_assert_int_eq(hv_clocks_guest_kind(clocks), HV_CLOCK_TSC);
	ck_assert(!hv_clocks_has_host(clocks));
}
END_TEST

START_TEST(the_first_tick_of_a_time_is_found)
{
	open_clocks(1000);
	ck_assert_uint_eq(hv_clocks_tsc_at(clocks, 0, 2000), 2000);
	ck_assert_uint_eq(hv_clocks_tsc_at(clocks, 0, 2001), 2002);
	ck_assert_uint_eq(hv_clocks_tsc_at(clocks, 0, 5), 0);
}
END_TEST

START_TEST(a_clock_that_began_late_is_searched_from_before_0)
{
	open_clocks(0 - UINT64_C(1000000));
	ck_assert_uint_eq(hv_clocks_tsc_at(clocks, 0, 500), 2001000);
}
END_TEST

/* The guest's run queues say 5000 s. A hold makes older knowledge invalid. */
START_TEST(now_is_what_the_run_queues_say)
{
	uint64_t now_ns = 0, tsc;

	open_clocks(0);
	ck_assert(!hv_clocks_now_ns(clocks, HV_TRACE_CLOCK_GUEST, &now_ns));
	fk_u64(&t.f, t.f.areas[0] + FK_PERCPU(FT_RQ) + FT_RQ_CLOCK, 5000 * HV_NS_PER_S);
	ck_assert(hv_clocks_now_ns(clocks, HV_TRACE_CLOCK_GUEST, &now_ns));
	ck_assert_uint_ge(now_ns, 5000 * HV_NS_PER_S);
	ck_assert(hv_clocks_now_ns(clocks, HV_TRACE_CLOCK_TSC, &tsc));
	ck_assert_uint_ge(tsc, 2 * now_ns);
	ck_assert(!hv_clocks_now_tsc(clocks, 0, &tsc));
	fk_u64(&t.f, t.f.areas[0] + FK_PERCPU(FT_RQ) + FT_RQ_CLOCK, 3 * HV_NS_PER_S);
	holds.nr++;
	ck_assert(hv_clocks_now_ns(clocks, HV_TRACE_CLOCK_GUEST, &now_ns));
	ck_assert_uint_ge(now_ns, 3 * HV_NS_PER_S);
	ck_assert_uint_lt(now_ns, 5000 * HV_NS_PER_S);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, an_event_has_the_time_of_the_clock_asked_for);
	tcase_add_test(tc, the_first_tick_of_a_time_is_found);
	tcase_add_test(tc, a_clock_that_began_late_is_searched_from_before_0);
	tcase_add_test(tc, now_is_what_the_run_queues_say);
}

int main(void)
{
	return run_suite("clocks", add_tests);
}
