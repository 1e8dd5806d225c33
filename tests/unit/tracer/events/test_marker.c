/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The host's markers among the events of a guest's ring. */
#include <check.h>

#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/events/one_ring.h"
#include "tracer/events/decoder.h"
#include "tracer/events/host_buffer.h"

static void record(uint64_t position, unsigned kind, uint64_t tsc)
{
	put(position, kind, tsc, 0);
	publish(position + 1);
}

static uint64_t put_marker(const char *text)
{
	return hv_buffer_put_marker(rings, HV_EVENT_PRINT, text, strlen(text)).tsc;
}

static void expect_mark(const char *text)
{
	struct hv_event event;

	expect(HV_EVENT_PRINT, &event);
	ck_assert_uint_eq(event.cpu, 0);
	ck_assert_uint_eq(event.text_len, strlen(text));
	ck_assert_mem_eq(event.text, text, event.text_len);
}

/* A guest adds to the head of its ring without a lock, so no other writer is possible. */
START_TEST(the_guests_ring_is_not_written)
{
	static struct hv_record before[NR_SLOTS];

	record(START, HV_RECORD_FUNCTION, 1000);
	memcpy(before, block.records, sizeof(before));
	put_marker("a");
	ck_assert_uint_eq(published(), START + 1);
	ck_assert_mem_eq(before, block.records, sizeof(before));
}
END_TEST

/* A marker comes after all events recorded before it, even if the guest's clock is not known. */
START_TEST(a_mark_comes_after_earlier_events)
{
	struct hv_event event;

	record(START, HV_RECORD_FUNCTION, 1000);
	ck_assert_uint_gt(put_marker("a"), 1000);
	put_marker("b");
	record(START + 1, HV_RECORD_FUNCTION, put_marker("c") + 1);
	expect(HV_EVENT_FUNCTION, &event);
	expect_mark("a");
	expect_mark("b");
	expect_mark("c");
	expect(HV_EVENT_FUNCTION, &event);
	ck_assert(!next(&event));
}
END_TEST

/* Like the kernel, the tree shows a call in one line only if no event is between the call and its
 * return. */
START_TEST(a_mark_separates_a_call_from_its_return)
{
	struct hv_event event;
	uint64_t tsc;

	record(START, HV_RECORD_ENTRY, 1000);
	record(START + 1, HV_RECORD_EXIT, 1001);
	expect(HV_EVENT_GRAPH_ENTRY, &event);
	ck_assert(hv_cursor_peek(cursor, 0, &event));
	expect(HV_EVENT_GRAPH_EXIT, &event);

	record(START + 2, HV_RECORD_ENTRY, 1010);
	tsc = put_marker("a");
	record(START + 3, HV_RECORD_EXIT, tsc + 1);
	expect(HV_EVENT_GRAPH_ENTRY, &event);
	ck_assert(!hv_cursor_peek(cursor, 0, &event));
	expect_mark("a");
	ck_assert(hv_cursor_peek(cursor, 0, &event));
	hv_cursor_skip(cursor, 0);
	ck_assert(!next(&event));
}
END_TEST

START_TEST(marks_written_by_the_guest_are_lost)
{
	struct hv_event event;

	put_marker("a");
	expect_mark("a");
	record(START, HV_RECORD_MARK, put_marker("b"));
	record(START + 1, HV_RECORD_FUNCTION, UINT64_C(1) << 40);
	expect_mark("b");
	expect(HV_EVENT_FUNCTION, &event);
	ck_assert_uint_eq(event.lost_before, 1);
}
END_TEST

static uint64_t entries(struct hv_buffer *b, int only_cpu)
{
	struct hv_buffer_stat stat;

	hv_buffer_stat(b, only_cpu, NULL, &stat);
	return stat.entries;
}

START_TEST(marks_belong_to_vcpu_0)
{
	record(START, HV_RECORD_FUNCTION, 1000);
	put_marker("a");
	ck_assert_uint_eq(entries(rings, -1), 2);
	ck_assert_uint_eq(entries(rings, 0), 2);
	hv_buffer_clear(rings, 0);
	ck_assert_uint_eq(entries(rings, 0), 0);
	put_marker("b");
	put_marker("c");
	hv_buffer_move(rings, 0, host);
	ck_assert_uint_eq(entries(rings, 0), 0);
	ck_assert_uint_eq(entries(host, 0), 2);
	hv_buffer_put_marker(host, HV_EVENT_PRINT, "d", 1);
	ck_assert_uint_eq(entries(host, 0), 3);
}
END_TEST

/* If there are too many markers, the oldest are lost, and no event is lost. */
START_TEST(too_many_marks)
{
	struct hv_buffer_stat stat;
	unsigned nr = HV_MARKER_TEXTS_MAX + 1000;

	record(START, HV_RECORD_FUNCTION, 1000);
	for (unsigned i = 0; i < nr; i++)
		put_marker("a");
	hv_buffer_stat(rings, -1, NULL, &stat);
	ck_assert_uint_lt(stat.entries, nr);
	ck_assert_uint_eq(stat.entries + stat.overrun, nr + 1);
	ck_assert_uint_eq(stat.oldest_ns, 1000);
}
END_TEST

/* A program that waits until vCPU 0 is filled to a percentage gets markers, too. */
START_TEST(marks_fill_vcpu_0)
{
	uint64_t size_bytes = hv_buffer_size(rings, 0);

	ck_assert_uint_eq(hv_buffer_unread(rings, 0), 0);
	record(START, HV_RECORD_FUNCTION, 1000);
	put_marker("a");
	put_marker("b");
	ck_assert_uint_eq(hv_buffer_unread(rings, 0), 3 * sizeof(struct hv_record));
	for (unsigned i = 0; i < HV_MARKER_TEXTS_MAX; i++)
		put_marker("c");
	ck_assert_uint_eq(hv_buffer_unread(rings, 0), size_bytes);
	hv_buffer_clear(rings, 0);
	ck_assert_uint_eq(hv_buffer_unread(rings, 0), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_guests_ring_is_not_written);
	tcase_add_test(tc, a_mark_comes_after_earlier_events);
	tcase_add_test(tc, a_mark_separates_a_call_from_its_return);
	tcase_add_test(tc, marks_written_by_the_guest_are_lost);
	tcase_add_test(tc, marks_belong_to_vcpu_0);
	tcase_add_test(tc, too_many_marks);
	tcase_add_test(tc, marks_fill_vcpu_0);
}

int main(void)
{
	return run_suite("marker", add_tests);
}
