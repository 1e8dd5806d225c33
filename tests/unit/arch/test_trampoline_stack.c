/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trampoline that records stacks, run natively on test stacks: which words are recorded, the
 * end of a stack, and commands. x86-64. */
#include <check.h>
#include <string.h>

#include "bench/native.h"
#include "ringbuf/ring.h"
#include "tests/lib/run_suite.h"
#include "tracer/events/decode.h"

#define NR_SLOTS    64
#define STACK_BYTES 0x4000
#define SITE	    WORLD_TRACED_OFF

/* Calls FUNCTION with the stack pointer SP and the frame pointer BP. */
typedef void (*call_on_fn)(void *sp, void *function, uint64_t bp);

extern const uint8_t call_on_code[], call_on_end[];
__asm__(".text\n"
	"call_on_code:\n"
	"	push %rbx\n"
	"	push %rbp\n"
	"	mov %rsp, %rbx\n"
	"	mov %rdi, %rsp\n"
	"	mov %rdx, %rbp\n"
	"	call *%rsi\n"
	"	mov %rbx, %rsp\n"
	"	pop %rbp\n"
	"	pop %rbx\n"
	"	ret\n"
	"call_on_end:\n");

/* Two stacks with an unrelated page between them. */
static struct {
	uint8_t before[0x1000];
	uint64_t task[STACK_BYTES / 8];
	uint8_t between[0x1000];
	uint64_t irq[STACK_BYTES / 8];
	uint8_t behind[0x1000];
} stacks __attribute__((aligned(0x1000)));

static struct world *world;
static call_on_fn call_on;
static struct hv_parts records;
static struct hv_stack_words words;

#define TEXT(n) (UINT64_C(0xffffffff80000000) + (n))

static void nothing_more(const struct world *w)
{
	(void)w;
}

static void set_up(void)
{
	/* The stacks may contain the address of the graph's handler. */
	static const struct world_case c = {"",		0, 0, nothing_more, WORLD_FUNCTION_STACK,
					    .hooked = 1};
	const char *lack = NULL;

	world = native_new(NR_SLOTS, &lack);
	ck_assert_msg(world != NULL, "%s", lack);
	memset(&stacks, 0, sizeof(stacks));
	world->stack_bytes = STACK_BYTES;
	world->task_stack = hv_gva((uintptr_t)stacks.task);
	world_set_up(world, &c);
	world_cpu(world)->irq_stack = hv_gva((uintptr_t)&stacks.irq[STACK_BYTES / 8 - 1]);
	call_on = (call_on_fn)native_place(world, call_on_code, call_on_end);
}

static void tear_down(void)
{
	native_free(world);
}

static uint32_t short_of(const void *address)
{
	return (uint32_t)(uintptr_t)address & 0x7fffffff;
}

/* Returns the record at POSITION with its key removed. Asserts that it was written for that
 * position. */
static struct hv_record record_at(uint64_t position)
{
	struct hv_record r = world_ring(world, 0)[position % NR_SLOTS];

	for (unsigned i = 0; i < 4; i++) {
		r.word[i] ^= hv_record_key(position, NR_SLOTS);
		ck_assert_uint_eq(r.word[i] & HV_RECORD_ZEROS, 0);
	}
	return r;
}

/* Reads the stack of the last event from the ring. Returns its record. */
static struct hv_record take(void)
{
	uint64_t head = world_head(world, 0);
	struct hv_record r = {0};

	records.nr = 0;
	for (uint64_t p = 0; p < head; p++) {
		r = record_at(p);
		if (hv_record_kind(&r) == HV_RECORD_WORDS)
			hv_parts_add(&records, &r, p, 0);
	}
	ck_assert_uint_eq(hv_record_kind(&r), HV_RECORD_STACK);
	ck_assert(hv_parts_are_of(&records, &r, head - 1, 0));
	hv_decode_words(&(struct hv_decode){.arch = &hv_arch_x86_64}, records.list, records.nr,
			&words);
	return r;
}

/* SP: after the return address of the call. */
static struct hv_record run_on(uint64_t *sp)
{
	call_on(sp, world->host + SITE, 0x123456789abcdef0);
	return take();
}

static void expect(size_t index, const uint64_t *at)
{
	ck_assert_uint_lt(index, words.nr);
	ck_assert_uint_eq(words.list[index].at, short_of(at));
	ck_assert_uint_eq(words.list[index].value, (uint32_t)*at & 0x7fffffff);
	ck_assert_uint_eq(words.list[index].is_text, *at >= TEXT(0));
}

START_TEST(text_addresses_and_links_are_recorded)
{
	uint64_t *sp = &stacks.task[2000], *end = stacks.task + STACK_BYTES / 8;
	struct hv_record r;

	sp[1] = TEXT(0x1234567);
	sp[2] = (uintptr_t)&sp[20];
	sp[3] = (uintptr_t)&sp[1]; /* leads down */
	sp[4] = TEXT(0) - 1;
	sp[5] = TEXT(0);
	sp[6] = UINT64_MAX;
	sp[7] = 0xffff888000001234;
	sp[8] = (uintptr_t)end;
	sp[9] = (uintptr_t)end + 8;
	sp[10] = 0x00007f0081000000;
	end[-1] = TEXT(7);
	*end = TEXT(8); /* after the stack */
	sp[-5] = TEXT(9);
	r = run_on(sp);
	ck_assert_uint_eq(words.nr, 6);
	expect(0, &sp[1]);
	expect(1, &sp[2]);
	expect(2, &sp[5]);
	expect(3, &sp[6]);
	expect(4, &sp[8]);
	expect(5, end - 1);
	ck_assert_uint_eq(words.sp, short_of(sp - 1));
	ck_assert_uint_eq(words.bp, 0x1abcdef0);
	ck_assert_uint_eq((uint32_t)r.word[1] & 0x7fffffff,
			  world_gva(world, SITE).v + hv_arch_x86_64.site_len_bytes);
	ck_assert_uint_eq(r.word[2] >> HV_CALL_PID_SHIFT, world_cpu(world)->cat.pid);
	ck_assert_uint_eq(r.word[3] >> HV_STACK_COMMAND_BIT & 1, 0);
	/* the function, the words' first record, two of three words, the stack */
	ck_assert_uint_eq(world_head(world, 0), 5);
}
END_TEST

/* hardirq_stack_ptr is the last word of an interrupt stack or, before 5.12, its end. The last word
 * leads to the task's stack. */
START_TEST(through_an_interrupt_stack)
{
	uint64_t *sp = &stacks.irq[2000], *task = &stacks.task[1900];
	uint64_t *link = &stacks.irq[STACK_BYTES / 8 - 1];

	world_cpu(world)->irq_stack = hv_gva((uintptr_t)(link + _i));
	sp[1] = TEXT(1);
	sp[2] = (uintptr_t)&task[3];
	link[1] = TEXT(2);
	*link = (uintptr_t)task;
	task[-1] = TEXT(3); /* below the interrupted task's sp */
	task[0] = TEXT(4);
	task[5] = (uintptr_t)&task[7];
	task[6] = (uintptr_t)&stacks.task[7];
	stacks.task[STACK_BYTES / 8 - 1] = TEXT(5);
	run_on(sp);
	ck_assert_uint_eq(words.nr, 6);
	expect(0, &sp[1]);
	expect(1, &sp[2]);
	expect(2, link);
	expect(3, &task[0]);
	expect(4, &task[5]);
	expect(5, &stacks.task[STACK_BYTES / 8 - 1]);
}
END_TEST

START_TEST(an_invalid_link_ends_the_walk)
{
	uint64_t *sp = &stacks.irq[2000], *link = &stacks.irq[STACK_BYTES / 8 - 1];

	*link = 8; /* nothing is mapped there */
	sp[1] = TEXT(1);
	run_on(sp);
	ck_assert_uint_eq(words.nr, 1);
	*link = (uintptr_t)stacks.task + STACK_BYTES;
	run_on(sp);
	ck_assert_uint_eq(words.nr, 1);
}
END_TEST

/* On a stack that is neither the task's nor the CPU's, only the current page counts. */
START_TEST(on_an_unknown_stack_only_the_page_counts)
{
	uint64_t *sp = (uint64_t *)stacks.between + 200;

	sp[1] = TEXT(1);
	((uint64_t *)stacks.between)[511] = TEXT(2);
	stacks.irq[0] = TEXT(3);
	run_on(sp);
	ck_assert_uint_eq(words.nr, 2);
	expect(0, &sp[1]);
	expect(1, (uint64_t *)stacks.between + 511);
}
END_TEST

/* If there is no room for all words, the first ones are recorded. */
START_TEST(more_words_than_room)
{
	uint64_t *sp = &stacks.task[100];

	for (unsigned i = 1; sp + i < stacks.task + STACK_BYTES / 8; i++)
		sp[i] = TEXT(i);
	run_on(sp);
	ck_assert_uint_eq(words.nr, 3 * (NR_SLOTS / 2 - 1));
	for (unsigned i = 0; i < words.nr; i++)
		expect(i, &sp[1 + i]);
}
END_TEST

/* Returns the key of the return stack for the kernel stack that contains RETP. */
static uint64_t key_of(const uint64_t *retp)
{
	uint64_t mask = ~(uint64_t)(STACK_BYTES - 1);

	if (retp < stacks.irq || retp >= stacks.irq + STACK_BYTES / 8)
		return (uintptr_t)retp & mask;
	return ((uintptr_t)&stacks.irq[STACK_BYTES / 8 - 1] & mask) | HV_STACK_IRQ;
}

/* Replaces return addresses by the handler's address, and stores the original ones in frames. */
static struct hv_stack *hook(uint64_t *retps[], size_t nr)
{
	uint64_t key = key_of(retps[0]);
	struct hv_stack *stack = world_home(world, key);

	/* Another stack can have the same home bucket. */
	while (stack->word && (stack->word & ~(uint64_t)HV_STACK_NR_MASK) != key)
		stack++;
	stack->word = key | nr * sizeof(struct hv_frame);
	for (size_t i = 0; i < nr; i++) {
		*retps[i] = world_handler(world).v;
		stack->frames[i] = (struct hv_frame){.retp_gva = (uintptr_t)retps[i],
						     .caller_gva = TEXT(100 + i)};
	}
	return stack;
}

static void expect_caller(size_t index, const uint64_t *at, uint64_t caller)
{
	ck_assert_uint_lt(index, words.nr);
	ck_assert_uint_eq(words.list[index].at, short_of(at));
	ck_assert_uint_eq(words.list[index].value, (uint32_t)caller & 0x7fffffff);
	ck_assert(words.list[index].is_text);
}

START_TEST(through_a_graph)
{
	uint64_t *sp = &stacks.task[1900];
	uint64_t *retps[] = {&sp[9], &sp[5], &sp[-1]};
	struct hv_stack *stack = hook(retps, 2);

	sp[2] = TEXT(1);
	run_on(sp);
	ck_assert_uint_eq(words.nr, 3);
	expect(0, &sp[2]);
	expect_caller(1, &sp[5], TEXT(101));
	expect_caller(2, &sp[9], TEXT(100));
	/* The return stack is not in its home bucket. */
	stack[2] = stack[0];
	stack[0].word ^= 0x1000000;
	run_on(sp);
	expect_caller(2, &sp[9], TEXT(100));
}
END_TEST

/* A jump from one traced function to another: both calls share the retp. */
START_TEST(through_a_jump)
{
	uint64_t *sp = &stacks.task[1900];
	uint64_t *retps[] = {&sp[9], &sp[5], &sp[5], &sp[5]};
	struct hv_stack *stack = hook(retps, 4);

	stack->frames[2].caller_gva = stack->frames[3].caller_gva = world_handler(world).v;
	run_on(sp);
	expect_caller(0, &sp[5], TEXT(101));
	expect_caller(1, &sp[9], TEXT(100));
}
END_TEST

/* Two frames that contradict each other, a frame whose caller is not code, an impossible return
 * stack, and a retp without a frame: the trampoline records the handler's address. */
START_TEST(a_return_stack_that_contradicts_the_stack)
{
	uint64_t *sp = &stacks.task[1900];
	uint64_t *retps[] = {&sp[9], &sp[5], &sp[3]};
	struct hv_stack *stack = hook(retps, 3);
	uint64_t handler = world_handler(world).v;

	stack->frames[2].retp_gva = stack->frames[0].retp_gva;
	stack->frames[1].caller_gva = 0xffff888081234567;
	run_on(sp);
	ck_assert_uint_eq(words.nr, 3);
	for (unsigned i = 0; i < 3; i++)
		expect_caller(i, retps[2 - i], handler);
	hook(retps, 3);
	stack->word += HV_FRAMES_MAX * sizeof(struct hv_frame);
	run_on(sp);
	expect_caller(0, &sp[3], handler);
	stack->word = 0;
	run_on(sp);
	expect_caller(0, &sp[3], handler);
}
END_TEST

/* The interrupted stack has its own return stack. */
START_TEST(through_a_graph_of_two_stacks)
{
	uint64_t *sp = &stacks.irq[1900], *task = &stacks.task[1900];
	uint64_t *last = &stacks.irq[STACK_BYTES / 8 - 1];
	uint64_t *on_irq[] = {last - 3}, *on_task[] = {&task[2]};

	*last = (uintptr_t)task;
	hook(on_task, 1)->frames[0].caller_gva = TEXT(200);
	hook(on_irq, 1);
	run_on(sp);
	ck_assert_uint_eq(words.nr, 3);
	expect_caller(0, last - 3, TEXT(100));
	expect(1, last);
	expect_caller(2, &task[2], TEXT(200));
}
END_TEST

static void command(unsigned does, bool goes_on)
{
	const struct hv_trampoline_image *trampolines = &hv_arch_x86_64.trampolines;
	struct hv_action_group *groups =
		(struct hv_action_group *)(world->host + WORLD_TRAMPOLINES_OFF +
					   HV_ACTION_GROUPS_OFF);
	uint64_t entry = trampolines->actions_off + 9 * trampolines->action_len_bytes;

	groups[9].does = does;
	groups[9].goes_on =
		goes_on ? (uint32_t)(HV_TRAMPOLINES_CODE_OFF + trampolines->function_off) : 0;
	ck_assert(hv_arch_x86_64.encode_call(world_gva(world, SITE),
					     world_gva(world, WORLD_CODE_OFF + entry),
					     world->host + SITE));
}

static unsigned kind_at(uint64_t position)
{
	struct hv_record r = record_at(position);

	return hv_record_kind(&r);
}

static void call(uint64_t nr_records)
{
	world_state(world, 0)->head = hv_ring_head_at(0, NR_SLOTS);
	memset(world_ring(world, 0), 0, NR_SLOTS * sizeof(struct hv_record));
	call_on(&stacks.task[2000], world->host + SITE, 0);
	ck_assert_uint_eq(world_head(world, 0), nr_records);
}

START_TEST(a_command)
{
	struct hv_record r;

	stacks.task[2001] = TEXT(1);
	command(HV_DOES_STACK, false);
	call(3);
	r = take();
	ck_assert_uint_eq(r.word[3] >> HV_STACK_COMMAND_BIT & 1, 1);
	ck_assert_uint_eq(words.nr, 1);
	command(HV_DOES_STACK, true);
	call(4);
	ck_assert_uint_eq(kind_at(2), HV_RECORD_STACK);
	ck_assert_uint_eq(kind_at(3), HV_RECORD_FUNCTION);
	world_control(world)->mode = HV_MODE_OFF;
	call(0);
}
END_TEST

static unsigned bit_at(uint64_t position, unsigned bit)
{
	struct hv_record r = record_at(position);

	return r.word[3] >> bit & 1;
}

/* A stack is recorded if it is a task's and deeper than all before, also while recording is off. */
START_TEST(a_deeper_stack)
{
	/* Counted from the word with the address of the site's end. */
	const uint64_t depth = STACK_BYTES - 2000 * 8 + 16;
	uint64_t *deepest = &world_control(world)->deepest;

	stacks.task[2001] = TEXT(1);
	command(HV_DOES_DEEPEST, false);
	call(3);
	ck_assert_uint_eq(*deepest, depth);
	ck_assert_uint_eq(bit_at(2, HV_STACK_DEEPEST_BIT), 1);
	ck_assert_uint_eq(bit_at(2, HV_STACK_SECTION_BIT), 1);
	ck_assert_uint_eq(bit_at(2, HV_STACK_COMMAND_BIT), 1);
	call(0);
	*deepest = depth - 8;
	world_control(world)->mode = HV_MODE_OFF | HV_MODE_CPUS;
	world_state(world, 0)->muted = 1;
	call(3);
	take();
	ck_assert_uint_eq(words.nr, 1);
	ck_assert_uint_eq(bit_at(2, HV_STACK_SECTION_BIT), 1);
	ck_assert_uint_eq(*deepest, depth);
	*deepest = UINT64_MAX;
	call(0);
}
END_TEST

/* One record is both the deepest stack and the command's. */
START_TEST(a_deeper_stack_of_a_command)
{
	stacks.task[2001] = TEXT(1);
	command(HV_DOES_DEEPEST | HV_DOES_STACK, true);
	call(4);
	ck_assert_uint_eq(bit_at(2, HV_STACK_DEEPEST_BIT), 1);
	ck_assert_uint_eq(bit_at(2, HV_STACK_SECTION_BIT), 0);
	ck_assert_uint_eq(bit_at(2, HV_STACK_COMMAND_BIT), 1);
	call(4); /* not deeper */
	ck_assert_uint_eq(bit_at(2, HV_STACK_DEEPEST_BIT), 0);
	ck_assert_uint_eq(bit_at(2, HV_STACK_COMMAND_BIT), 1);
	ck_assert_uint_eq(kind_at(3), HV_RECORD_FUNCTION);
}
END_TEST

/* A call on a stack above or below the task's stack does not count. */
START_TEST(depth_counts_only_on_the_task_stack)
{
	command(HV_DOES_DEEPEST, false);
	call_on((uint64_t *)stacks.between + 200, world->host + SITE, 0);
	ck_assert_uint_eq(world_head(world, 0), 0);
	call_on((uint64_t *)stacks.before + 500, world->host + SITE, 0);
	ck_assert_uint_eq(world_head(world, 0), 0);
	ck_assert_uint_eq(world_control(world)->deepest, 0);
}
END_TEST

START_TEST(counted_commands)
{
	command(HV_DOES_STACK_COUNTED | HV_DOES_REPORT_COUNTED, true);
	world_control(world)->left[9].stack = 2;
	world_control(world)->left[9].report = 1;
	call(4); /* an empty stack still has a first record of words */
	ck_assert_uint_eq(kind_at(1), HV_RECORD_STACK);
	ck_assert_uint_eq(kind_at(2), HV_RECORD_COMMAND);
	ck_assert_uint_eq(kind_at(3), HV_RECORD_FUNCTION);
	ck_assert_int_eq(world_control(world)->left[9].report, 0);
	call(3);
	ck_assert_int_eq(world_control(world)->left[9].stack, 0);
	call(1);
	ck_assert_int_eq(world_control(world)->left[9].stack, 0);
	world_control(world)->left[9].stack = -1;
	call(1);
	ck_assert_int_eq(world_control(world)->left[9].stack, -1);
	/* a snapshot is also taken while recording is off or paused */
	world_control(world)->mode = HV_MODE_OFF;
	world_control(world)->left[9].stack = world_control(world)->left[9].report = 5;
	call(1);
	ck_assert_uint_eq(kind_at(0), HV_RECORD_COMMAND);
	ck_assert_int_eq(world_control(world)->left[9].stack, 5);
	ck_assert_int_eq(world_control(world)->left[9].report, 4);
	world_control(world)->mode = HV_MODE_PAUSED;
	call(1);
	ck_assert_uint_eq(kind_at(0), HV_RECORD_COMMAND);
	ck_assert_int_eq(world_control(world)->left[9].stack, 5);
	ck_assert_int_eq(world_control(world)->left[9].report, 3);
}
END_TEST

START_TEST(commands_that_switch)
{
	command(HV_DOES_ON | HV_DOES_STACK | HV_DOES_REPORT, false);
	world_control(world)->mode = HV_MODE_OFF;
	call(3);
	ck_assert_uint_eq(world_control(world)->mode, 0);
	command(HV_DOES_OFF | HV_DOES_STACK | HV_DOES_REPORT, true);
	call(1);
	ck_assert_uint_eq(kind_at(0), HV_RECORD_COMMAND);
}
END_TEST

/* Whatever the guest writes into a head: see test_trampoline_x86_64.c. */
START_TEST(any_head_keeps_the_stack_in_the_ring)
{
	static const uint64_t heads[] = {0, 17, NR_SLOTS * sizeof(struct hv_record) - 1,
					 UINT64_MAX - 70, UINT64_MAX};
	uint8_t was[WORLD_LEN(NR_SLOTS)];
	uint64_t end = world_state_off(world, 1);

	for (unsigned i = 1; i <= 10; i++)
		stacks.task[2000 + i] = TEXT(i);
	for (unsigned i = 0; i < HV_ARRAY_LEN(heads); i++) {
		world_state(world, 0)->head = heads[i];
		memcpy(was, world->host, sizeof(was));
		call_on(&stacks.task[2000], world->host + SITE, 0);
		/* the function, the words' first record, four of three words, the stack */
		ck_assert_uint_eq(world_state(world, 0)->head,
				  heads[i] + 7 * sizeof(struct hv_record));
		ck_assert_mem_eq(was, world->host, world_state_off(world, 0));
		ck_assert_mem_eq(was + end, world->host + end, sizeof(was) - end);
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, text_addresses_and_links_are_recorded);
	tcase_add_loop_test(tc, through_an_interrupt_stack, 0, 2);
	tcase_add_test(tc, an_invalid_link_ends_the_walk);
	tcase_add_test(tc, on_an_unknown_stack_only_the_page_counts);
	tcase_add_test(tc, more_words_than_room);
	tcase_add_test(tc, through_a_graph);
	tcase_add_test(tc, through_a_jump);
	tcase_add_test(tc, a_return_stack_that_contradicts_the_stack);
	tcase_add_test(tc, through_a_graph_of_two_stacks);
	tcase_add_test(tc, any_head_keeps_the_stack_in_the_ring);
	tcase_add_test(tc, a_command);
	tcase_add_test(tc, a_deeper_stack);
	tcase_add_test(tc, a_deeper_stack_of_a_command);
	tcase_add_test(tc, depth_counts_only_on_the_task_stack);
	tcase_add_test(tc, counted_commands);
	tcase_add_test(tc, commands_that_switch);
}

int main(void)
{
	return run_suite("trampoline_stack", add_tests);
}
