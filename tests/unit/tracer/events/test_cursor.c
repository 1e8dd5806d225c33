/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cursors over a ring that a hostile guest writes. The number of records of an event is bounded,
 * and records that are separated by a loss or a rewind do not belong together. */
#include <check.h>

#include "kernel/kernel.h"
#include "patcher/patcher.h"
#include "ringbuf/ring.h"
#include "tests/lib/run_suite.h"
#include "tracer/events/buffer_state.h"
#include "tracer/events/cursor.h"
#include "tracer/events/decoder.h"
#include "tracer/events/host_event.h"
#include "tracer/events/host_buffer.h"

#define NR_SLOTS 1024
#define START	 512 /* records that were there before */

static struct hv_kernel kernel;
static struct hv_decoder *decoder;
static struct hv_buffer *rings;
static struct {
	struct hv_state state;
	struct hv_record records[NR_SLOTS];
} block;
static struct hv_buffer *host;
static struct hv_cursor *cursor;

static void setup(void)
{
	static const struct hv_hold_stat holds;
	static const struct hv_gva_range stubs;
	const uint64_t size_bytes = sizeof(block.records);
	struct hv_clock *clock;

	kernel = (struct hv_kernel){.core.as.arch = &hv_arch_x86_64};
	ck_assert_ptr_null(hv_clock_new(&kernel, &clock));
	decoder = hv_decoder_new(&kernel, hv_clocks_new(clock, NULL, &kernel, &holds),
				 hv_names_new(&kernel), hv_callers_new(&kernel, &stubs));
	block.state = (struct hv_state){.head = hv_ring_head_at(START, NR_SLOTS)};
	memset(block.records, 0, sizeof(block.records));
	rings = hv_buffer_over(decoder, 1);
	hv_buffer_set_ring(rings, 0, &block.state, sizeof(block.records), sizeof(block.records));
	hv_buffer_use_clock(rings, HV_TRACE_CLOCK_TSC);
	hv_buffer_clear(rings, -1);
	ck_assert_ptr_null(hv_buffer_new(rings, &size_bytes, &host));
	hv_buffer_use_clock(host, HV_TRACE_CLOCK_TSC);
	cursor = hv_cursor_new(rings, -1, HV_CURSOR_FOLLOW);
}

static void teardown(void)
{
	hv_cursor_free(cursor);
	hv_buffer_unref(host);
	hv_buffer_unref(rings);
	hv_callers_free(decoder->callers);
	hv_names_free(decoder->names);
	hv_clocks_free(decoder->clocks);
	hv_decoder_free(decoder);
}

static void put(uint64_t position, unsigned kind, uint64_t tsc, unsigned number)
{
	uint64_t key = hv_record_key(position, NR_SLOTS);
	uint64_t word2 = kind == HV_RECORD_MORE ? UINT64_C(1) << HV_MORE_VALUE_SHIFT : 0;
	uint64_t word3 = (uint64_t)kind << HV_RECORD_KIND_SHIFT | (uint64_t)number
									  << HV_RECORD_DEPTH_SHIFT;

	block.records[position % NR_SLOTS] =
		(struct hv_record){{tsc ^ key, key, word2 ^ key, word3 ^ key}};
}

/* HEAD: the next position to be reserved. */
static void publish(uint64_t head)
{
	__atomic_store_n(&block.state.head, hv_ring_head_at(head, NR_SLOTS), __ATOMIC_RELEASE);
}

static uint64_t published(void)
{
	return block.state.head / sizeof(struct hv_record) - NR_SLOTS;
}

/* Reads the next event, and puts it into a buffer of the host, too, as a drain does. False: there
 * is none. */
static bool next(struct hv_event *ret)
{
	if (hv_cursor_next(cursor, ret) != HV_NEXT_EVENT)
		return false;
	if (ret->kind != HV_EVENT_COMMAND)
		hv_buffer_put(host, cursor, ret);
	return true;
}

/* The merge waits for HV_MERGE_WAIT_NS for records that are reserved and not written. */
static void expect(enum hv_event_kind kind, struct hv_event *ret)
{
	while (!next(ret))
		usleep(1000);
	ck_assert_int_eq(ret->kind, kind);
}

/* The reader waits for records that never come, and then sees a head that is lower than its
 * position. */
static void rewind_to(uint64_t head)
{
	struct hv_event event;

	publish(published() + 10);
	ck_assert(!next(&event));
	publish(head);
	ck_assert(!next(&event));
}

static unsigned nr_records(void)
{
	unsigned nr;

	hv_cursor_records(cursor, &nr);
	return nr;
}

/* The guest writes the record before an exit and all words of a stack to the same position. */
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

START_TEST(more_belongs_to_the_exit_behind_it)
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

/* Records from before the guest took back its head do not belong to those that it writes there
 * afterwards. */
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
	/* the same position once more, behind a loss */
	rewind_to(p + 3);
	put(p + 3, HV_RECORD_FUNCTION, 5, 0);
	put(p + 4, HV_RECORD_STACK, 10, 3);
	publish(p + 5);
	expect(HV_EVENT_FUNCTION, &event);
	expect(HV_EVENT_STACK, &event);
	ck_assert_uint_eq(nr_records(), 1);
}
END_TEST

/* Records have only the low half of an address of kernel text. */
START_TEST(an_address_is_one_of_kernel_text)
{
	struct hv_event event;

	put(START, HV_RECORD_FUNCTION, 10, 0);
	block.records[START].word[1] |= 0x81234560 + hv_arch_x86_64.site_len_bytes;
	publish(START + 1);
	expect(HV_EVENT_FUNCTION, &event);
	ck_assert_uint_eq(event.ip.v, 0xffffffff81234560);
}
END_TEST

/* -- the guest's own events ---------------------------------------------------------------------
 */

#define ID 314

/* Writes records of data from P on, and the record of the event behind them, as the stub would. */
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

START_TEST(an_event_of_the_guests_has_its_entry)
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

/* In its own rings a guest has no events of the host, whatever it writes there. */
START_TEST(an_event_of_the_hosts_by_the_guest_is_lost)
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

/* A line in latency format is written after the event that follows was taken. */
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

/* Pages have no names, so what makes them does not look for any. */
START_TEST(a_cursor_may_leave_names_out)
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

/* It is no event, counts as lost, and the next one says so. */
START_TEST(an_event_without_all_its_data_is_lost)
{
	struct hv_event event;
	uint64_t p = START;

	put_guests(p, 100, 68);			/* 3 records of data */
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

START_TEST(an_event_whose_length_is_not_that_of_its_data_is_lost)
{
	static const unsigned lens[] = {0, 7, 28, 49, HV_ENTRY_LEN_MAX, 0xffff};
	struct hv_event event;

	put_guests(START, 100, 48);
	for (unsigned i = 0; i < HV_ARRAY_LEN(lens); i++) {
		uint64_t at;

		put_guests(published(), 200 + i, 48); /* 2 records of data */
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

START_TEST(data_without_an_event_are_nothing)
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

/* Data from before the guest took back its head, and the event of others. */
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
		/* The rewind costs one, too. */
		ck_assert_uint_eq(event.lost_before > 0, i == 0 || i == 4);
	}
}
END_TEST

/* A record with any bits, but of a kind that a hostile guest may choose, too. */
static void put_any(uint64_t position, unsigned kind, uint64_t *seed)
{
	uint64_t key = hv_record_key(position, NR_SLOTS), words[4];

	for (unsigned i = 0; i < 4; i++) {
		*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
		words[i] = *seed >> 2;
	}
	words[0] = 8 * position + (words[0] % 64 ? 0 : 11); /* that one is younger than the next */
	if (kind == HV_RECORD_EXIT && words[2] & 1)
		words[1] = words[0] - (words[1] & 63);
	/* Contexts repeat, while the flags of the thread change. */
	words[3] &= UINT64_C(0x7) << HV_RECORD_DEPTH_SHIFT | 0x80000000;
	words[3] |= (uint64_t)kind << HV_RECORD_KIND_SHIFT;
	for (unsigned i = 0; i < 4; i++)
		block.records[position % NR_SLOTS].word[i] = words[i] ^ key;
}

static void check_brief(const struct hv_brief *b, const struct hv_event *e)
{
	ck_assert_uint_eq(b->kind, e->kind);
	ck_assert_uint_eq(b->time_ns, e->time_ns);
	ck_assert_uint_eq(b->ip.v, e->ip.v);
	ck_assert_uint_eq(b->parent_ip.v, e->parent_ip.v);
	ck_assert_uint_eq(b->call_ns, e->call_ns);
	ck_assert_uint_eq(b->pid, e->pid);
	ck_assert_uint_eq(b->depth, e->depth);
	ck_assert_uint_eq(b->flags, e->flags);
	ck_assert_uint_eq(b->preempt_depth, e->preempt_depth);
	ck_assert_uint_eq(b->migrate_depth, e->migrate_depth);
	ck_assert_uint_eq(b->lazy_depth, e->lazy_depth);
	/* There is no room for these in brief. */
	ck_assert_uint_eq(e->lost_before, 0);
	ck_assert_uint_eq(e->overrun, 0);
	ck_assert_uint_eq(e->has_retval, 0);
	ck_assert_uint_eq(e->host_ns, 0);
	ck_assert_uint_eq(e->of_section, 0);
}

/* Puts records of all kinds, mostly calls and returns, into the ring. */
static void put_random(uint64_t nr)
{
	static const unsigned kinds[] = {HV_RECORD_FUNCTION, HV_RECORD_ENTRY, HV_RECORD_EXIT,
					 HV_RECORD_FUNCTION, HV_RECORD_ENTRY, HV_RECORD_EXIT,
					 HV_RECORD_MORE,     HV_RECORD_TASK,  HV_RECORD_SECTION,
					 HV_RECORD_STACK,    HV_RECORD_WORDS, HV_RECORD_COMMAND};
	uint64_t seed = 11;

	decoder->decode.handler = hv_gva(0xffffffff80001000);
	decoder->decode.context_bits = (struct hv_context_bits){.need = 8, .lazy = 16};
	for (uint64_t i = 0; i < nr; i++) {
		unsigned other = (unsigned)(seed >> 59) % HV_ARRAY_LEN(kinds);

		put_any(START + i, kinds[i / 16 % 3 ? i % 3 : other], &seed);
	}
	publish(START + nr);
}

/* Takes what CURSOR shows of KINDS in brief, all but LEAVE of it, and the same events from OTHER.
 */
static size_t take_same(struct hv_cursor *other, unsigned kinds, size_t leave)
{
	struct hv_brief briefs[HV_BRIEFS_MAX];
	size_t nr = hv_cursor_briefs(cursor, HV_BRIEFS_MAX, kinds, briefs);
	struct hv_event event;

	nr -= nr > leave ? leave : 0;
	for (size_t i = 0; i < nr; i++) {
		ck_assert_int_eq(hv_cursor_next(other, &event), HV_NEXT_EVENT);
		ck_assert(kinds & HV_BRIEF_KIND(event.kind));
		check_brief(&briefs[i], &event);
	}
	hv_cursor_take_briefs(cursor, nr);
	return nr;
}

START_TEST(events_in_brief_are_those_that_come)
{
	static const unsigned kinds[] = {HV_BRIEF_ALL, HV_BRIEF_KIND(HV_EVENT_GRAPH_EXIT)};
	const unsigned of = kinds[_i % 2];
	struct hv_cursor *other = hv_cursor_new(rings, -1, HV_CURSOR_UNNAMED);
	size_t nr = 0, nr_brief = 0;
	struct hv_event a, b;
	struct hv_buffer_stat stat;

	hv_cursor_free(cursor);
	cursor = hv_cursor_new(rings, -1, HV_CURSOR_UNNAMED);
	put_random(NR_SLOTS - START);
	hv_buffer_use_clock(rings, _i < 2 ? HV_TRACE_CLOCK_TSC : HV_TRACE_CLOCK_GUEST);
	while (hv_cursor_next(cursor, &a) == HV_NEXT_EVENT) {
		ck_assert_int_eq(hv_cursor_next(other, &b), HV_NEXT_EVENT);
		ck_assert_int_eq(a.kind, b.kind);
		ck_assert_uint_eq(a.time_ns, b.time_ns);
		nr++;
		nr_brief += take_same(other, of, nr % 3);
	}
	ck_assert_int_ne(hv_cursor_next(other, &b), HV_NEXT_EVENT);
	ck_assert_uint_gt(nr_brief, 20);
	hv_cursor_consume(cursor);
	hv_buffer_stat(rings, -1, NULL, &stat);
	ck_assert_uint_eq(stat.read, nr + nr_brief);
	ck_assert_uint_eq(stat.entries, 0);
	hv_cursor_free(other);
}
END_TEST

/* A look ahead has taken the record before the exit, which in brief would be forgotten. */
START_TEST(an_exit_with_more_is_not_shown_in_brief)
{
	struct hv_brief briefs[HV_BRIEFS_MAX];
	struct hv_event event;

	put(START, HV_RECORD_FUNCTION, 10, 0);
	put(START + 1, HV_RECORD_MORE, 20, 0);
	put(START + 2, HV_RECORD_EXIT, 20, 0);
	publish(START + 3);
	expect(HV_EVENT_FUNCTION, &event);
	ck_assert_uint_eq(hv_cursor_briefs(cursor, HV_BRIEFS_MAX, HV_BRIEF_ALL, briefs), 0);
	ck_assert(hv_cursor_peek(cursor, 0, &event));
	ck_assert_uint_eq(hv_cursor_briefs(cursor, HV_BRIEFS_MAX, HV_BRIEF_ALL, briefs), 0);
	expect(HV_EVENT_GRAPH_EXIT, &event);
	ck_assert_uint_eq(event.has_retval, 1);
}
END_TEST

/* What was cleared is not shown any more. */
START_TEST(a_clear_ends_what_is_shown_in_brief)
{
	struct hv_brief briefs[HV_BRIEFS_MAX];
	struct hv_event event;

	for (unsigned i = 0; i < 8; i++)
		put(START + i, HV_RECORD_FUNCTION, 10 + i, 0);
	publish(START + 8);
	expect(HV_EVENT_FUNCTION, &event);
	ck_assert_uint_eq(hv_cursor_briefs(cursor, HV_BRIEFS_MAX, HV_BRIEF_ALL, briefs), 7);
	ck_assert_uint_eq(hv_cursor_briefs(cursor, 3, HV_BRIEF_ALL, briefs), 3);
	hv_cursor_take_briefs(cursor, 2);
	ck_assert_uint_eq(hv_cursor_briefs(cursor, 1, HV_BRIEF_ALL, briefs), 1);
	ck_assert_uint_eq(briefs[0].time_ns, 13);
	hv_buffer_clear(rings, -1);
	ck_assert_uint_eq(hv_cursor_briefs(cursor, HV_BRIEFS_MAX, HV_BRIEF_ALL, briefs), 0);
	ck_assert(!next(&event));
}
END_TEST

static void put_task(uint64_t position, uint32_t pid, const char *comm)
{
	uint64_t key = hv_record_key(position, NR_SLOTS);
	char name[HV_COMM_LEN] = {0};
	struct hv_record r;

	strncpy(name, comm, sizeof(name) - 1);
	r = hv_encode_task(8 * position, pid, pid, name);
	for (unsigned i = 0; i < HV_ARRAY_LEN(r.word); i++)
		r.word[i] ^= key;
	block.records[position % NR_SLOTS] = r;
}

static void put_call_of(uint64_t position, uint32_t pid)
{
	struct hv_record *r = &block.records[position % NR_SLOTS];

	put(position, position % 5 ? HV_RECORD_FUNCTION : HV_RECORD_ENTRY, 8 * position,
	    position % 7);
	r->word[2] ^= (uint64_t)pid << HV_CALL_PID_SHIFT;
}

/* Calls of tasks with names, of idle ones, and of tasks of which nothing is known. */
static void put_calls_of_tasks(uint64_t from, uint64_t end)
{
	static const uint32_t pids[] = {5, 5, 5, 6, 5, 0, 6, 6, 7, 5, 5};

	put_task(from, 5, "five");
	put_task(from + 1, 6, "six");
	for (uint64_t at = from + 2; at < end; at++) {
		if (at % 50 == 0)
			put_task(at, 6, at % 100 ? "six" : "sechs");
		else
			put_call_of(at, pids[at % HV_ARRAY_LEN(pids)]);
	}
	publish(end);
}

static bool is_call(unsigned kind)
{
	return kind == HV_EVENT_GRAPH_ENTRY || kind == HV_EVENT_GRAPH_EXIT;
}

/* Puts the next event of CURSOR into TO, unless it is the Nth of three. */
static bool put_next(struct hv_buffer *to, struct hv_cursor *c, uint64_t *n)
{
	struct hv_event event;

	if (hv_cursor_next(c, &event) != HV_NEXT_EVENT)
		return false;
	event.depth ^= is_call(event.kind);
	if (event.kind != HV_EVENT_COMMAND && ++*n % 3)
		hv_buffer_put(to, c, &event);
	return true;
}

/* The same of what is shown in brief. */
static size_t put_shown(struct hv_buffer *to, struct hv_cursor *c, uint64_t *n)
{
	struct hv_brief briefs[HV_BRIEFS_MAX];
	size_t nr = hv_cursor_briefs(c, HV_BRIEFS_MAX, HV_BRIEF_ALL, briefs);
	uint64_t which = 0;

	for (size_t i = 0; i < nr; i++) {
		briefs[i].depth ^= is_call(briefs[i].kind);
		which |= (uint64_t)(++*n % 3 != 0) << i;
	}
	hv_buffer_put_briefs(to, c, briefs, which);
	hv_cursor_take_briefs(c, nr);
	return nr;
}

/* Byte for byte, whether what finds no room overwrites or is dropped. */
START_TEST(what_is_put_in_brief_is_what_is_put)
{
	const uint64_t size_bytes = 100 * sizeof(struct hv_record);
	struct hv_cursor *a = hv_cursor_new(rings, -1, HV_CURSOR_DRAIN);
	struct hv_cursor *b = hv_cursor_new(rings, -1, HV_CURSOR_DRAIN);
	uint64_t nr_a = 0, nr_b = 0, nr_brief = 0, nr;
	struct hv_buffer *other;

	hv_buffer_unref(host);
	ck_assert_ptr_null(hv_buffer_new(rings, &size_bytes, &host));
	ck_assert_ptr_null(hv_buffer_new(rings, &size_bytes, &other));
	hv_buffer_when_full(host, _i ? HV_FULL_DROPS : HV_FULL_OVERWRITES);
	hv_buffer_when_full(other, _i ? HV_FULL_DROPS : HV_FULL_OVERWRITES);
	put_random(100);
	put_calls_of_tasks(START + 100, NR_SLOTS);
	while (put_next(other, a, &nr_a))
		;
	do
		while ((nr = put_shown(host, b, &nr_b)))
			nr_brief += nr;
	while (put_next(host, b, &nr_b));
	ck_assert_uint_eq(nr_a, nr_b);
	ck_assert_uint_gt(nr_brief, 300);
	ck_assert_int_eq(host->cpus[0].nr_dropped != 0, _i);
	ck_assert_uint_eq(host->cpus[0].nr_dropped, other->cpus[0].nr_dropped);
	ck_assert_mem_eq(host->memory, other->memory, host->memory_bytes);
	hv_buffer_unref(other);
	hv_cursor_free(a);
	hv_cursor_free(b);
}
END_TEST

static size_t no_len(const struct hv_event *event hv_unused)
{
	return 0;
}

/* Counting looks into no call, measuring lengths does. */
START_TEST(counts_are_those_of_the_events)
{
	struct hv_buffer_stat counted, measured;

	put_random(NR_SLOTS - START);
	hv_buffer_stat(rings, -1, NULL, &counted);
	hv_buffer_stat(rings, -1, no_len, &measured);
	ck_assert_uint_gt(counted.entries, 300);
	ck_assert_uint_eq(counted.entries, measured.entries);
	ck_assert_uint_eq(counted.oldest_ns, measured.oldest_ns);
	ck_assert_uint_eq(counted.youngest_ns, measured.youngest_ns);
	ck_assert_uint_eq(counted.overrun, measured.overrun);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_stack_has_no_more_records_than_there_is_room_for);
	tcase_add_test(tc, more_belongs_to_the_exit_behind_it);
	tcase_add_test(tc, a_cursor_may_leave_names_out);
	tcase_add_test(tc, a_rewind_separates_adjacent_records);
	tcase_add_test(tc, a_loss_separates_the_words_of_a_stack);
	tcase_add_test(tc, an_address_is_one_of_kernel_text);
	tcase_add_test(tc, an_event_of_the_guests_has_its_entry);
	tcase_add_test(tc, an_event_of_the_hosts_by_the_guest_is_lost);
	tcase_add_test(tc, an_event_keeps_its_entry_while_the_next_one_is_taken);
	tcase_add_test(tc, an_event_without_all_its_data_is_lost);
	tcase_add_test(tc, an_event_whose_length_is_not_that_of_its_data_is_lost);
	tcase_add_test(tc, data_without_an_event_are_nothing);
	tcase_add_test(tc, a_rewind_separates_data_and_event);
	tcase_add_loop_test(tc, events_in_brief_are_those_that_come, 0, 4);
	tcase_add_test(tc, an_exit_with_more_is_not_shown_in_brief);
	tcase_add_test(tc, a_clear_ends_what_is_shown_in_brief);
	tcase_add_loop_test(tc, what_is_put_in_brief_is_what_is_put, 0, 2);
	tcase_add_test(tc, counts_are_those_of_the_events);
}

int main(void)
{
	return run_suite("cursor", add_tests);
}
