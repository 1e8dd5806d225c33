/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Event clocks in a guest whose counter the host cannot follow. */
#include <check.h>

#include "base/clock.h"
#include "patcher/patcher.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/tasks/fake_tasks.h"
#include "tracer/events/clocks.h"

static struct ft t;
static struct hv_hold_stat holds;
static struct hv_clocks *clocks;

/* Two ticks per ns, and OFFSET_NS at tick 0. */
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

START_TEST(event_times_use_the_requested_clock)
{
	open_clocks(1000);
	ck_assert_uint_eq(hv_clocks_event_ns(clocks, HV_TRACE_CLOCK_GUEST, 0, 2000), 2000);
	ck_assert_uint_eq(hv_clocks_event_ns(clocks, HV_TRACE_CLOCK_TSC, 0, 2001), 2001);
	ck_assert_int_eq(hv_clocks_guest_kind(clocks), HV_CLOCK_TSC);
	ck_assert(!hv_clocks_has_host(clocks));
	ck_assert_str_eq(hv_clocks_why_not(clocks, HV_TRACE_CLOCK_HOST),
			 "cannot tell how the guest's counter follows the host's");
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

/* The guest's run queues have the clock 5000 s. A hold invalidates older values. */
START_TEST(now_follows_the_run_queue_clocks)
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

/* 4000 ns at 8000 ticks, and two ticks per ns from then on. */
static void keep_time(const char *clocksource)
{
	uint64_t fast = t.tk_fast + 8, core = t.tk_core + 8;
	uint64_t clock = fk_alloc(&t.f, 24), name = fk_alloc(&t.f, 16);

	fk_str(&t.f, name, clocksource);
	fk_u64(&t.f, clock + 16, name);
	for (unsigned i = 0; i < 2; i++, fast += FT_TK_BASE_BYTES) {
		fk_u64(&t.f, fast, clock);
		fk_u64(&t.f, fast + 16, 8000);
		fk_u32(&t.f, fast + 24, 512);
		fk_u32(&t.f, fast + 28, 10);
		fk_u64(&t.f, fast + 40, 4000);
	}
	fk_u64(&t.f, core, clock);
	fk_u64(&t.f, core + FT_TK_BASE_BYTES, 100);
	fk_u64(&t.f, core + FT_TK_BASE_BYTES + 8, 37);
}

static uint64_t at(enum hv_trace_clock clock, uint64_t tsc)
{
	ck_assert_ptr_null(hv_clocks_why_not(clocks, clock));
	return hv_clocks_event_ns(clocks, clock, 0, tsc);
}

START_TEST(the_timekeepers_clocks_are_computed)
{
	keep_time("tsc");
	open_clocks(1000);
	ck_assert_uint_eq(at(HV_TRACE_CLOCK_MONO, 10000), 5000);
	ck_assert_uint_eq(at(HV_TRACE_CLOCK_BOOT, 10000), 5100);
	ck_assert_uint_eq(at(HV_TRACE_CLOCK_TAI, 10000), 5037);
	fk_u64(&t.f, t.sched_offset, 11);
	hv_clocks_sample(clocks);
	ck_assert_uint_eq(at(HV_TRACE_CLOCK_GLOBAL, 10000), 1000 + 5000 + 11);
	ck_assert_int_eq(hv_clocks_default(clocks), HV_TRACE_CLOCK_GUEST);
}
END_TEST

START_TEST(another_clocksource_means_no_mono_clock)
{
	keep_time("acpi_pm");
	open_clocks(1000);
	ck_assert_ptr_nonnull(strstr(hv_clocks_why_not(clocks, HV_TRACE_CLOCK_MONO),
				     "the guest's timekeeping uses another counter than its trace "
				     "clock, or has an unknown layout"));
	ck_assert_ptr_nonnull(hv_clocks_why_not(clocks, HV_TRACE_CLOCK_BOOT));
	ck_assert_ptr_null(hv_clocks_why_not(clocks, HV_TRACE_CLOCK_GLOBAL));
}
END_TEST

/* Sets CPU's last sched_clock() value, RAW_NS, and the timekeeper's time, GTOD_NS. */
static void tick(unsigned cpu, uint64_t raw_ns, uint64_t gtod_ns)
{
	fk_u64(&t.f, t.f.areas[cpu] + FT_TICKS, raw_ns);
	fk_u64(&t.f, t.f.areas[cpu] + FT_TICKS + 8, gtod_ns);
	hv_clocks_sample(clocks);
}

/* The guest's clock is 4 ms late. The last sample is taken while a tick is being written. */
START_TEST(a_clock_that_is_not_stable_follows_the_ticks)
{
	const uint64_t ms = 1000000;

	fk_u32(&t.f, t.clock_stable, 0);
	open_clocks(0);
	ck_assert_ptr_nonnull(hv_clocks_why_not(clocks, HV_TRACE_CLOCK_GLOBAL));
	tick(0, 100 * ms, 104 * ms);
	ck_assert_int_eq(hv_clocks_default(clocks), HV_TRACE_CLOCK_GLOBAL);
	ck_assert_uint_eq(at(HV_TRACE_CLOCK_GLOBAL, 2 * 101 * ms), 105 * ms);
	tick(1, 200 * ms, 204 * ms + 2000); /* a clock that is 20 ppm fast */
	ck_assert_uint_eq(at(HV_TRACE_CLOCK_GLOBAL, 2 * 150 * ms), 154 * ms + 1000);
	tick(1, 204 * ms, 212 * ms);
	ck_assert_uint_eq(at(HV_TRACE_CLOCK_GLOBAL, 2 * 206 * ms), 210 * ms + 2000);
	tick(1, 304 * ms, 312 * ms); /* the clock is stable again */
	ck_assert_uint_eq(at(HV_TRACE_CLOCK_GLOBAL, 2 * 306 * ms), 314 * ms);
	tick(1, 404 * ms, UINT64_MAX / 2); /* an untrusted value */
	tick(1, 1, UINT64_MAX);
	tick(1, UINT64_MAX, 1);
	at(HV_TRACE_CLOCK_GLOBAL, 2 * 306 * ms);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, event_times_use_the_requested_clock);
	tcase_add_test(tc, the_first_tick_of_a_time_is_found);
	tcase_add_test(tc, a_clock_that_began_late_is_searched_from_before_0);
	tcase_add_test(tc, now_follows_the_run_queue_clocks);
	tcase_add_test(tc, the_timekeepers_clocks_are_computed);
	tcase_add_test(tc, another_clocksource_means_no_mono_clock);
	tcase_add_test(tc, a_clock_that_is_not_stable_follows_the_ticks);
}

int main(void)
{
	return run_suite("clocks", add_tests);
}
