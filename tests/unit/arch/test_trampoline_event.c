/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trampolines that event callbacks call, with the code bytes that a guest gets, run in this
 * process (bench/native.h): the ring's contents, memory and registers that must not change, and
 * another event before each instruction, as from an interrupt. x86-64. */
#include <check.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "bench/native.h"
#include "ringbuf/ring.h"
#include "tests/lib/event_call.h"
#include "tests/lib/run_suite.h"

#define NR_SLOTS 64

static struct world *world;

static void nothing_more(const struct world *w)
{
	(void)w;
}

static void thunk(const struct world *w)
{
	w->values->return_thunk = world_gva(w, WORLD_THUNK_OFF);
}

static struct hv_event_file *file_at(unsigned index)
{
	return event_file(world, index);
}

static void set_up_as(void (*prepare)(const struct world *w))
{
	const struct world_case c = {"", 0, 0, prepare};

	world_set_up(world, &c);
	event_make_kernel(world);
	for (unsigned i = 0; i < WORLD_NR_FILES; i++)
		file_at(i)->id = 0xfff0u + i;
	event_traps = 0;
}

static void set_up(void)
{
	const char *lack = NULL;

	world = native_new(NR_SLOTS, &lack);
	ck_assert_msg(world != NULL, "%s", lack);
	set_up_as(nothing_more);
}

static void tear_down(void)
{
	native_free(world);
}

static uint64_t address(uint64_t off)
{
	return world_gva(world, off).v;
}

static uint64_t call_trampoline(size_t off, uint64_t a, uint64_t b, uint64_t c)
{
	return event_call_trampoline(world, off, a, b, c);
}

static uint64_t reserve(struct world_buffer *buffer, uint64_t file, uint64_t len)
{
	return event_reserve(world, buffer, file, len);
}

static uint64_t commit(struct world_buffer *buffer)
{
	return event_commit(world, buffer);
}

static uint8_t byte_of(unsigned seed, unsigned i)
{
	return (uint8_t)(seed + i * 7 + (i >> 8) * 13) | (i % 8 == 7 ? 0xc0 : 0);
}

static void fill(uint64_t entry, unsigned len, unsigned seed)
{
	uint8_t *to = (uint8_t *)(uintptr_t)entry;

	for (unsigned i = 0; i < len; i++)
		to[i] = byte_of(seed, i);
}

/* Acts as an event's callback. Returns whether it got a draft. */
static bool probe(unsigned file, unsigned len, unsigned seed)
{
	struct world_buffer buffer = {0x11, 0x22, 0x33, 0x44, 0x55};
	uint64_t entry = reserve(&buffer, (uintptr_t)file_at(file), len);

	if (!entry)
		return false;
	ck_assert_uint_eq(buffer.file, (uintptr_t)file_at(file));
	ck_assert_uint_eq(buffer.entry, entry);
	ck_assert_uint_eq(buffer.event, entry - 8);
	fill(entry, len, seed);
	commit(&buffer);
	ck_assert_uint_eq(buffer.file | buffer.event | buffer.entry, 0);
	ck_assert_uint_eq(buffer.unused, 0x11);
	ck_assert_uint_eq(buffer.more, 0x55);
	return true;
}

/* A call's word stores the caller without the bits that all kernel text addresses share. This
 * program's addresses have other bits there. */
static struct hv_record call_at(unsigned cpu, uint64_t position)
{
	struct hv_record r = world_ring(world, cpu)[position % NR_SLOTS];

	for (unsigned i = 0; i < 4; i++)
		r.word[i] ^= hv_record_key(position, NR_SLOTS);
	return r;
}

static struct hv_record record_at(unsigned cpu, uint64_t position)
{
	struct hv_record r = call_at(cpu, position);

	for (unsigned i = 0; i < 4; i++)
		ck_assert_uint_eq(r.word[i] & HV_RECORD_ZEROS, 0);
	return r;
}

static unsigned kind_of(const struct hv_record *r)
{
	return r->word[3] >> HV_RECORD_KIND_SHIFT & HV_RECORD_KIND_MASK;
}

static void data_of(const struct hv_record *r, uint8_t ret[HV_DATA_LEN])
{
	uint64_t first = r->word[1] | r->word[3] >> HV_DATA_FIRST_SHIFT << HV_WORD_BITS;
	uint64_t second = r->word[2] | r->word[3] >> HV_DATA_SECOND_SHIFT << HV_WORD_BITS;

	memcpy(ret, &first, 8);
	memcpy(ret + 8, &second, 8);
	memcpy(ret + 16, &r->word[3], 4);
}

/* Checks the event that begins at POSITION. Returns the position after it. */
static uint64_t check_event(unsigned cpu, uint64_t position, unsigned file, unsigned len,
			    unsigned seed)
{
	const struct world_cpu *c = world_cpu(world);
	unsigned nr = len <= 8 ? 0 : (len - 8 + HV_DATA_LEN - 1) / HV_DATA_LEN;
	struct hv_record event = record_at(cpu, position + nr);
	uint8_t data[HV_DATA_LEN];

	for (unsigned n = 0; n < nr; n++) {
		struct hv_record r = record_at(cpu, position + n);

		ck_assert_uint_eq(kind_of(&r), HV_RECORD_DATA);
		ck_assert_uint_eq(r.word[3] >> HV_RECORD_DEPTH_SHIFT & HV_RECORD_DEPTH_MAX, n);
		ck_assert_uint_eq(r.word[3] >> 36 & 0xfff, 0);
		ck_assert_uint_eq(r.word[0], event.word[0]);
		data_of(&r, data);
		for (unsigned i = 0; i < HV_DATA_LEN && 8 + n * HV_DATA_LEN + i < len; i++)
			ck_assert_uint_eq(data[i], byte_of(seed, 8 + n * HV_DATA_LEN + i));
	}
	ck_assert_uint_eq(kind_of(&event), HV_RECORD_EVENT);
	ck_assert_uint_eq(event.word[1], (0xfff0u + file) | len << HV_EVENT_LEN_SHIFT);
	ck_assert_uint_eq(event.word[2] >> HV_CALL_PID_SHIFT & UINT32_MAX, c->cat.pid);
	ck_assert_uint_eq((uint32_t)event.word[3], c->preempt_count);
	ck_assert_uint_eq(event.word[3] >> HV_RECORD_DEPTH_SHIFT & HV_RECORD_DEPTH_MAX, nr);
	return position + nr + 1;
}

START_TEST(an_event_of_any_length)
{
	static const unsigned lengths[] = {0, 4, 8, 9, 12, 27, 28, 29, 48, 49, 64, 100, 600};
	unsigned len = lengths[_i % HV_ARRAY_LEN(lengths)];
	uint64_t end = 0;

	set_up_as(_i < (int)HV_ARRAY_LEN(lengths) ? nothing_more : thunk);
	for (unsigned n = 0; n < 5; n++) {
		ck_assert(probe(n, len, n));
		end = check_event(0, end, n, len, n);
	}
	ck_assert_uint_eq(world_head(world, 0), end);
	ck_assert_uint_eq(world_drafts(world, 0), 0);
	ck_assert_uint_eq(world_state(world, 0)->nr_no_draft, 0);
	ck_assert_uint_eq(world_head(world, 1), 0);
}
END_TEST

/* Too long for a draft, or for a ring of 64 records. */
START_TEST(an_event_that_is_too_long_is_counted)
{
	ck_assert(!probe(0, HV_ENTRY_LEN_MAX + 1, 0));
	ck_assert_uint_eq(world_state(world, 0)->nr_no_draft, 1);
	ck_assert(probe(0, HV_ENTRY_LEN_MAX, 0));
	ck_assert_uint_eq(world_state(world, 0)->nr_no_draft, 2);
	ck_assert(probe(0, 8 + 31 * HV_DATA_LEN, 0));
	ck_assert_uint_eq(world_state(world, 0)->nr_no_draft, 3);
	ck_assert_uint_eq(world_head(world, 0), 0);
	ck_assert(probe(0, 8 + 30 * HV_DATA_LEN, 0));
	ck_assert_uint_eq(world_head(world, 0), 31);
	ck_assert_uint_eq(world_drafts(world, 0), 0);
}
END_TEST

/* The stack of the call to commit follows the event. */
START_TEST(an_event_with_its_stack)
{
	struct hv_record words, stack;
	uint64_t at, head;

	set_up_as(_i ? thunk : nothing_more);
	file_at(1)->does = HV_EVENT_FILE_STACK;
	ck_assert(probe(1, 64, 3));
	at = check_event(0, 0, 1, 64, 3);
	head = world_head(world, 0);
	ck_assert_uint_gt(head, at + 1);
	words = record_at(0, at);
	ck_assert_uint_eq(kind_of(&words), HV_RECORD_WORDS);
	stack = call_at(0, head - 1);
	ck_assert_uint_eq(kind_of(&stack), HV_RECORD_STACK);
	ck_assert_uint_eq(stack.word[3] >> HV_STACK_SECTION_BIT & 3, 1);
	ck_assert_uint_eq(stack.word[3] >> HV_RECORD_DEPTH_SHIFT & 0x7f, head - at - 2);
	ck_assert_uint_eq(stack.word[0], words.word[0]);
	ck_assert_uint_eq(stack.word[2] >> HV_CALL_PID_SHIFT & UINT32_MAX,
			  world_cpu(world)->cat.pid);
	ck_assert_uint_eq(world_drafts(world, 0), 0);
	/* Other events have no stack, nor has an event that was not recorded. */
	ck_assert(probe(0, 64, 3));
	ck_assert_uint_eq(check_event(0, head, 0, 64, 3), world_head(world, 0));
	head = world_head(world, 0);
	ck_assert(probe(1, HV_ENTRY_LEN_MAX, 0));
	ck_assert_uint_eq(world_head(world, 0), head);
}
END_TEST

START_TEST(an_event_after_another_tasks)
{
	struct hv_record r;

	world_state(world, 0)->last_pid = 0;
	ck_assert(probe(0, 64, 3));
	r = record_at(0, 0);
	ck_assert_uint_eq(kind_of(&r), HV_RECORD_TASK);
	ck_assert_uint_eq(check_event(0, 1, 0, 64, 3), world_head(world, 0));
}
END_TEST

/* Of a task's status only TS_COMPAT (2) counts. */
START_TEST(an_event_in_a_system_call_of_a_32_bit_program)
{
	static const uint32_t others[] = {0, 1, ~2u};
	const uint64_t is_compat = UINT64_C(1) << HV_EVENT_COMPAT_BIT;

	for (unsigned i = 0; i < HV_ARRAY_LEN(others); i++) {
		struct hv_record r;

		world_cpu(world)->cat.status = others[i];
		ck_assert(probe(0, 8, 0));
		r = record_at(0, 2 * i);
		ck_assert_uint_eq(r.word[1] & is_compat, 0);
		world_cpu(world)->cat.status |= 2;
		ck_assert(probe(0, 8, 0));
		r = record_at(0, 2 * i + 1);
		ck_assert_uint_eq(r.word[1], 0xfff0u | 8 << HV_EVENT_LEN_SHIFT | is_compat);
	}
}
END_TEST

START_TEST(mode_and_filters_decide)
{
	world_control(world)->mode = HV_MODE_OFF;
	ck_assert(!probe(0, 64, 0));
	world_control(world)->mode = HV_MODE_PID_FILTER;
	ck_assert(!probe(0, 64, 0));
	ck_assert_uint_eq(world_head(world, 0), 0);
	world->host[WORLD_PIDS_OFF + 71 / 8] = 1 << 71 % 8;
	ck_assert(probe(0, 64, 0));
	ck_assert_uint_eq(world_head(world, 0), 4);
	world_control(world)->mode |= HV_MODE_CPUS;
	world_state(world, 0)->muted = 1;
	ck_assert(!probe(0, 64, 0));
	ck_assert_uint_eq(world_head(world, 0), 4);
	ck_assert_uint_eq(world_state(world, 0)->nr_no_draft, 0);
}
END_TEST

/* Nested events, as in nested interrupts. */
START_TEST(nested_events_up_to_the_number_of_drafts)
{
	struct world_buffer buffers[HV_NR_DRAFTS + 1] = {0};
	uint64_t entries[HV_NR_DRAFTS + 1], end = 0;

	for (unsigned i = 0; i <= HV_NR_DRAFTS; i++) {
		entries[i] = reserve(&buffers[i], (uintptr_t)file_at(i), 64);
		ck_assert(!entries[i] == (i == HV_NR_DRAFTS));
		if (entries[i])
			fill(entries[i], 64, 10 * i);
	}
	ck_assert_uint_eq(world_state(world, 0)->nr_no_draft, 1);
	for (unsigned i = HV_NR_DRAFTS; i-- > 0;) {
		commit(&buffers[i]);
		end = check_event(0, end, i, 64, 10 * i);
	}
	ck_assert_uint_eq(world_drafts(world, 0), 0);
	ck_assert(probe(0, 64, 9));
}
END_TEST

/* The event belongs to the vCPU that commits it, and the draft to the vCPU that reserved it. */
START_TEST(a_task_that_migrates_before_the_commit)
{
	struct world_buffer first = {0}, second = {0};
	uint64_t entry = reserve(&first, (uintptr_t)file_at(1), 64), other;

	fill(entry, 64, 1);
	world_cpu(world)->cpu_number = 1;
	world_state(world, 1)->last_pid = world_cpu(world)->cat.pid;
	other = reserve(&second, (uintptr_t)file_at(2), 64);
	ck_assert_uint_ne(entry, other);
	fill(other, 64, 2);
	commit(&first);
	ck_assert_uint_eq(world_drafts(world, 0), 0);
	ck_assert_uint_eq(world_drafts(world, 1), 1);
	commit(&second);
	ck_assert_uint_eq(world_drafts(world, 1), 0);
	ck_assert_uint_eq(world_head(world, 0), 0);
	ck_assert_uint_eq(check_event(1, check_event(1, 0, 1, 64, 1), 2, 64, 2),
			  world_head(world, 1));
}
END_TEST

START_TEST(guest_events_use_the_guest_functions)
{
	uint64_t files = address(WORLD_FILES_OFF), end = files + WORLD_NR_FILES * 128;
	struct world_buffer buffer = {.file = end, .event = 1, .entry = 2}, before = buffer;

	ck_assert_uint_eq(reserve(&buffer, files - 1, 64), 1);
	ck_assert_uint_eq(reserve(&buffer, end, 64), 1);
	ck_assert_uint_eq(commit(&buffer), 2);
	buffer.file = before.file = files - 1;
	ck_assert_uint_eq(commit(&buffer), 2);
	ck_assert_mem_eq(&buffer, &before, sizeof(buffer));
	ck_assert_uint_eq(world_head(world, 0), 0);
}
END_TEST

/* The guest has written into its own memory, or into shared memory. */
START_TEST(hostile_commits)
{
	struct world_buffer buffer = {.file = (uintptr_t)file_at(0), .event = 0x1000};
	uint64_t entry;

	commit(&buffer); /* no draft */
	ck_assert_uint_eq(world_head(world, 0), 0);
	entry = reserve(&buffer, (uintptr_t)file_at(0), 64);
	((struct hv_draft *)(uintptr_t)(entry - 8))->len_bytes = UINT32_MAX;
	commit(&buffer);
	ck_assert_uint_eq(world_head(world, 0), 0);
	ck_assert_uint_eq(world_drafts(world, 0), 0);
	ck_assert_uint_eq(world_state(world, 0)->nr_no_draft, 1);
	world_state(world, 0)->head = UINT64_MAX - 31;
	ck_assert(probe(0, 600, 0));
}
END_TEST

/* The trampoline must not use an address that is not the start of a draft. */
START_TEST(commits_inside_a_draft_are_ignored)
{
	uint64_t drafts = address(WORLD_DRAFTS_OFF);
	uint64_t end = drafts + WORLD_NR_CPUS * HV_NR_DRAFTS * sizeof(struct hv_draft);
	const uint64_t wrong[] = {drafts + 1, drafts + 8,   drafts + 2048, drafts + 4095,
				  end - 4095, end - 8,	    end,	   drafts - 4096,
				  drafts - 1, drafts + 4100};
	const uint32_t taken[] = {1u << HV_DRAFT_TAKEN_BIT, 64};

	for (unsigned i = 0; i < HV_ARRAY_LEN(wrong); i++) {
		struct world_buffer buffer = {.file = (uintptr_t)file_at(0), .event = wrong[i]};
		bool is_inside = wrong[i] > drafts && wrong[i] < end;
		void *draft = (void *)(uintptr_t)wrong[i];

		set_up_as(nothing_more);
		if (is_inside)
			memcpy(draft, taken, sizeof(taken));
		commit(&buffer);
		ck_assert_uint_eq(world_head(world, 0), 0);
		ck_assert(!is_inside || memcmp(draft, taken, sizeof(taken)) == 0);
		ck_assert_uint_eq(buffer.file | buffer.event, 0);
	}
	for (unsigned i = 0; i < WORLD_NR_CPUS * HV_NR_DRAFTS; i++) {
		uint64_t draft = drafts + i * sizeof(struct hv_draft);
		struct world_buffer buffer = {.file = (uintptr_t)file_at(0), .event = draft};

		set_up_as(nothing_more);
		((struct hv_draft *)(uintptr_t)draft)->len_bytes = 8;
		commit(&buffer);
		ck_assert_uint_eq(world_head(world, 0), 1);
	}
}
END_TEST

START_TEST(own_callback_arrays_are_not_freed)
{
	const size_t *offs = hv_arch_x86_64.trampolines.event_release_offs;
	size_t other = hv_arch_x86_64.trampolines.event_release_other_off;
	uint64_t start = address(WORLD_CALLBACKS_OFF), end = start + WORLD_CALLBACKS_BYTES;

	set_up_as(_i ? thunk : nothing_more);
	ck_assert_uint_eq(call_trampoline(offs[0], start - 1, 0, 0), 3);
	ck_assert_uint_eq(call_trampoline(offs[0], end, 0, 0), 3);
	ck_assert_uint_eq(call_trampoline(offs[0], 5, start, 0), 3);
	ck_assert_uint_ne(call_trampoline(offs[0], end - 8, 5, 0), 3);
	ck_assert_uint_ne(call_trampoline(offs[0], start, 5, 0), 3);
	ck_assert_uint_eq(call_trampoline(offs[1], 5, start - 1, 0), 3);
	ck_assert_uint_eq(call_trampoline(offs[1], start, 5, 0), 3);
	ck_assert_uint_ne(call_trampoline(offs[1], 5, start, 0), 3);
	ck_assert_uint_eq(call_trampoline(other, start - 1, 0, 0), 4);
	ck_assert_uint_eq(call_trampoline(other, end, start, 0), 4);
	ck_assert_uint_ne(call_trampoline(other, start, 5, 0), 4);
	ck_assert_uint_ne(call_trampoline(other, end - 8, 5, 0), 4);
}
END_TEST

/* When the guest frees one of hvtrace's arrays, the trampoline frees the guest's array that it
 * replaced, once. */
START_TEST(the_replaced_guest_array_is_freed_once)
{
	const size_t *offs = hv_arch_x86_64.trampolines.event_release_offs;
	uint64_t start = address(WORLD_CALLBACKS_OFF), own = address(WORLD_DRAFTS_OFF);
	uint64_t *head = (uint64_t *)(uintptr_t)start;

	set_up_as(_i ? thunk : nothing_more);
	*head = own;
	ck_assert_uint_eq(call_trampoline(offs[0], start, 5, 0), 3);
	ck_assert_uint_eq(event_passed[0], own);
	ck_assert_uint_eq(*head, 0);
	ck_assert_uint_ne(call_trampoline(offs[0], start, 5, 0), 3);
	*head = own;
	ck_assert_uint_eq(call_trampoline(offs[1], 5, start, 7), 3);
	ck_assert_uint_eq(event_passed[0], 5);
	ck_assert_uint_eq(event_passed[1], own);
	ck_assert_uint_ne(call_trampoline(offs[1], 5, start, 0), 3);
	*head = own;
	ck_assert_uint_eq(
		call_trampoline(hv_arch_x86_64.trampolines.event_release_other_off, start, 5, 0),
		4);
	ck_assert_uint_eq(event_passed[0], own);
	ck_assert_uint_eq(*head, 0);
}
END_TEST

/* Index of the trampoline instruction before which the interrupt comes; number of executed
 * instructions. */
static int trap_at, nr_trapped;

static void on_trap(int signal, siginfo_t *info, void *context)
{
	uint64_t ip = (uint64_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];

	(void)signal;
	(void)info;
	if (ip - address(WORLD_CODE_OFF) >= hv_arch_x86_64.trampolines.len_bytes)
		return;
	if (nr_trapped++ != trap_at)
		return;
	event_traps = 0;
	ck_assert(probe(5, 48, 77));
	event_traps = EVENT_TRAP_FLAG;
}

/* Finds the event of FILE at any position. */
static void check_once(unsigned file, unsigned len, unsigned seed)
{
	unsigned nr = (len - 8 + HV_DATA_LEN - 1) / HV_DATA_LEN, nr_found = 0;

	for (uint64_t p = 0; p < world_head(world, 0); p++) {
		struct hv_record r = record_at(0, p);

		if (kind_of(&r) != HV_RECORD_EVENT || (r.word[1] & 0xffff) != 0xfff0u + file)
			continue;
		nr_found++;
		check_event(0, p - nr, file, len, seed);
	}
	ck_assert_uint_eq(nr_found, 1);
}

START_TEST(another_event_before_each_instruction)
{
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	int nr;

	ck_assert_int_eq(sigaction(SIGTRAP, &action, NULL), 0);
	trap_at = -1;
	do {
		trap_at++;
		nr_trapped = 0;
		set_up_as(_i & 1 ? thunk : nothing_more);
		world_state(world, 0)->last_pid = _i & 2 ? 0 : world_cpu(world)->cat.pid;
		event_traps = EVENT_TRAP_FLAG;
		ck_assert(probe(1, 64, 5));
		event_traps = 0;
		nr = nr_trapped;
		ck_assert_uint_eq(world_drafts(world, 0), 0);
		ck_assert_uint_eq(world_state(world, 0)->nr_no_draft, 0);
		check_once(1, 64, 5);
		if (trap_at < nr)
			check_once(5, 48, 77);
	} while (trap_at < nr);
	ck_assert_int_gt(nr, 80);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_set_timeout(tc, 60); /* thousands of traps */
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_loop_test(tc, an_event_of_any_length, 0, 26);
	tcase_add_test(tc, an_event_that_is_too_long_is_counted);
	tcase_add_loop_test(tc, an_event_with_its_stack, 0, 2);
	tcase_add_test(tc, an_event_after_another_tasks);
	tcase_add_test(tc, an_event_in_a_system_call_of_a_32_bit_program);
	tcase_add_test(tc, mode_and_filters_decide);
	tcase_add_test(tc, nested_events_up_to_the_number_of_drafts);
	tcase_add_test(tc, a_task_that_migrates_before_the_commit);
	tcase_add_test(tc, guest_events_use_the_guest_functions);
	tcase_add_test(tc, hostile_commits);
	tcase_add_test(tc, commits_inside_a_draft_are_ignored);
	tcase_add_loop_test(tc, own_callback_arrays_are_not_freed, 0, 2);
	tcase_add_loop_test(tc, the_replaced_guest_array_is_freed_once, 0, 2);
	tcase_add_loop_test(tc, another_event_before_each_instruction, 0, 4);
}

int main(void)
{
	return run_suite("trampoline_event", add_tests);
}
