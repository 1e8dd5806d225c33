/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time spent in trampolines, estimated from rings, also with corrupt rings. */
#include <check.h>
#include <string.h>

#include "base/clock.h"
#include "kernel/kernel.h"
#include "ringbuf/ring.h"
#include "ringbuf/writer.h"
#include "tests/lib/run_suite.h"
#include "tracer/events/buffer.h"
#include "tracer/events/decoder.h"
#include "tracer/guest/tracee.h"
#include "tracer/load.h"
#include "tracer/session.h"

#define NR_SLOTS 4096

static struct hv_kernel kernel = {.core.as.arch = &hv_arch_x86_64};
static struct {
	struct hv_state state;
	struct hv_record records[NR_SLOTS];
} vcpus[2];
static struct hv_tracee tracee;
static struct hv_session session;
static struct hv_load *load;
static uint64_t now_ns;

static void setup(void)
{
	memset(vcpus, 0, sizeof(vcpus));
	tracee = (struct hv_tracee){
		.region = {.host = (uint8_t *)vcpus, .len_bytes = sizeof(vcpus)},
		.plan = {.nr_cpus = 2, .nr_slots = NR_SLOTS},
	};
	session = (struct hv_session){.kernel = &kernel, .tracee = &tracee};
	session.decoder = hv_decoder_new(&kernel, NULL, NULL, NULL);
	session.buffer = hv_buffer_over(session.decoder, 2);
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		vcpus[cpu].state.head = hv_ring_head_at(0, NR_SLOTS);
		hv_buffer_set_ring(session.buffer, cpu, &vcpus[cpu].state,
				   sizeof(vcpus[cpu].records), sizeof(vcpus[cpu].records));
	}
	load = hv_load_new(&session);
	now_ns = 1;
}

static void teardown(void)
{
	hv_load_free(load);
	hv_buffer_unref(session.buffer);
	hv_decoder_free(session.decoder);
}

static void put(unsigned cpu, unsigned kind, unsigned function, unsigned nr)
{
	struct hv_record record = {
		.word = {1, function * 256, 0, (uint64_t)kind << HV_RECORD_KIND_SHIFT}};

	for (unsigned i = 0; i < nr; i++)
		hv_ring_put(&vcpus[cpu].state, vcpus[cpu].records, NR_SLOTS, &record, 1);
}

/* Measures after a second. */
static void look(struct hv_load_view *ret)
{
	hv_load_look(load, now_ns, ret);
	now_ns += HV_NS_PER_S;
}

START_TEST(the_first_look_only_begins)
{
	HV_AUTO_LOAD_VIEW struct hv_load_view view = {0};

	put(0, HV_RECORD_FUNCTION, 1, 100);
	look(&view);
	ck_assert_uint_eq(view.ppm, 0);
	look(&view);
	ck_assert_uint_eq(view.ppm, 0);
}
END_TEST

START_TEST(the_busiest_vcpu_counts)
{
	HV_AUTO_LOAD_VIEW struct hv_load_view first = {0}, view = {0}, twice = {0};

	look(&first);
	put(0, HV_RECORD_FUNCTION, 1, 500);
	put(1, HV_RECORD_FUNCTION, 1, 300);
	put(1, HV_RECORD_FUNCTION, 2, 500);
	put(1, HV_RECORD_TASK, 0, 200);
	look(&view);
	ck_assert_uint_eq(view.cpu, 1);
	ck_assert_uint_gt(view.ppm, 0);
	ck_assert_uint_eq(view.taken_ns, view.ppm * 1000); /* of a second */
	ck_assert_uint_eq(view.nr, 2);
	ck_assert_uint_gt(view.functions[0].cost, view.functions[1].cost);
	ck_assert_uint_eq(view.functions[0].cost * 3, view.functions[1].cost * 5);
	ck_assert_uint_lt(view.functions[0].cost + view.functions[1].cost, view.cost);
	put(1, HV_RECORD_FUNCTION, 2, 2000);
	look(&twice);
	ck_assert_uint_eq(twice.nr, 1);
	ck_assert_uint_gt(twice.ppm, view.ppm);
}
END_TEST

/* Reading the counter takes one to a thousand nanoseconds on any host. */
START_TEST(load_is_records_times_cost)
{
	HV_AUTO_LOAD_VIEW struct hv_load_view first = {0}, view = {0}, calls = {0};

	look(&first);
	for (unsigned i = 0; i < 100; i++)
		put(0, HV_RECORD_FUNCTION, 1, 1000);
	look(&view);
	ck_assert_uint_ge(view.ppm, 100 * 7 / 10);
	ck_assert_uint_le(view.ppm, 100000);
	for (unsigned i = 0; i < 100; i++)
		put(0, i % 2 ? HV_RECORD_EXIT : HV_RECORD_ENTRY, 1, 1000);
	look(&calls);
	ck_assert_uint_gt(calls.ppm, view.ppm * 3 / 2);
	ck_assert_uint_lt(calls.ppm, view.ppm * 3);
}
END_TEST

START_TEST(hostile_heads_give_a_bounded_load)
{
	static const uint64_t heads[] = {0, 1, UINT64_MAX, UINT64_MAX / 2, 1ull << 63};
	HV_AUTO_LOAD_VIEW struct hv_load_view first = {0};

	look(&first);
	for (unsigned i = 0; i < HV_ARRAY_LEN(heads); i++) {
		HV_AUTO_LOAD_VIEW struct hv_load_view view = {0};

		put(0, HV_RECORD_FUNCTION, 1, 5000);
		vcpus[0].state.head = heads[i];
		memset(vcpus[0].records, (int)i * 77, sizeof(vcpus[0].records) / 2);
		look(&view);
		ck_assert_uint_le(view.nr, NR_SLOTS);
		ck_assert_uint_le(view.ppm, UINT64_C(10000000000));
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_first_look_only_begins);
	tcase_add_test(tc, the_busiest_vcpu_counts);
	tcase_add_test(tc, load_is_records_times_cost);
	tcase_add_test(tc, hostile_heads_give_a_bounded_load);
}

int main(void)
{
	return run_suite("load", add_tests);
}
