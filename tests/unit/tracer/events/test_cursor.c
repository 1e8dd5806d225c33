/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cursors over a ring that a hostile guest writes. The number of records of an event is limited,
 * and records that are separated by a loss or a rewind do not belong together. */
#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/events/one_ring.h"
#include "tracer/events/host_event.h"

static unsigned nr_records(void)
{
	unsigned nr;

	hv_cursor_records(cursor, &nr);
	return nr;
}

/* The guest writes the record before an exit and all words of a stack to the same positions. */
START_TEST(a_stack_has_no_more_records_than_there_is_room_for)
{
	uint64_t p = START + 300;
	struct hv_event event;

	for (uint64_t i = START; i < p - 1; i++)
		put(i, HV_RECORD_FUNCTION, 10, 0);
	put(p - 1, HV_RECORD_MORE, 20, 0);
	publish(p);
	while (next(&event))
		;
	rewind_to(p - 128);
	for (unsigned i = 0; i <= HV_STACK_RECORDS_MAX; i++)
		put(p - 128 + i, HV_RECORD_WORDS, 30, i);
	put(p, HV_RECORD_STACK, 30, HV_STACK_RECORDS_MAX);
	publish(p + 1);
	expect(HV_EVENT_STACK, &event);
	ck_assert_uint_eq(nr_records(), 1 + 1 + HV_STACK_RECORDS_MAX);
}
END_TEST

START_TEST(a_return_value_belongs_to_the_next_exit)
{
	struct hv_event event;

	put(START, HV_RECORD_MORE, 10, 0);
	put(START + 1, HV_RECORD_EXIT, 10, 0);
	put(START + 2, HV_RECORD_MORE, 20, 0);
	put(START + 3, HV_RECORD_ENTRY, 20, 0);
	publish(START + 4);
	expect(HV_EVENT_GRAPH_EXIT, &event);
	ck_assert(event.has_retval);
	ck_assert_uint_eq(nr_records(), 2);
	expect(HV_EVENT_GRAPH_ENTRY, &event);
	ck_assert_uint_eq(nr_records(), 1);
}
END_TEST

/* Records from before a rewind of the guest's head do not belong to records that the guest writes
 * there later. */
START_TEST(a_rewind_separates_adjacent_records)
{
	struct hv_event event;

	put(START, HV_RECORD_MORE, 10, 0);
	publish(START + 1);
	ck_assert(!next(&event));
	rewind_to(START - 1);
	put(START - 1, HV_RECORD_FUNCTION, 5, 0);
	publish(START + 2);
	put(START, HV_RECORD_FUNCTION, 5, 0);
	put(START + 1, HV_RECORD_EXIT, 10, 0);
	expect(HV_EVENT_FUNCTION, &event);
	expect(HV_EVENT_FUNCTION, &event);
	expect(HV_EVENT_GRAPH_EXIT, &event);
	ck_assert(!event.has_retval);
	ck_assert_uint_eq(nr_records(), 1);
}
END_TEST

START_TEST(a_loss_separates_the_words_of_a_stack)
{
	struct hv_event event;
	uint64_t p = START;

	for (unsigned i = 0; i < 4; i++)
		put(p + i, HV_RECORD_WORDS, 10, i);
	publish(p + 4);
	ck_assert(!next(&event));
	/* the same position again, after a loss */
	rewind_to(p + 3);
	put(p + 3, HV_RECORD_FUNCTION, 5, 0);
	put(p + 4, HV_RECORD_STACK, 10, 3);
	publish(p + 5);
	expect(HV_EVENT_FUNCTION, &event);
	expect(HV_EVENT_STACK, &event);
	ck_assert_uint_eq(nr_records(), 1);
}
END_TEST

/* Records contain only the low half of a kernel text address. */
START_TEST(addresses_are_extended_to_kernel_text)
{
	struct hv_event event;

	put(START, HV_RECORD_FUNCTION, 10, 0);
	block.records[START].word[1] |= 0x81234560 + hv_arch_x86_64.site_len_bytes;
	publish(START + 1);
	expect(HV_EVENT_FUNCTION, &event);
	ck_assert_uint_eq(event.ip.v, 0xffffffff81234560);
}
END_TEST

/* -- the guest's own events -------------------------------------------------------------------- */

#define ID 314

/* Writes data records from P on, and the event's record after them, as the trampoline does. */
static void put_guests(uint64_t p, uint64_t tsc, unsigned len_bytes)
{
	unsigned nr = (len_bytes - HV_ENTRY_HEADER_LEN + HV_DATA_LEN - 1) / HV_DATA_LEN;

	for (unsigned i = 0; i < nr; i++) {
		put(p + i, HV_RECORD_DATA, tsc, i);
		block.records[(p + i) % NR_SLOTS].word[1] ^= tsc + i;
		block.records[(p + i) % NR_SLOTS].word[3] ^= 0x89abcdef;
	}
	put(p + nr, HV_RECORD_EVENT, tsc, nr);
	block.records[(p + nr) % NR_SLOTS].word[1] ^= ID | len_bytes << HV_EVENT_LEN_SHIFT;
	block.records[(p + nr) % NR_SLOTS].word[2] ^= UINT64_C(4711) << HV_CALL_PID_SHIFT;
	publish(p + nr + 1);
}

static void check_entry(const struct hv_event *e, uint64_t tsc, unsigned len_bytes)
{
	uint32_t pid;
	uint16_t id;

	ck_assert_uint_eq(e->id, ID);
	ck_assert_uint_eq(e->entry.len_bytes, len_bytes);
	memcpy(&id, e->entry.data, sizeof(id));
	memcpy(&pid, e->entry.data + 4, sizeof(pid));
	ck_assert_uint_eq(id, ID);
	ck_assert_uint_eq(pid, 4711);
	for (unsigned off = HV_ENTRY_HEADER_LEN; off + 8 <= len_bytes; off += HV_DATA_LEN) {
		uint64_t word;

		memcpy(&word, e->entry.data + off, sizeof(word));
		ck_assert_uint_eq(word, tsc + off / HV_DATA_LEN);
	}
}

START_TEST(a_guest_event_has_its_entry)
{
	static const unsigned lens[] = {8, 9, 28, 29, 64, HV_ENTRY_LEN_MAX};
	struct hv_event event;
	uint64_t p = START;

	for (unsigned i = 0; i < HV_ARRAY_LEN(lens); i++) {
		put_guests(p, 100 + i, lens[i]);
		p = published();
		expect(HV_EVENT_GUESTS, &event);
		ck_assert_uint_eq(event.pid, 4711);
		ck_assert_uint_eq(event.lost_before, 0);
		check_entry(&event, 100 + i, lens[i]);
	}
	ck_assert_uint_eq(nr_records(), HV_DATA_RECORDS_MAX + 1);
	ck_assert(!next(&event));
}
END_TEST

/* An event that the host makes when the stack arrives has the context of the original event and the
 * time of the stack. */
START_TEST(an_event_completed_by_its_stack)
{
	static const uint8_t entry[40] = {[8] = 0x42, [39] = 0x17};
	struct hv_cursor *late = hv_cursor_new(host, -1, HV_CURSOR_FOLLOW);
	struct hv_event event, made;
	struct hv_record of;

	put_guests(START, 100, 64);
	block.records[(published() - 1) % NR_SLOTS].word[2] ^= 3; /* migration-disable count */
	expect(HV_EVENT_GUESTS, &event);
	of = hv_cursor_last_record(cursor);
	made = event;
	made.id = ID + 1;
	made.entry = (struct hv_span){entry, sizeof(entry)};
	put(published(), HV_RECORD_STACK, 150, 0);
	publish(published() + 1);
	ck_assert_int_eq(hv_cursor_next(cursor, &event), HV_NEXT_EVENT);
	hv_buffer_put_late(host, &of, cursor, &made);
	ck_assert_int_eq(hv_cursor_next(late, &event), HV_NEXT_EVENT);
	check_entry(&event, 100, 64);
	ck_assert_int_eq(hv_cursor_next(late, &event), HV_NEXT_EVENT);
	ck_assert_int_eq(event.kind, HV_EVENT_GUESTS);
	ck_assert_uint_eq(event.id, ID + 1);
	ck_assert_uint_eq(event.time_ns, 150);
	ck_assert_uint_eq(event.pid, 4711);
	ck_assert_uint_eq(event.migrate_depth, 3);
	ck_assert_uint_eq(event.entry.len_bytes, sizeof(entry));
	ck_assert_mem_eq(event.entry.data + HV_ENTRY_HEADER_LEN, entry + HV_ENTRY_HEADER_LEN,
			 sizeof(entry) - HV_ENTRY_HEADER_LEN);
	hv_cursor_free(late);
}
END_TEST

/* A guest cannot write host events into its rings: they count as lost. */
START_TEST(host_events_in_guest_rings_are_lost)
{
	struct hv_event event;

	put_guests(START, 100, 64);
	block.records[(published() - 1) % NR_SLOTS].word[1] ^= ID ^ HV_HOST_ID_FIRST;
	put_guests(published(), 200, 64);
	expect(HV_EVENT_GUESTS, &event);
	check_entry(&event, 200, 64);
	ck_assert_uint_eq(event.lost_before, 1);
	ck_assert(!next(&event));
}
END_TEST

/* A line in latency format is written after the next event was taken. */
START_TEST(an_event_keeps_its_entry_while_the_next_one_is_taken)
{
	struct hv_event first, second;

	put_guests(START, 100, 64);
	put_guests(published(), 200, 64);
	expect(HV_EVENT_GUESTS, &first);
	expect(HV_EVENT_GUESTS, &second);
	check_entry(&first, 100, 64);
	check_entry(&second, 200, 64);
}
END_TEST

static void check_lost(uint64_t nr)
{
	struct hv_cursor *dump = hv_cursor_new(rings, -1, HV_CURSOR_DUMP);
	struct hv_buffer_stat stat;
	struct hv_event event;
	uint64_t lost = 0;

	while (hv_cursor_next(dump, &event) == HV_NEXT_EVENT)
		lost += event.lost_before;
	hv_cursor_free(dump);
	ck_assert_uint_eq(lost, nr);
	hv_buffer_stat(rings, -1, NULL, &stat);
	ck_assert_uint_eq(stat.overrun, nr);
}

/* Pages contain no names, so their cursor does not look for names. */
START_TEST(a_cursor_can_skip_names)
{
	struct hv_cursor *unnamed = hv_cursor_new(rings, -1, HV_CURSOR_UNNAMED);
	struct hv_event event;

	put(START, HV_RECORD_FUNCTION, 10, 0);
	publish(START + 1);
	expect(HV_EVENT_FUNCTION, &event);
	ck_assert_str_eq(event.comm, HV_COMM_IDLE);
	ck_assert_int_eq(hv_cursor_next(unnamed, &event), HV_NEXT_EVENT);
	ck_assert_uint_eq(event.time_ns, 10);
	ck_assert_str_eq(event.comm, "");
	hv_cursor_free(unnamed);
}
END_TEST

/* The event is not shown, and the next event reports it as lost. */
START_TEST(an_event_without_all_its_data_is_lost)
{
	struct hv_event event;
	uint64_t p = START;

	put_guests(p, 100, 68);			/* 3 data records */
	put(p + 1, HV_RECORD_FUNCTION, 100, 0); /* in place of the second */
	put_guests(published(), 200, 68);
	p = published() - 4;
	put(p, HV_RECORD_TASK, 200, 0); /* in place of the first */
	put_guests(published(), 300, 68);
	expect(HV_EVENT_FUNCTION, &event);
	ck_assert_uint_eq(event.lost_before, 0);
	expect(HV_EVENT_GUESTS, &event);
	ck_assert_uint_eq(event.lost_before, 2);
	check_entry(&event, 300, 68);
	check_lost(2);
}
END_TEST

START_TEST(an_event_with_a_wrong_length_is_lost)
{
	static const unsigned lens[] = {0, 7, 28, 49, HV_ENTRY_LEN_MAX, 0xffff};
	struct hv_event event;

	put_guests(START, 100, 48);
	for (unsigned i = 0; i < HV_ARRAY_LEN(lens); i++) {
		uint64_t at;

		put_guests(published(), 200 + i, 48); /* 2 data records */
		at = (published() - 1) % NR_SLOTS;
		block.records[at].word[1] ^= (48u ^ lens[i]) << HV_EVENT_LEN_SHIFT;
	}
	put(published(), HV_RECORD_FUNCTION, 300, 0);
	publish(published() + 1);
	expect(HV_EVENT_GUESTS, &event);
	expect(HV_EVENT_FUNCTION, &event);
	ck_assert_uint_eq(event.lost_before, HV_ARRAY_LEN(lens));
	check_lost(HV_ARRAY_LEN(lens));
}
END_TEST

START_TEST(data_without_an_event_is_ignored)
{
	struct hv_event event;

	put_guests(START, 100, 68);
	publish(published() - 1);
	put(published(), HV_RECORD_FUNCTION, 150, 0);
	publish(published() + 1);
	put_guests(published(), 200, 68);
	expect(HV_EVENT_FUNCTION, &event);
	expect(HV_EVENT_GUESTS, &event);
	check_entry(&event, 200, 68);
	ck_assert_uint_eq(nr_records(), 4);
}
END_TEST

/* Data from before a rewind of the guest's head, and the event's record after it. */
START_TEST(a_rewind_separates_data_and_event)
{
	struct hv_event event;

	for (unsigned i = 0; i < 3; i++)
		put(START + i, HV_RECORD_DATA, 100, i);
	publish(START + 3);
	ck_assert(!next(&event));
	rewind_to(START + 2);
	put(START + 2, HV_RECORD_FUNCTION, 90, 0);
	put_guests(START + 3, 100, 68);
	put(START + 3, HV_RECORD_FUNCTION, 90, 0);
	put(START + 4, HV_RECORD_FUNCTION, 90, 0);
	put(START + 5, HV_RECORD_FUNCTION, 90, 0);
	put(START + 7, HV_RECORD_FUNCTION, 110, 0);
	publish(START + 8);
	for (unsigned i = 0; i < 5; i++) {
		expect(HV_EVENT_FUNCTION, &event);
		/* The rewind loses an event as well. */
		ck_assert_uint_eq(event.lost_before > 0, i == 0 || i == 4);
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_stack_has_no_more_records_than_there_is_room_for);
	tcase_add_test(tc, a_return_value_belongs_to_the_next_exit);
	tcase_add_test(tc, a_cursor_can_skip_names);
	tcase_add_test(tc, a_rewind_separates_adjacent_records);
	tcase_add_test(tc, a_loss_separates_the_words_of_a_stack);
	tcase_add_test(tc, addresses_are_extended_to_kernel_text);
	tcase_add_test(tc, a_guest_event_has_its_entry);
	tcase_add_test(tc, an_event_completed_by_its_stack);
	tcase_add_test(tc, host_events_in_guest_rings_are_lost);
	tcase_add_test(tc, an_event_keeps_its_entry_while_the_next_one_is_taken);
	tcase_add_test(tc, an_event_without_all_its_data_is_lost);
	tcase_add_test(tc, an_event_with_a_wrong_length_is_lost);
	tcase_add_test(tc, data_without_an_event_is_ignored);
	tcase_add_test(tc, a_rewind_separates_data_and_event);
}

int main(void)
{
	return run_suite("cursor", add_tests);
}
