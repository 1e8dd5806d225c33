/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A record is read before its event is returned. If the parameters of the guest's clock change in
 * between, the duration of the call must stay the same. */
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/tasks/fake_tasks.h"
#include "tests/unit/tracer/events/one_ring.h"

#define CALL_TICKS 2000

static struct ft t;

/* Two ticks per ns, and OFFSET_NS at tick 0. */
static void set_clock(uint64_t offset_ns)
{
	uint64_t at = t.f.areas[0] + FK_PERCPU(FT_CYC2NS);

	fk_u64(&t.f, t.pv_sched_clock, FK_BASE + 0x300);
	fk_u32(&t.f, t.use_tsc, 1);
	fk_u32(&t.f, at, 1 << 10);
	fk_u32(&t.f, at + 4, 11);
	fk_u64(&t.f, at + 8, offset_ns);
}

/* Two calls that began at tick 0. Both records are read together with the first one. */
static void setup_calls(void)
{
	struct hv_event first;

	ft_init(&t);
	set_clock(1000);
	open_ring(&t.f.k);
	hv_buffer_use_clock(rings, HV_TRACE_CLOCK_GUEST);
	put(START, HV_RECORD_EXIT, CALL_TICKS, 0);
	put(START + 1, HV_RECORD_EXIT, CALL_TICKS, 0);
	publish(START + 2);
	expect(HV_EVENT_GRAPH_EXIT, &first);
	ck_assert_uint_eq(first.time_ns, 1000 + CALL_TICKS / 2);
	ck_assert_uint_eq(first.call_ns, 1000);
	set_clock(5000);
	hv_clocks_refresh(decoder->clocks);
}

static void teardown_calls(void)
{
	teardown();
	ft_deinit(&t);
}

START_TEST(a_step_of_the_clock_does_not_change_a_duration)
{
	struct hv_event event;

	expect(HV_EVENT_GRAPH_EXIT, &event);
	ck_assert_uint_eq(event.time_ns, 1000 + CALL_TICKS / 2);
	ck_assert_uint_eq(event.call_ns, 1000);
}
END_TEST

START_TEST(a_step_of_the_clock_does_not_change_the_duration_of_a_brief)
{
	struct hv_brief brief;

	ck_assert_uint_eq(hv_cursor_briefs(cursor, 1, HV_BRIEF_ALL, &brief), 1);
	ck_assert_uint_eq(brief.time_ns, 1000 + CALL_TICKS / 2);
	ck_assert_uint_eq(brief.call_ns, 1000);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup_calls, teardown_calls);
	tcase_add_test(tc, a_step_of_the_clock_does_not_change_a_duration);
	tcase_add_test(tc, a_step_of_the_clock_does_not_change_the_duration_of_a_brief);
}

int main(void)
{
	return run_suite("call_times", add_tests);
}
