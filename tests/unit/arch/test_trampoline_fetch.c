/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory that trampolines read for function probes, with the code bytes that a guest gets, run in
 * this process. Tests calls interrupted before each instruction, calls that move to another vCPU,
 * calls caused by the read itself, and programs of random bytes. test_trampoline_event_fetch.c
 * tests event probes. x86-64. */
#include <check.h>
#include <signal.h>
#include <ucontext.h>

#include "tests/lib/fetch_world.h"
#include "tests/lib/run_suite.h"

#define TRAP_FLAG 0x100

START_TEST(values_bytes_and_strings)
{
	const uint64_t pointer = KERNEL_START + 0x100, user = USER_START + 8;
	struct entry e;

	memcpy(kernel_memory + 0x20, &pointer, 8);
	memcpy(kernel_memory + 0x100, &user, 8);
	strcpy((char *)kernel_memory + 0x108, "of the kernel");
	strcpy((char *)user_memory + 8, "of a program");
	SET_PROGRAM({HV_FETCH_WORD, 0, 0, 5, FIRST_ARGUMENT}, {HV_FETCH_READS, 0, 0, 5, 0x20},
		    {HV_FETCH_READS | HV_FETCH_STRING, 0, 100, 5, 8},
		    {HV_FETCH_WORD, 0, 0, 6, FIRST_ARGUMENT}, {HV_FETCH_READS, 0, 0, 6, 0x20},
		    {HV_FETCH_READS, 0, 0, 6, 0},
		    {HV_FETCH_READS | HV_FETCH_STRING | HV_FETCH_USER, 0, 4, 6, 0},
		    {HV_FETCH_NUMBER, 0, 0, 7, KERNEL_START + 0x100}, {READ_KERNEL, 0, 3, 7, 0x9},
		    {HV_FETCH_NUMBER, 0, 0, 8, 0}, {READ_KERNEL, 0, 5, 8, USER_START + 8});
	for (uint64_t n = 0, at = 0; n < 20; n++, at = e.end + 1) {
		call(KERNEL_START);
		read_entry(0, at, &e);
		check_result(&e, 0, 5, "of the kernel", 14);
		check_result(&e, 1, 6, "of ", 4);
		check_result(&e, 2, 7, "f t", 3);
		check_result(&e, 3, 8, "of a ", 5);
		check_quiet();
	}
}
END_TEST

/* A step that cannot read ends its own result only. */
START_TEST(unreadable_memory_ends_one_result)
{
	struct entry e;

	strcpy((char *)kernel_memory, "there");
	SET_PROGRAM({HV_FETCH_WORD, 0, 0, 1, FIRST_ARGUMENT}, {HV_FETCH_READS, 0, 0, 1, 0x4000},
		    {HV_FETCH_READS, 0, 0, 1, 8}, {HV_FETCH_READS | HV_FETCH_STRING, 0, 9, 1, 0},
		    {HV_FETCH_NUMBER, 0, 0, 2, 0x8000000000000000}, {READ_KERNEL, 0, 8, 2, 0},
		    {HV_FETCH_NUMBER, 0, 0, 3, 1}, {READ_KERNEL, 0, 8, 3, 0},
		    {HV_FETCH_WORD, 0, 0, 4, FIRST_ARGUMENT},
		    {HV_FETCH_READS | HV_FETCH_STRING, 0, 9, 4, 0},
		    {HV_FETCH_WORD, 0, 0, 5, FIRST_ARGUMENT},
		    {HV_FETCH_READS | HV_FETCH_STRING, 0, 9, 5, 0x4000});
	call(KERNEL_START);
	read_entry(0, 0, &e);
	for (unsigned i = 0; i < 5; i++)
		check_result(&e, i, i + 1, i == 3 ? "there" : NULL, 6);
	ck_assert_uint_eq(nr_reads, 4); /* addresses between the halves are not read */
	check_quiet();
}
END_TEST

/* If an entry lacks words, as a return without the call's arguments does, only the results that
 * need them are missing. */
START_TEST(missing_words_end_one_result)
{
	struct entry e;

	strcpy((char *)kernel_memory, "plain");
	SET_PROGRAM({HV_FETCH_WORD, 0, 0, 1, HV_REGS_WORDS}, {READ_KERNEL, 0, 8, 1, 0},
		    {HV_FETCH_WORD, 0, 0, 2, HV_REGS_WORDS + 4}, {READ_KERNEL, 0, 8, 2, 0},
		    {HV_FETCH_WORD, 0, 0, 3, UINT64_C(1) << 63 | FIRST_ARGUMENT},
		    {HV_FETCH_READS | HV_FETCH_STRING, 0, 9, 3, 0},
		    {HV_FETCH_WORD, 0, 0, 4, FIRST_ARGUMENT},
		    {HV_FETCH_READS | HV_FETCH_STRING, 0, 9, 4, 0});
	call(KERNEL_START);
	read_entry(0, 0, &e);
	for (unsigned i = 0; i < 4; i++)
		check_result(&e, i, i + 1, i == 3 ? "plain" : NULL, 6);
	ck_assert_uint_eq(nr_reads, 1);
	check_quiet();
}
END_TEST

/* Strings and arrays are cut at the end of the entry. */
START_TEST(results_are_cut_at_the_entry_end)
{
	struct entry e;

	set_long_program((unsigned)_i);
	call(KERNEL_START);
	read_entry(0, 0, &e);
	ck_assert_uint_le(e.len, HV_ENTRY_LEN_MAX - HV_ENTRY_HEADER_LEN);
	ck_assert_uint_ge(e.len, HV_ENTRY_LEN_MAX - 100);
	check_quiet();
}
END_TEST

/* Results must not make an entry longer than a very small ring allows. */
START_TEST(a_very_small_ring)
{
	struct entry e;

	tear_down();
	set_up_ring(SMALL_RING);
	set_long_program((unsigned)_i);
	call(KERNEL_START);
	read_entry(0, 0, &e);
	ck_assert_uint_le(e.len, SMALL_RING / 2 * HV_DATA_LEN);
	ck_assert_uint_ge(e.len, SMALL_RING / 2 * HV_DATA_LEN - 100);
	ck_assert_uint_eq(world_state(world, 0)->nr_no_draft, 0);
	check_quiet();
}
END_TEST

/* A program without an end whose results take no room. */
START_TEST(a_program_without_end_terminates)
{
	struct hv_fetch_step steps[HV_FETCH_STEPS_MAX];
	struct entry e;

	for (unsigned i = 0; i < HV_FETCH_STEPS_MAX; i++)
		steps[i] = (struct hv_fetch_step){READ_KERNEL, 0, 1, _i ? 9 : i, 0};
	set_program(steps, HV_FETCH_STEPS_MAX);
	/* The current value is undefined: no step has set it. */
	SET_PROGRAM({HV_FETCH_NUMBER, 0, 0, 0, 0});
	memcpy(program() + 1, steps, sizeof(steps) - sizeof(*steps));
	call(0);
	read_entry(0, 0, &e);
	ck_assert_uint_eq(nr_reads, _i ? 1 : HV_FETCH_STEPS_MAX - 1);
	check_quiet();
}
END_TEST

/* -- calls in calls ---------------------------------------------------------------------------- */

static void call_again(void)
{
	while_reading = NULL;
	call(KERNEL_START);
	while_reading = call_again;
}

static void set_plain_program(void)
{
	strcpy((char *)kernel_memory, "plain");
	SET_PROGRAM({HV_FETCH_WORD, 0, 0, 1, FIRST_ARGUMENT},
		    {HV_FETCH_READS | HV_FETCH_STRING, 0, 9, 1, 0});
}

/* A function that handles page faults can have a probe. Its calls during a read are not
 * recorded. */
START_TEST(reading_is_not_recorded)
{
	struct entry e;

	set_plain_program();
	while_reading = call_again;
	call(KERNEL_START);
	/* The nested call also continues to the tracer's trampoline. */
	ck_assert_uint_eq(world_state(world, 0)->nr_no_draft, 1);
	read_entry(0, 1, &e);
	check_result(&e, 0, 1, "plain", 6);
	ck_assert_uint_eq(world_head(world, 0), e.end + 1);
	check_quiet();
}
END_TEST

static void interrupt_reading(void)
{
	world_cpu(world)->preempt_count += HARD_IRQ;
	call_again();
	world_cpu(world)->preempt_count -= HARD_IRQ;
	while_reading = NULL;
}

START_TEST(an_interrupt_is_recorded)
{
	struct entry e;

	set_plain_program();
	while_reading = interrupt_reading;
	call(KERNEL_START);
	ck_assert_uint_eq(world_state(world, 0)->nr_no_draft, 0);
	read_entry(0, 0, &e);
	check_result(&e, 0, 1, "plain", 6);
	read_entry(0, e.end + 1, &e);
	check_result(&e, 0, 1, "plain", 6);
	check_quiet();
}
END_TEST

START_TEST(a_task_migrates_while_memory_is_read)
{
	struct entry e;

	set_plain_program();
	while_reading = go_to_the_other_cpu;
	call(KERNEL_START);
	ck_assert_uint_eq(world_head(world, 0), 0);
	read_entry(1, 0, &e);
	check_result(&e, 0, 1, "plain", 6);
	check_quiet();
}
END_TEST

START_TEST(all_drafts_are_taken)
{
	set_plain_program();
	world_take_drafts(world);
	call(KERNEL_START);
	ck_assert_uint_eq(world_state(world, 0)->nr_no_draft, 1);
	ck_assert_uint_eq(world_head(world, 0), 1); /* the tracer's record */
	ck_assert_uint_eq(nr_reads, 0);
}
END_TEST

/* The trampoline instructions that a call executes, in the order of their first execution. Filled
 * while a call is single-stepped. */
static uint64_t visited[1024];
static unsigned nr_visited;
static bool is_stepping;
/* Address at which the interrupt comes; it has a breakpoint. */
static uint64_t trap_at;
static uint8_t under_trap;

static void note(uint64_t ip)
{
	if (ip - world_gva(world, WORLD_CODE_OFF).v >= hv_arch_x86_64.trampolines.len_bytes)
		return;
	for (unsigned i = 0; i < nr_visited; i++)
		if (visited[i] == ip)
			return;
	ck_assert_uint_lt(nr_visited, HV_ARRAY_LEN(visited));
	visited[nr_visited++] = ip;
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)signal;
	(void)info;
	if ((uint64_t)regs[REG_RIP] - 1 == trap_at) {
		regs[REG_RIP]--;
		*(uint8_t *)trap_at = under_trap;
		trap_at = 0;
		world_cpu(world)->preempt_count += HARD_IRQ;
		call(KERNEL_START);
		world_cpu(world)->preempt_count -= HARD_IRQ;
	} else if (is_stepping) {
		note((uint64_t)regs[REG_RIP]);
	} else {
		regs[REG_EFL] &= ~TRAP_FLAG;
	}
}

static void set_trap_flag(void)
{
	__asm__ volatile("sub $128, %%rsp; pushfq; orl $0x100, (%%rsp); popfq; add $128, %%rsp" ::
				 : "cc", "memory");
}

/* There are NR calls, all complete. The tracer's records may be between them. */
static void check_calls(unsigned nr)
{
	unsigned nr_events = 0;
	struct entry e;

	for (uint64_t at = 0; at < world_head(world, 0); at = e.end) {
		struct hv_record r = record_at(0, at);

		e.end = at + 1;
		if (kind_of(&r) == HV_RECORD_FUNCTION)
			continue;
		read_entry(0, at, &e);
		check_result(&e, 0, 1, "plain", 6);
		check_result(&e, 1, 2, NULL, 0);
		nr_events++;
	}
	ck_assert_uint_eq(nr_events, nr);
	ck_assert_uint_eq(world_state(world, 0)->nr_no_draft, 0);
	check_quiet();
}

static void set_trapped_program(void)
{
	strcpy((char *)kernel_memory, "plain");
	SET_PROGRAM({HV_FETCH_WORD, 0, 0, 1, FIRST_ARGUMENT},
		    {HV_FETCH_READS | HV_FETCH_STRING, 0, 9, 1, 0}, {HV_FETCH_NUMBER, 0, 0, 2, 0},
		    {HV_FETCH_READS, 0, 0, 2, 0}, {READ_KERNEL, 0, 8, 2, 0});
}

START_TEST(an_interrupt_before_each_instruction)
{
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};

	ck_assert_int_eq(sigaction(SIGTRAP, &action, NULL), 0);
	set_trapped_program();
	is_stepping = true;
	set_trap_flag();
	call(KERNEL_START);
	is_stepping = false;
	check_calls(1);
	ck_assert_uint_gt(nr_visited, 200);
	for (unsigned i = 0; i < nr_visited; i++) {
		tear_down();
		set_up();
		set_trapped_program();
		trap_at = visited[i];
		under_trap = *(uint8_t *)trap_at;
		*(uint8_t *)trap_at = 0xcc;
		call(KERNEL_START);
		ck_assert_uint_eq(trap_at, 0);
		check_calls(2);
	}
}
END_TEST

/* -- stacks of programs ------------------------------------------------------------------------ */

#define USER_REGS_LEN 168
#define USER_REGS_OFF (sizeof(task_stack) - USER_REGS_LEN)
#define IP	      0x401234
#define NR_FRAMES     130

static void set_user_regs(uint64_t ip, uint64_t bp, uint64_t cs)
{
	uint8_t *regs = task_stack + USER_REGS_OFF;

	memcpy(regs + 32, &bp, 8);
	memcpy(regs + 128, &ip, 8);
	memcpy(regs + 136, &cs, 8);
}

/* Writes a frame record at AT that leads to NEXT. */
static void set_frame(uint64_t at, uint64_t next, uint64_t caller)
{
	memcpy(user_memory + (at - USER_START), &next, 8);
	memcpy(user_memory + (at - USER_START) + 8, &caller, 8);
}

/* Expects a stack of NR words at position AT: the ip, then callers 1, 2, ... Returns the position
 * after it. */
static uint64_t check_user_stack(uint64_t at, unsigned nr)
{
	uint64_t words[HV_USER_STACK_MAX] = {IP};
	struct entry e;

	for (unsigned i = 1; i < nr; i++)
		words[i] = i;
	SET_PROGRAM({HV_FETCH_USER_STACK, 0, HV_USER_STACK_MAX * 8, 9, USER_REGS_OFF},
		    {HV_FETCH_NUMBER, 0, 0, 10, KERNEL_START}, {READ_KERNEL, 0, 3, 10, 0});
	call(KERNEL_START);
	read_entry(0, at, &e);
	check_result(&e, 0, 9, words, nr * 8);
	check_result(&e, 1, 10, kernel_memory, 3);
	check_quiet();
	return e.end + 1;
}

START_TEST(the_stack_of_a_program)
{
	set_user_regs(IP, USER_START + 0x100, 0x33);
	for (uint64_t i = 0; i < NR_FRAMES; i++)
		set_frame(USER_START + 0x100 + 16 * i, USER_START + 0x100 + 16 * (i + 1), i + 1);
	check_user_stack(0, HV_USER_STACK_MAX);
}
END_TEST

/* A program without frame pointers uses the register for something else, such as an address of its
 * data, which is not on the stack. */
START_TEST(the_stack_of_a_program_without_frames)
{
	uint64_t sp = USER_START + 0x101, at;

	set_user_regs(IP, USER_START + 0x100, 0x33);
	set_frame(USER_START + 0x100, USER_START + 0x110, 1);
	memcpy(task_stack + USER_REGS_OFF + 152, &sp, 8);
	at = check_user_stack(0, 1);
	sp--;
	memcpy(task_stack + USER_REGS_OFF + 152, &sp, 8);
	set_frame(USER_START + 0x110, 0, 2);
	check_user_stack(at, 3);
}
END_TEST

/* The walk ends at a record that is not above the one before, cannot be read, or has no caller. */
START_TEST(a_corrupt_user_stack_ends_the_walk)
{
	static const uint64_t ends[] = {0,	   USER_START + 0x100, USER_START + 0x110,
					8,	   UINT64_C(1) << 63,  KERNEL_START,
					UINT64_MAX};

	set_user_regs(IP, USER_START + 0x100, 0x33);
	set_frame(USER_START + 0x100, USER_START + 0x110, 1);
	set_frame(USER_START + 0x110, ends[_i], 2);
	check_user_stack(0, 3);
}
END_TEST

START_TEST(the_stack_of_a_program_that_ends)
{
	uint64_t at;

	set_user_regs(IP, USER_START + 0x100, 0x33);
	set_frame(USER_START + 0x100, USER_START + 0x110, 0);
	at = check_user_stack(0, 1);
	set_frame(USER_START + 0x100, USER_START + 0x110, UINT64_MAX);
	at = check_user_stack(at, 1);
	set_user_regs(IP, USER_START + 1, 0x23); /* a 32-bit program */
	at = check_user_stack(at, 1);
	set_user_regs(IP, USER_START + 0x100, 0); /* a kernel thread */
	check_user_stack(at, 0);
}
END_TEST

#define SP	   (USER_START + 0xf00)
#define COPY_BYTES 512

static void set_user_sp(uint64_t sp)
{
	memcpy(task_stack + USER_REGS_OFF + 152, &sp, 8);
}

/* The registers, then LEN bytes of the stack at SP. Its record is at AT. Returns the position of the
 * next one. */
static uint64_t check_user_copy(uint64_t at, uint64_t sp, size_t len)
{
	uint8_t bytes[USER_REGS_LEN + HV_ENTRY_LEN_MAX];
	struct entry e;

	memcpy(bytes, task_stack + USER_REGS_OFF, USER_REGS_LEN);
	if (len)
		memcpy(bytes + USER_REGS_LEN, user_memory + (sp - USER_START), len);
	SET_PROGRAM({HV_FETCH_USER_COPY, 0, USER_REGS_LEN + COPY_BYTES, 9, USER_REGS_OFF},
		    {HV_FETCH_NUMBER, 0, 0, 10, KERNEL_START}, {READ_KERNEL, 0, 3, 10, 0});
	call(KERNEL_START);
	read_entry(0, at, &e);
	check_result(&e, 0, 9, bytes, USER_REGS_LEN + len);
	check_result(&e, 1, 10, kernel_memory, 3);
	check_quiet();
	return e.end + 1;
}

static void fill_user_memory(void)
{
	for (size_t i = 0; i < SPACE_BYTES; i++)
		user_memory[i] = (uint8_t)(i * 7 + i / 256);
	for (size_t i = 0; i < USER_REGS_LEN; i++)
		task_stack[USER_REGS_OFF + i] = (uint8_t)(i + 1);
	set_user_regs(IP, USER_START, 0x33);
}

/* The copy crosses a page, ends before a page that cannot be read, and is not aligned. */
START_TEST(a_copy_of_the_stack)
{
	const uint64_t end = USER_START + SPACE_BYTES;
	uint64_t at = 0;

	fill_user_memory();
	set_user_sp(SP);
	at = check_user_copy(at, SP, COPY_BYTES);
	ck_assert_uint_eq(nr_reads, 3);
	set_user_sp(end - 104);
	at = check_user_copy(at, end - 104, 104);
	set_user_sp(end - 3);
	at = check_user_copy(at, end - 3, 3);
	set_user_sp(USER_START + 1);
	at = check_user_copy(at, USER_START + 1, COPY_BYTES);
	set_user_sp(end - 4096);
	check_user_copy(at, end - 4096, COPY_BYTES);
}
END_TEST

START_TEST(the_rest_of_the_stack)
{
	static const uint64_t skips[] = {0, 1, 8, 0x100, 0xe00};
	uint8_t bytes[USER_REGS_LEN + COPY_BYTES];

	fill_user_memory();
	set_user_sp(SP);
	for (uint64_t i = 0, at = 0; i < HV_ARRAY_LEN(skips); i++) {
		struct entry e;

		memcpy(bytes, task_stack + USER_REGS_OFF, USER_REGS_LEN);
		memcpy(bytes + USER_REGS_LEN, user_memory + (SP - USER_START) + skips[i],
		       COPY_BYTES);
		SET_PROGRAM(
			{HV_FETCH_USER_COPY, 0, sizeof(bytes), 9, USER_REGS_OFF | skips[i] << 32});
		call(KERNEL_START);
		read_entry(0, at, &e);
		check_result(&e, 0, 9, bytes, sizeof(bytes));
		at = e.end + 1;
	}
	check_quiet();
}
END_TEST

/* The address of the rest overflows. */
START_TEST(the_rest_of_a_stack_that_lies)
{
	struct entry e;

	fill_user_memory();
	set_user_sp(UINT64_MAX - 7);
	SET_PROGRAM({HV_FETCH_USER_COPY, 0, USER_REGS_LEN + COPY_BYTES, 9,
		     USER_REGS_OFF | UINT64_C(0xfff) << 32});
	call(KERNEL_START);
	read_entry(0, 0, &e);
	check_result(&e, 0, 9, task_stack + USER_REGS_OFF, USER_REGS_LEN);
	check_quiet();
}
END_TEST

START_TEST(a_copy_of_the_stack_of_a_program_that_lies)
{
	static const uint64_t sps[] = {
		0, 8, UINT64_C(1) << 63, KERNEL_START, UINT64_MAX, (UINT64_C(1) << 63) - 8};

	fill_user_memory();
	set_user_sp(sps[_i]);
	check_user_copy(0, sps[_i], 0);
}
END_TEST

START_TEST(no_copy_of_the_stack)
{
	struct entry e;
	uint64_t at;

	fill_user_memory();
	set_user_sp(SP);
	set_user_regs(IP, USER_START, 0x23); /* of 32 bits */
	at = check_user_copy(0, SP, 0);
	set_user_regs(IP, USER_START, 0); /* a kernel thread */
	SET_PROGRAM({HV_FETCH_USER_COPY, 0, COPY_BYTES, 9, USER_REGS_OFF});
	call(KERNEL_START);
	read_entry(0, at, &e);
	check_result(&e, 0, 9, "", 0);
	/* no room for the registers, and registers outside of the stack */
	set_user_regs(IP, USER_START, 0x33);
	SET_PROGRAM({HV_FETCH_USER_COPY, 0, USER_REGS_LEN - 1, 9, USER_REGS_OFF},
		    {HV_FETCH_USER_COPY, 0, COPY_BYTES, 10, USER_REGS_OFF + 1});
	at = e.end + 1;
	call(KERNEL_START);
	read_entry(0, at, &e);
	check_result(&e, 0, 9, "", 0);
	ck_assert_uint_eq(e.len, RESULTS_OFF + HV_FETCH_HEAD);
	check_quiet();
}
END_TEST

/* The copy uses all room of an entry, and not more. */
START_TEST(the_longest_copy_of_the_stack)
{
	uint8_t *stack = user_memory;
	uint32_t tag;
	bool is_fault;
	struct hv_span copy;
	struct entry e;

	fill_user_memory();
	set_user_sp(USER_START + 8);
	fill_next_draft();
	SET_PROGRAM({HV_FETCH_USER_COPY, 0, UINT16_MAX, 9, USER_REGS_OFF});
	call(KERNEL_START);
	read_entry(0, 0, &e);
	copy = result_of(&e, RESULTS_OFF, 0, &tag, &is_fault);
	ck_assert_uint_ge(copy.len_bytes, USER_REGS_LEN + 3700);
	ck_assert_uint_le(e.len, HV_ENTRY_LEN_MAX - HV_ENTRY_HEADER_LEN);
	ck_assert(memcmp(copy.data + USER_REGS_LEN, stack + 8, copy.len_bytes - USER_REGS_LEN) ==
		  0);
	next_draft_is_as_filled();
	check_quiet();
}
END_TEST

/* -- hostile programs -------------------------------------------------------------------------- */

START_TEST(random_programs_stay_in_their_draft)
{
	uint8_t *bytes = (uint8_t *)program();

	srandom(1);
	for (unsigned n = 0; n < NR_PROGRAMS; n++) {
		struct entry e;
		uint64_t at = world_head(world, 0);

		for (size_t i = 0; i < HV_FETCH_STEPS_MAX * sizeof(struct hv_fetch_step); i++)
			bytes[i] = (uint8_t)random();
		for (unsigned i = 0; i < HV_FETCH_STEPS_MAX; i++)
			if (random() % 4) {
				program()[i].value = random() % 2 ? KERNEL_START : USER_START;
				program()[i].does =
					(uint8_t)(random() % 3 ? READ_KERNEL : random());
			}
		fill_next_draft();
		call(n % 2 ? 0 : (uint64_t)random());
		read_entry(0, at, &e);
		ck_assert_uint_le(e.len, HV_ENTRY_LEN_MAX - HV_ENTRY_HEADER_LEN);
		next_draft_is_as_filled();
		check_quiet();
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, values_bytes_and_strings);
	tcase_add_test(tc, unreadable_memory_ends_one_result);
	tcase_add_test(tc, missing_words_end_one_result);
	tcase_add_loop_test(tc, results_are_cut_at_the_entry_end, 0, 2);
	tcase_add_loop_test(tc, a_very_small_ring, 0, 2);
	tcase_add_loop_test(tc, a_program_without_end_terminates, 0, 2);
	tcase_add_test(tc, reading_is_not_recorded);
	tcase_add_test(tc, an_interrupt_is_recorded);
	tcase_add_test(tc, a_task_migrates_while_memory_is_read);
	tcase_add_test(tc, all_drafts_are_taken);
	tcase_add_test(tc, an_interrupt_before_each_instruction);
	tcase_add_test(tc, the_stack_of_a_program);
	tcase_add_test(tc, the_stack_of_a_program_without_frames);
	tcase_add_loop_test(tc, a_corrupt_user_stack_ends_the_walk, 0, 7);
	tcase_add_test(tc, the_stack_of_a_program_that_ends);
	tcase_add_test(tc, a_copy_of_the_stack);
	tcase_add_loop_test(tc, a_copy_of_the_stack_of_a_program_that_lies, 0, 6);
	tcase_add_test(tc, the_rest_of_the_stack);
	tcase_add_test(tc, the_rest_of_a_stack_that_lies);
	tcase_add_test(tc, no_copy_of_the_stack);
	tcase_add_test(tc, the_longest_copy_of_the_stack);
	tcase_add_test(tc, random_programs_stay_in_their_draft);
}

int main(void)
{
	return run_suite("trampoline_fetch", add_tests);
}
