/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory that trampolines read for event probes when the event is committed, with the code bytes
 * that a guest gets, run in this process. Tests interrupted events, events that move to another
 * vCPU, events caused by the read itself, guests that write into drafts, and programs of random
 * bytes. x86-64. */
#include <check.h>

#include "tests/lib/event_call.h"
#include "tests/lib/fetch_world.h"
#include "tests/lib/run_suite.h"

#define EVENT_ID      0x1234
#define EVENT_LEN     36 /* not a multiple of the alignment of results */
#define EVENT_RESULTS 40
#define POINTER_OFF   16 /* in the entry */
#define SMALL_OFF     26 /* two bytes: -3 */
#define FIELD(off)    (offsetof(struct hv_draft, entry) + (off))

static void set_up_event(void)
{
	event_make_kernel(world);
	event_traps = 0;
	event_file(world, 0)->id = EVENT_ID;
	event_file(world, 0)->filter = UINT64_C(1) << HV_EVENT_FILE_READS_BIT;
	strcpy((char *)kernel_memory, "plain");
	SET_PROGRAM({HV_FETCH_FIELD, 0, 0, 1, FIELD(POINTER_OFF)},
		    {HV_FETCH_READS | HV_FETCH_STRING, 0, 9, 1, 0});
}

static uint64_t fill_event(struct world_buffer *buffer, uint64_t pointer)
{
	uint64_t at = event_reserve(world, buffer, (uintptr_t)event_file(world, 0), EVENT_LEN);
	const int16_t small = -3;

	ck_assert_uint_ne(at, 0);
	for (unsigned i = 0; i < EVENT_LEN; i++)
		((uint8_t *)(uintptr_t)at)[i] = (uint8_t)(0xa0 + i);
	memcpy((uint8_t *)(uintptr_t)at + POINTER_OFF, &pointer, sizeof(pointer));
	memcpy((uint8_t *)(uintptr_t)at + SMALL_OFF, &small, sizeof(small));
	return at;
}

static void event(uint64_t pointer)
{
	struct world_buffer buffer = {0};

	fill_event(&buffer, pointer);
	event_commit(world, &buffer);
}

/* Reads the event at POSITION, after any task records. Returns whether it has results at
 * EVENT_RESULTS. */
static bool read_event(unsigned cpu, uint64_t position, struct entry *ret)
{
	bool has_results;
	uint64_t len = EVENT_LEN;

	*ret = (struct entry){0};
	read_data(cpu, position, EVENT_ID, ret);
	has_results = ret->len & HV_EVENT_RESULTS;
	ret->len &= ~(size_t)HV_EVENT_RESULTS;
	ck_assert_uint_eq(ret->bytes[0], 0xa8);
	ck_assert_uint_eq(ret->bytes[EVENT_LEN - HV_ENTRY_HEADER_LEN - 1], 0xa0 + EVENT_LEN - 1);
	if (has_results) {
		memcpy(&len, ret->bytes + ret->len - HV_EVENT_RESULTS_END, sizeof(len));
		ck_assert_uint_eq(len, EVENT_LEN);
		ck_assert_uint_le(EVENT_RESULTS + HV_EVENT_RESULTS_END,
				  ret->len + HV_ENTRY_HEADER_LEN);
	} else {
		ck_assert_uint_eq(ret->len, EVENT_LEN - HV_ENTRY_HEADER_LEN);
	}
	return has_results;
}

static void check_event(unsigned cpu, uint64_t position, struct entry *ret)
{
	ck_assert(read_event(cpu, position, ret));
	check_result_at(ret, EVENT_RESULTS - HV_ENTRY_HEADER_LEN, 0, 1, "plain", 6);
}

START_TEST(memory_of_an_event)
{
	const int64_t extended = -3;
	const uint64_t plain = 0xfffd;
	struct entry e;

	set_up_event();
	memcpy(user_memory, "for a program", 14);
	SET_PROGRAM({HV_FETCH_FIELD, 0, 0, 1, FIELD(POINTER_OFF)},
		    {HV_FETCH_READS | HV_FETCH_STRING, 0, 9, 1, 0},
		    {HV_FETCH_FIELD, 0, 48, 2, FIELD(SMALL_OFF)},
		    {READ_KERNEL, 0, 8, 2, USER_START - plain},
		    {HV_FETCH_FIELD, 0, 48 | HV_FETCH_SIGNED, 3, FIELD(SMALL_OFF)},
		    {READ_KERNEL, 0, 8, 3, USER_START + 3 + 4},
		    {HV_FETCH_FIELD, 0, 48, 4, FIELD(SMALL_OFF)}, {HV_FETCH_IS, 0, 0, 4, plain},
		    {READ_KERNEL, 0, 3, 4, USER_START - plain},
		    {HV_FETCH_FIELD, 0, 48, 5, FIELD(SMALL_OFF)},
		    {HV_FETCH_IS, 0, 0, 5, (uint64_t)extended},
		    {READ_KERNEL, 0, 3, 5, USER_START - plain}, {HV_FETCH_NUMBER, 0, 0, 6, 1},
		    {READ_KERNEL, 0, 8, 6, 0});
	for (uint64_t n = 0, at = 0; n < 20; n++, at = e.end) {
		size_t off = EVENT_RESULTS - HV_ENTRY_HEADER_LEN;

		event(KERNEL_START);
		check_event(0, at, &e);
		check_result_at(&e, off, 1, 2, "for a pr", 8);
		check_result_at(&e, off, 2, 3, "a progra", 8);
		check_result_at(&e, off, 3, 4, "for", 3);
		check_result_at(&e, off, 4, 6, NULL, 0); /* 5 belongs to another event */
		check_quiet();
	}
	world_state(world, 0)->last_pid = 0;
	event(KERNEL_START);
	check_event(0, e.end, &e);
}
END_TEST

START_TEST(an_event_in_a_very_small_ring)
{
	struct entry e;

	tear_down();
	set_up_ring(SMALL_RING);
	set_up_event();
	set_long_program((unsigned)_i);
	event(KERNEL_START);
	ck_assert(read_event(0, 0, &e));
	ck_assert_uint_le(e.len, SMALL_RING / 2 * HV_DATA_LEN);
	ck_assert_uint_ge(e.len, SMALL_RING / 2 * HV_DATA_LEN - 100);
	ck_assert_uint_eq(world_state(world, 0)->nr_no_draft, 0);
	check_quiet();
}
END_TEST

/* Events whose number is in a set. A set covers 64 numbers from any start. */
START_TEST(memory_of_events_in_a_set)
{
	static const struct {
		uint16_t first;
		uint64_t set;
		bool has;
	} sets[] = {
		{0x40, 1ull << (0x44 - 0x40), true},
		{0x44, 1, true},
		{5, 1ull << 63, true},
		{0x44, ~1ull, false},
		{4, ~0ull, false},
		{0x45, ~0ull, false},
		{0x40, 0, false},
	};
	uint64_t at = 0;
	struct entry e;

	set_up_event();
	for (unsigned i = 0; i < HV_ARRAY_LEN(sets); i++, at = e.end) {
		bool has;

		SET_PROGRAM({HV_FETCH_NUMBER, 0, 0, 1, 0x44},
			    {HV_FETCH_IN, 0, sets[i].first, 1, sets[i].set},
			    {HV_FETCH_FIELD, 0, 0, 1, FIELD(POINTER_OFF)},
			    {HV_FETCH_READS | HV_FETCH_STRING, 0, 9, 1, 0});
		event(KERNEL_START);
		has = read_event(0, at, &e);
		ck_assert_msg(has == sets[i].has, "set %u", i);
		if (has)
			check_result_at(&e, EVENT_RESULTS - HV_ENTRY_HEADER_LEN, 0, 1, "plain", 6);
		check_quiet();
	}
}
END_TEST

/* HV_FETCH_MOST limits one result, never above the length in the reading step, and not the next
 * result. */
START_TEST(an_event_field_limits_the_read_length)
{
	size_t off = EVENT_RESULTS - HV_ENTRY_HEADER_LEN;
	struct entry e;

	set_up_event();
	SET_PROGRAM({HV_FETCH_NUMBER, 0, 0, 1, 2}, {HV_FETCH_MOST, 0, 0, 1, 0},
		    {HV_FETCH_NUMBER, 0, 0, 1, KERNEL_START},
		    {HV_FETCH_READS | HV_FETCH_KEEPS, 0, 4, 1, 0},
		    {HV_FETCH_NUMBER, 0, 0, 2, KERNEL_START},
		    {HV_FETCH_READS | HV_FETCH_KEEPS, 0, 4, 2, 0},
		    {HV_FETCH_NUMBER, 0, 0, 3, UINT64_MAX}, {HV_FETCH_MOST, 0, 0, 3, 0},
		    {HV_FETCH_NUMBER, 0, 0, 3, KERNEL_START},
		    {HV_FETCH_READS | HV_FETCH_KEEPS, 0, 4, 3, 0}, {HV_FETCH_NUMBER, 0, 0, 4, 1},
		    {HV_FETCH_MOST, 0, 0, 4, 0}, {HV_FETCH_NUMBER, 0, 0, 4, UINT64_C(1) << 63},
		    {HV_FETCH_READS | HV_FETCH_KEEPS, 0, 4, 4, 0},
		    {HV_FETCH_NUMBER, 0, 0, 5, KERNEL_START},
		    {HV_FETCH_READS | HV_FETCH_KEEPS, 0, 4, 5, 0}, {HV_FETCH_NUMBER, 0, 0, 6, 0},
		    {HV_FETCH_MOST, 0, 0, 6, 0}, {HV_FETCH_NUMBER, 0, 0, 6, KERNEL_START},
		    {HV_FETCH_READS | HV_FETCH_KEEPS, 0, 4, 6, 0});
	event(KERNEL_START);
	ck_assert(read_event(0, 0, &e));
	check_result_at(&e, off, 0, 1, "pl", 2);
	check_result_at(&e, off, 1, 2, "plai", 4);
	check_result_at(&e, off, 2, 3, "plai", 4);
	check_result_at(&e, off, 3, 4, NULL, 0);
	check_result_at(&e, off, 4, 5, "plai", 4);
	check_result_at(&e, off, 5, 6, "", 0);
	check_quiet();
}
END_TEST

START_TEST(word_steps_fail_for_events)
{
	struct entry e;

	set_up_event();
	SET_PROGRAM({HV_FETCH_WORD, 0, 0, 1, 0}, {READ_KERNEL, 0, 8, 1, 0});
	event(KERNEL_START);
	ck_assert(read_event(0, 0, &e));
	check_result_at(&e, EVENT_RESULTS - HV_ENTRY_HEADER_LEN, 0, 1, NULL, 0);
	ck_assert_uint_eq(nr_reads, 0);
	check_quiet();
}
END_TEST

/* If the program is not for this event, the event is recorded without results. */
START_TEST(an_event_of_another_kind)
{
	struct entry e;

	set_up_event();
	SET_PROGRAM({HV_FETCH_FIELD, 0, 0, 1, FIELD(POINTER_OFF)}, {HV_FETCH_IS, 0, 0, 1, 7},
		    {HV_FETCH_READS | HV_FETCH_STRING, 0, 9, 1, 0});
	event(KERNEL_START);
	ck_assert(!read_event(0, 0, &e));
	event_file(world, 0)->filter = 0;
	event(KERNEL_START);
	ck_assert(!read_event(0, e.end, &e));
	ck_assert_uint_eq(nr_reads, 0);
	check_quiet();
}
END_TEST

static void event_again(void)
{
	while_reading = NULL;
	event(KERNEL_START);
	call(KERNEL_START);
	while_reading = event_again;
}

/* A fault during the read can itself be an event, or call a function with a probe. */
START_TEST(reading_for_an_event_is_not_repeated)
{
	struct entry e;

	set_up_event();
	while_reading = event_again;
	event(KERNEL_START);
	ck_assert(!read_event(0, 0, &e));
	check_event(0, e.end + 1, &e); /* after the tracer's record of the call */
	ck_assert_uint_eq(world_state(world, 0)->nr_no_draft, 1);
	ck_assert_uint_eq(nr_reads, 1);
	check_quiet();
}
END_TEST

static void interrupt_event(void)
{
	while_reading = NULL;
	world_cpu(world)->preempt_count += HARD_IRQ;
	event(KERNEL_START);
	world_cpu(world)->preempt_count -= HARD_IRQ;
}

START_TEST(an_interrupt_while_memory_is_read_for_an_event)
{
	struct entry e;

	set_up_event();
	while_reading = interrupt_event;
	event(KERNEL_START);
	check_event(0, 0, &e);
	check_event(0, e.end, &e);
	check_quiet();
}
END_TEST

START_TEST(an_event_migrates_while_memory_is_read)
{
	struct entry e;

	set_up_event();
	while_reading = go_to_the_other_cpu;
	event(KERNEL_START);
	ck_assert_uint_eq(world_head(world, 0), 0);
	check_event(1, 0, &e);
	check_quiet();
}
END_TEST

/* The guest writes into the draft, before and during the read of its memory. */
static void write_length(void)
{
	((struct hv_draft *)(world->host + WORLD_DRAFTS_OFF))->len_bytes = UINT32_MAX;
}

START_TEST(a_hostile_guest_commits_with_memory)
{
	static const uint32_t lengths[] = {UINT32_MAX, HV_ENTRY_LEN_MAX + 1, HV_ENTRY_LEN_MAX,
					   HV_ENTRY_LEN_MAX - 31};
	struct world_buffer buffer = {0};
	struct entry e;

	set_up_event();
	for (unsigned i = 0; i < HV_ARRAY_LEN(lengths); i++) {
		uint64_t at = fill_event(&buffer, KERNEL_START);

		((struct hv_draft *)(uintptr_t)(at - 8))->len_bytes = lengths[i];
		event_commit(world, &buffer);
		ck_assert_uint_eq(nr_reads, 0);
		check_quiet();
	}
	set_up_event();
	while_reading = write_length;
	event(KERNEL_START);
	check_event(0, world_head(world, 0) - 4, &e);
	check_quiet();
}
END_TEST

START_TEST(random_event_programs_stay_in_their_draft)
{
	uint8_t *bytes = (uint8_t *)program();

	set_up_event();
	srandom(2);
	for (unsigned n = 0; n < NR_PROGRAMS; n++) {
		struct entry e;
		uint64_t at = world_head(world, 0);

		for (size_t i = 0; i < HV_FETCH_STEPS_MAX * sizeof(struct hv_fetch_step); i++)
			bytes[i] = (uint8_t)random();
		for (unsigned i = 0; i < HV_FETCH_STEPS_MAX; i++) {
			struct hv_fetch_step *s = &program()[i];

			if (random() % 4)
				s->value = random() % 2 ? KERNEL_START : USER_START;
			if (random() % 4)
				s->does = (uint8_t)(random() % 3 ? READ_KERNEL : random() % 8);
			if (s->does == HV_FETCH_FIELD && random() % 2)
				s->value = (uint64_t)random() % 5000;
			if (s->does == HV_FETCH_IS)
				s->value = 0;
		}
		fill_next_draft();
		event(random() % 2 ? KERNEL_START : (uint64_t)random());
		read_event(0, at, &e);
		ck_assert_uint_le(e.len, HV_ENTRY_LEN_MAX - HV_ENTRY_HEADER_LEN);
		next_draft_is_as_filled();
		check_quiet();
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, memory_of_an_event);
	tcase_add_test(tc, memory_of_events_in_a_set);
	tcase_add_test(tc, an_event_field_limits_the_read_length);
	tcase_add_loop_test(tc, an_event_in_a_very_small_ring, 0, 2);
	tcase_add_test(tc, word_steps_fail_for_events);
	tcase_add_test(tc, an_event_of_another_kind);
	tcase_add_test(tc, reading_for_an_event_is_not_repeated);
	tcase_add_test(tc, an_interrupt_while_memory_is_read_for_an_event);
	tcase_add_test(tc, an_event_migrates_while_memory_is_read);
	tcase_add_test(tc, a_hostile_guest_commits_with_memory);
	tcase_add_test(tc, random_event_programs_stay_in_their_draft);
}

int main(void)
{
	return run_suite("trampoline_event_fetch", add_tests);
}
