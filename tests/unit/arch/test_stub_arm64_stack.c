/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks as arm64's stub records them, the very bytes that a guest gets, on an emulated CPU: which
 * records are followed, where a stack ends, what the frames of a graph tell, commands; and every
 * path disturbed before each instruction. What is behind the interrupt stack is not mapped. */
#include <check.h>
#include <string.h>

#include "kernel/unwind.h"
#include "ringbuf/ring.h"
#include "tests/lib/arm64_world.h"
#include "tests/lib/run_suite.h"
#include "tracer/events/decode.h"
#include "tracer/events/parts.h"

#define SLOT		7
#define INTERRUPT_FRAME 0x150 /* as much as the kernel pushes */
#define HARDIRQ		0x10000
#define FIRST_FREE	9 /* of the registers that a stub may change */
#define LAST_FREE	17
#define SIGNATURE	UINT64_C(0x005a000000000000)
#define STEP		(2 * sizeof(struct arm64_record))

static struct arm64_world *world;

static const struct hv_decode decode = {
	.arch = &hv_arch_arm64,
	.text_base = {ARM64_WORLD_TEXT_BASE},
};

/* What was recorded of a call. */
struct stack {
	unsigned functions, commands, stacks, tasks;
	bool of_command;
	struct hv_stack_words words;
	struct hv_gva list[HV_CALLERS_MAX];
	size_t nr;
	bool early;
};

static const struct arm64_case *case_named(const char *name)
{
	for (unsigned i = 0; i < arm64_nr_stack_cases; i++)
		if (strcmp(arm64_stack_cases[i].name, name) == 0)
			return &arm64_stack_cases[i];
	ck_abort_msg("no case %s", name);
	return NULL;
}

static void set_up(void)
{
	world = arm64_world_new();
	arm64_world_set_up(world, case_named("record and stack"));
}

static void tear_down(void)
{
	arm64_world_free(world);
}

static void take_stack(const struct hv_parts *parts, const struct hv_record *record,
		       uint64_t position, struct stack *ret)
{
	ck_assert(hv_parts_are_of(parts, record, position, 0));
	hv_decode_words(&decode, parts->list, parts->nr, &ret->words);
	ret->nr = hv_unwind_records(&ret->words, ret->list, HV_CALLERS_MAX, &ret->early);
	ret->of_command = record->word[3] >> HV_STACK_COMMAND_BIT & 1;
	ret->stacks++;
}

/* What the ring of CPU says about the function at OFF. Everything there must be complete. */
static void read_ring(unsigned cpu, uint64_t off, struct stack *ret)
{
	static struct hv_parts parts;
	struct hv_record record;
	struct hv_ring ring;
	uint64_t lost = 0;

	parts.nr = 0;
	hv_ring_init(&ring, arm64_world_state(world, cpu), arm64_world_ring(world, cpu),
		     ARM64_WORLD_NR_SLOTS);
	for (uint64_t p = 0; hv_ring_read(&ring, 0, &record, &lost) == HV_RING_RECORD; p++) {
		struct hv_call_addresses at = hv_arch_arm64.decode_call(record.word[1]);
		unsigned kind = hv_record_kind(&record);

		ret->tasks += kind == HV_RECORD_TASK;
		if (kind == HV_RECORD_WORDS)
			hv_parts_add(&parts, &record, p, 0);
		if (kind == HV_RECORD_TASK || kind == HV_RECORD_WORDS ||
		    (at.site_end | HV_TEXT_BIT) != arm64_world_site_end(off))
			continue;
		ret->functions += kind == HV_RECORD_FUNCTION;
		ret->commands += kind == HV_RECORD_COMMAND;
		if (kind == HV_RECORD_STACK)
			take_stack(&parts, &record, p, ret);
	}
	ck_assert_uint_eq(lost, 0);
	ck_assert_uint_eq(ring.position, hv_ring_head(&ring));
}

static struct stack read_rings(uint64_t off)
{
	struct stack s = {0};

	for (unsigned cpu = 0; cpu < ARM64_WORLD_NR_CPUS; cpu++)
		read_ring(cpu, off, &s);
	return s;
}

/* The function has returned, and all registers are what they were but those that are free. */
static void check_kept(const struct arm64_regs *before)
{
	struct arm64_regs after;

	arm64_world_get(world, &after);
	ck_assert_uint_eq(after.x[0], before->x[1]); /* what the function returns */
	for (unsigned i = 1; i < HV_ARRAY_LEN(after.x); i++)
		if (i < FIRST_FREE || i > LAST_FREE)
			ck_assert_uint_eq(after.x[i], before->x[i]);
	ck_assert_uint_eq(after.sp, before->sp);
}

/* The stack pointer, then the frame pointer of the caller */
static void call_at(uint64_t sp, uint64_t fp)
{
	struct arm64_regs before;

	world->fp = fp;
	arm64_world_enter(world, ARM64_WORLD_TRACED_OFF, ARM64_WORLD_CALLER_OFF, sp);
	arm64_world_get(world, &before);
	ck_assert(arm64_world_run(world, ARM64_WORLD_CALLER_OFF));
	check_kept(&before);
}

/* Empties the ring first. */
static struct stack call(uint64_t sp, uint64_t fp)
{
	arm64_world_state(world, 0)->head = hv_ring_head_at(0, ARM64_WORLD_NR_SLOTS);
	memset(arm64_world_ring(world, 0), 0, ARM64_WORLD_NR_SLOTS * sizeof(struct hv_record));
	call_at(sp, fp);
	return read_rings(ARM64_WORLD_TRACED_OFF);
}

/* The first caller is that of the call, then come NR records from the FIRST on. */
static void expect(const struct stack *s, unsigned first, unsigned nr, bool early)
{
	ck_assert_uint_eq(s->stacks, 1);
	ck_assert_uint_eq(s->nr, nr + 1);
	ck_assert_uint_eq(s->list[0].v, arm64_world_gva(ARM64_WORLD_CALLER_OFF));
	for (unsigned i = 0; i < nr; i++)
		ck_assert_uint_eq(s->list[1 + i].v, arm64_world_caller(first + i));
	ck_assert_int_eq(s->early, early);
}

static struct arm64_record *record_at(uint64_t fp)
{
	return arm64_world_record(world, fp);
}

START_TEST(the_callers_in_order)
{
	uint64_t fp = ARM64_WORLD_RECORDS(0);
	struct stack s;

	for (unsigned nr = 0; nr <= 12; nr++) {
		arm64_world_chain(world, fp, 0, nr);
		s = call(fp, fp);
		expect(&s, 0, nr, false);
		ck_assert_uint_eq(s.functions, 1);
		ck_assert(!s.of_command);
		/* the function, the first record, three words in each, the stack */
		ck_assert_uint_eq(arm64_world_state(world, 0)->head,
				  hv_ring_head_at(3 + (nr + 2 + 2) / 3, ARM64_WORLD_NR_SLOTS));
	}
}
END_TEST

START_TEST(signatures_are_removed)
{
	uint64_t fp = ARM64_WORLD_RECORDS(0);
	struct stack s;

	arm64_world_chain(world, fp, 0, 3);
	record_at(fp)->caller ^= SIGNATURE;
	record_at(fp + STEP)->caller ^= SIGNATURE >> 1;
	s = call(fp, fp);
	expect(&s, 0, 3, false);
}
END_TEST

/* A third record that is not one: nothing is read there. */
START_TEST(what_ends_a_stack)
{
	uint64_t fp = ARM64_WORLD_RECORDS(2), end = arm64_world_stack_end(2);
	uint64_t bad[] = {0,
			  1,
			  UINT64_MAX,
			  fp + 2 * STEP + 4,
			  fp - STEP,
			  fp,
			  fp + STEP,
			  fp + STEP + 8,
			  end - 8,
			  end,
			  end + 0x1000,
			  ARM64_WORLD_RECORDS(1),
			  arm64_world_gva(0)};
	struct stack s;

	arm64_world_tasks(world)->cat.stack = arm64_world_key(2);
	arm64_world_tasks(world)->irq_stack = arm64_world_key(1);
	for (unsigned i = 0; i < HV_ARRAY_LEN(bad); i++) {
		arm64_world_chain(world, fp, 0, 6);
		record_at(fp + STEP)->next = bad[i];
		s = call(fp - 0x40, fp);
		expect(&s, 0, 2, true);
	}
	/* The last place where a record can be. */
	record_at(fp + STEP)->next = end - sizeof(struct arm64_record);
	*record_at(end - sizeof(struct arm64_record)) = (struct arm64_record){0};
	s = call(fp - 0x40, fp);
	expect(&s, 0, 2, false);
	/* What is no text. */
	arm64_world_chain(world, fp, 0, 6);
	record_at(fp + 2 * STEP)->caller = ARM64_WORLD_TEXT_BASE + HV_TEXT_BIT - 4;
	s = call(fp - 0x40, fp);
	expect(&s, 0, 2, true);
	record_at(fp + 2 * STEP)->caller = ARM64_WORLD_TEXT_BASE + (UINT64_C(1) << 32);
	s = call(fp - 0x40, fp);
	expect(&s, 0, 2, true);
	/* An exception of a kernel that makes no record for it. */
	end = arm64_world_chain(world, fp, 0, 2);
	record_at(end)[1].next = 2;
	s = call(fp - 0x40, fp);
	expect(&s, 0, 2, true);
	record_at(end)[1].next = 1;
	s = call(fp - 0x40, fp);
	expect(&s, 0, 2, false);
}
END_TEST

/* The function is the first on its stack: the stack pointer is the end. */
START_TEST(from_the_interrupt_stack_to_the_tasks)
{
	uint64_t irq = arm64_world_stack_end(2), fp = ARM64_WORLD_RECORDS(0);
	struct stack s;

	arm64_world_chain(world, fp, 0, 4);
	s = call(irq, fp);
	expect(&s, 0, 4, false);
	/* From some depth; and not back. */
	arm64_world_chain(world, irq - 0x100, 0, 2);
	record_at(irq - 0x100 + STEP)->next = fp;
	arm64_world_chain(world, fp, 2, 4);
	s = call(irq - 0x180, irq - 0x100);
	expect(&s, 0, 6, false);
	record_at(fp + STEP)->next = irq - 0x80;
	arm64_world_chain(world, irq - 0x80, 4, 1);
	s = call(irq - 0x180, irq - 0x100);
	expect(&s, 0, 4, true);
	/* A task's stack leads to no other one. */
	s = call(fp, irq - 0x100);
	expect(&s, 0, 0, true);
}
END_TEST

/* Of a stack that is neither the task's nor the CPU's, what is in its page. */
START_TEST(any_other_stack)
{
	uint64_t page = arm64_world_stack_end(2) - 0x1000;
	struct stack s;

	arm64_world_tasks(world)->irq_stack = arm64_world_key(1);
	arm64_world_chain(world, page - 0x100, 0, 2);
	record_at(page - 0x100 + STEP)->next = page;
	arm64_world_chain(world, page, 2, 2);
	s = call(page - 0x200, page - 0x100);
	expect(&s, 0, 2, true);
	record_at(page - 0x100 + STEP)->next = page - 16;
	*record_at(page - 16) = (struct arm64_record){0};
	s = call(page - 0x200, page - 0x100);
	expect(&s, 0, 2, false);
	s = call(page, page);
	expect(&s, 0, 0, true);
}
END_TEST

/* Of more callers than a ring has room for, the first. */
START_TEST(more_callers_than_room)
{
	uint64_t fp = arm64_world_key(0) + 0x400;
	struct stack s;

	arm64_world_chain(world, fp, 0, 200);
	s = call(fp, fp);
	expect(&s, 0, 3 * (ARM64_WORLD_NR_SLOTS / 2 - 1) - 1, true);
}
END_TEST

/* -- below a graph -----------------------------------------------------------------------------
 */

static uint64_t handler(void)
{
	return arm64_world_gva(ARM64_WORLD_CODE_OFF + hv_arch_arm64.stubs.handler_off);
}

/* NR frames of the kernel stack, each of the function whose record is at the place with its number:
 * the slot is as high as it can be. */
static struct hv_stack *hook(unsigned stack_nr, uint64_t fp, unsigned nr, uint64_t flags)
{
	struct hv_stack *stack = arm64_world_home(world, stack_nr);
	uint64_t key = arm64_world_key(stack_nr) | flags;

	stack = arm64_world_stack(world, hv_stack_home(key, ARM64_WORLD_HOMES_SHIFT));
	while (stack->word && (stack->word & ~(uint64_t)HV_STACK_NR_MASK) != key)
		stack++;
	stack->word = key | nr * sizeof(struct hv_frame);
	for (unsigned i = 0; i < nr; i++) {
		struct arm64_record *r = record_at(fp + i * STEP);

		stack->frames[i] =
			(struct hv_frame){.slot_gva = fp + (i + 1) * STEP, .caller_gva = r->caller};
		r->caller = handler() ^ (i % 2 ? SIGNATURE : 0);
	}
	return stack;
}

START_TEST(through_a_graph)
{
	uint64_t fp = ARM64_WORLD_RECORDS(0);
	struct hv_stack *stack;
	struct stack s;

	arm64_world_chain(world, fp, 0, 6);
	stack = hook(0, fp + STEP, 3, 0);
	s = call(fp, fp);
	expect(&s, 0, 6, false);
	/* As low as a slot can be. */
	stack->frames[1].slot_gva = fp + 2 * STEP + sizeof(struct arm64_record);
	s = call(fp, fp);
	expect(&s, 0, 6, false);
	/* The same in another place than its home. */
	stack[2] = stack[0];
	stack[0].word ^= 0x1000000;
	s = call(fp, fp);
	expect(&s, 0, 6, false);
}
END_TEST

/* Jumps from one traced function to another: the slot is both's. The caller may be one of them. */
START_TEST(through_jumps)
{
	uint64_t fp = ARM64_WORLD_RECORDS(0);
	struct hv_stack *stack;
	struct arm64_regs regs;
	struct stack s;

	arm64_world_chain(world, fp, 0, 3);
	stack = hook(0, fp, 1, 0);
	stack->word += 3 * sizeof(struct hv_frame);
	stack->frames[1] = (struct hv_frame){.slot_gva = fp + STEP, .caller_gva = handler()};
	stack->frames[2] = (struct hv_frame){.slot_gva = fp,
					     .caller_gva = arm64_world_gva(ARM64_WORLD_CALLER_OFF)};
	stack->frames[3] = (struct hv_frame){.slot_gva = fp, .caller_gva = handler()};
	world->fp = fp;
	arm64_world_enter(world, ARM64_WORLD_TRACED_OFF, ARM64_WORLD_CALLER_OFF, fp);
	arm64_world_get(world, &regs);
	regs.x[30] = handler();
	arm64_world_set(world, &regs);
	ck_assert(arm64_world_run(world, ARM64_WORLD_CODE_OFF + hv_arch_arm64.stubs.handler_off));
	s = read_rings(ARM64_WORLD_TRACED_OFF);
	expect(&s, 0, 3, false);
}
END_TEST

static void expect_handler(const struct stack *s, unsigned at)
{
	ck_assert_uint_gt(s->words.nr, at);
	ck_assert(s->words.list[at].is_text);
	ck_assert_uint_eq(s->words.list[at].value,
			  (handler() - ARM64_WORLD_TEXT_BASE) & 0x7fffffff);
}

/* Two frames that say different things, a return stack of which nothing can be so, and a record
 * that no frame has: the handler's address, and the stack goes on. */
START_TEST(a_graph_that_does_not_tell)
{
	uint64_t fp = ARM64_WORLD_RECORDS(0);
	struct hv_stack *stack;
	struct stack s;

	arm64_world_chain(world, fp, 0, 4);
	stack = hook(0, fp, 2, 0);
	stack->frames[0].slot_gva = stack->frames[1].slot_gva;
	s = call(fp, fp);
	expect_handler(&s, 1);
	expect_handler(&s, 2);
	ck_assert_uint_eq(s.list[3].v, arm64_world_caller(2));
	stack->word += HV_FRAMES_MAX * sizeof(struct hv_frame);
	stack->frames[0].slot_gva = fp + STEP;
	s = call(fp, fp);
	expect_handler(&s, 1);
	stack->word = 0;
	s = call(fp, fp);
	expect_handler(&s, 2);
}
END_TEST

/* What an interrupt came on has a return stack of its own. The function that was called on the
 * empty interrupt stack has its end as slot. */
START_TEST(through_a_graph_of_two_stacks)
{
	uint64_t irq = arm64_world_stack_end(2) - 0x100, fp = ARM64_WORLD_RECORDS(0);
	struct hv_stack *stack;
	struct stack s;

	arm64_world_chain(world, irq, 0, 2);
	record_at(irq + STEP)->next = fp;
	arm64_world_chain(world, fp, 2, 3);
	stack = hook(2, irq, 2, HV_STACK_IRQ);
	stack->frames[1].slot_gva = arm64_world_stack_end(2);
	hook(0, fp, 2, 0);
	s = call(irq - 0x40, irq);
	expect(&s, 0, 5, false);
}
END_TEST

/* -- commands ----------------------------------------------------------------------------------
 */

static void command(uint32_t does, bool records)
{
	arm64_world_call_action(world, SLOT, does, records);
}

static struct stack call_plain(void)
{
	return call(ARM64_WORLD_RECORDS(0), ARM64_WORLD_RECORDS(0));
}

static void expect_records(unsigned stacks, unsigned commands, unsigned functions)
{
	struct stack s = call_plain();

	ck_assert_uint_eq(s.stacks, stacks);
	ck_assert_uint_eq(s.commands, commands);
	ck_assert_uint_eq(s.functions, functions);
	ck_assert_int_eq(s.of_command, stacks != 0);
}

START_TEST(commands)
{
	struct hv_control *control = arm64_world_control(world);

	command(HV_SLOT_STACK, false);
	expect_records(1, 0, 0);
	command(HV_SLOT_STACK | HV_SLOT_TELL, true);
	expect_records(1, 1, 1);
	control->mode = HV_MODE_OFF;
	expect_records(0, 1, 0);
	command(HV_SLOT_ON | HV_SLOT_STACK, false);
	expect_records(1, 0, 0);
	control->mode = HV_MODE_CPUS;
	expect_records(1, 0, 0);
	arm64_world_state(world, 0)->muted = 1;
	expect_records(0, 0, 0);
}
END_TEST

START_TEST(counted_commands)
{
	struct hv_control *control = arm64_world_control(world);

	command(HV_SLOT_STACK_COUNTED | HV_SLOT_TELL_COUNTED, true);
	control->left[SLOT].stack = 2;
	control->left[SLOT].tell = 1;
	expect_records(1, 1, 1);
	expect_records(1, 0, 1);
	ck_assert_int_eq(control->left[SLOT].stack, 0);
	expect_records(0, 0, 1);
	ck_assert_int_eq(control->left[SLOT].stack, 0);
	control->left[SLOT].stack = -1;
	expect_records(0, 0, 1);
	ck_assert_int_eq(control->left[SLOT].stack, -1);
	control->mode = HV_MODE_OFF;
	control->left[SLOT].stack = 5;
	expect_records(0, 0, 0);
	ck_assert_int_eq(control->left[SLOT].stack, 5);
	control->mode = HV_MODE_PAUSED;
	expect_records(0, 0, 0);
	ck_assert_int_eq(control->left[SLOT].stack, 5);
}
END_TEST

/* Whatever the guest writes into a head, the stub writes into its own ring only. */
START_TEST(heads_of_the_guest_stay_in_the_ring)
{
	static const uint64_t heads[] = {0, 17, ARM64_WORLD_NR_SLOTS * sizeof(struct hv_record) - 1,
					 UINT64_MAX - 70, UINT64_MAX};
	static uint8_t before[ARM64_WORLD_LEN];
	uint64_t fp = ARM64_WORLD_RECORDS(0), end = arm64_world_state_off(1);

	for (unsigned i = 0; i < HV_ARRAY_LEN(heads); i++) {
		arm64_world_state(world, 0)->head = heads[i];
		memcpy(before, world->host, sizeof(before));
		call_at(fp, fp);
		/* the function, the first record, eleven words, the stack */
		ck_assert_uint_eq(arm64_world_state(world, 0)->head,
				  heads[i] + 7 * sizeof(struct hv_record));
		ck_assert_mem_eq(before, world->host, arm64_world_state_off(0));
		ck_assert_mem_eq(before + end, world->host + end, sizeof(before) - end);
	}
}
END_TEST

/* -- before each instruction -------------------------------------------------------------------
 */

static void call_other(uint64_t sp, uint64_t fp)
{
	uint64_t was = world->fp;

	world->fp = fp;
	arm64_world_enter(world, ARM64_WORLD_TRACED_OTHER_OFF, ARM64_WORLD_CALLER_OTHER_OFF, sp);
	ck_assert(arm64_world_run(world, ARM64_WORLD_CALLER_OTHER_OFF));
	world->fp = was;
}

static void interrupt(void)
{
	struct arm64_task *task = &arm64_world_tasks(world)->cat;
	struct arm64_regs regs;

	arm64_world_get(world, &regs);
	task->preempt_count += HARDIRQ;
	call_other(regs.sp - INTERRUPT_FRAME, regs.x[29]);
	task->preempt_count -= HARDIRQ;
	arm64_world_set(world, &regs);
}

/* The other task runs and calls the other function. */
static void switch_tasks(void)
{
	struct arm64_tasks *tasks = arm64_world_tasks(world);
	struct arm64_regs regs;

	arm64_world_get(world, &regs);
	arm64_world_set_current(world, &tasks->dd);
	tasks->dd.cpu_number = tasks->cat.cpu_number;
	call_other(ARM64_WORLD_RECORDS(1) - 0x40, ARM64_WORLD_RECORDS(1));
	arm64_world_set_current(world, &tasks->cat);
	arm64_world_set(world, &regs);
}

/* Likewise, and the task goes on on the other vCPU. */
static void migrate(void)
{
	switch_tasks();
	arm64_world_tasks(world)->cat.cpu_number ^= 1;
}

static void (*const disturbances[])(void) = {interrupt, switch_tasks, migrate};

static void check_disturbed(const struct arm64_case *c, const struct stack *alone)
{
	struct stack s = read_rings(ARM64_WORLD_TRACED_OFF);

	ck_assert_uint_eq(s.functions, c->nr_function_records);
	ck_assert_uint_eq(s.stacks, c->nr_stacks);
	ck_assert_uint_eq(s.nr, alone->nr);
	ck_assert_mem_eq(s.list, alone->list, s.nr * sizeof(*s.list));
	ck_assert_int_eq(s.early, alone->early);
	if (!c->has_stack)
		return;
	s = read_rings(ARM64_WORLD_TRACED_OTHER_OFF);
	ck_assert_uint_eq(s.stacks, c->nr_stacks);
	ck_assert_int_eq(s.early, alone->early);
}

/* The call is recorded once, whole, and so is that of what came in between. Nobody else runs while
 * an interrupt is on its own stack. */
START_TEST(disturbed_before_each_instruction)
{
	const struct arm64_case *c = &arm64_stack_cases[_i];
	static struct arm64_moment start;
	struct arm64_regs before;
	struct stack alone;
	unsigned nr_ways;
	uint64_t nr;

	arm64_world_set_up(world, c);
	nr_ways = arm64_world_tasks(world)->irq_stack == arm64_world_key(0)
			  ? 1
			  : HV_ARRAY_LEN(disturbances);
	arm64_world_enter(world, ARM64_WORLD_TRACED_OFF, ARM64_WORLD_CALLER_OFF,
			  arm64_world_sp(world));
	arm64_world_get(world, &before);
	arm64_world_save(world, &start);
	nr = world->nr_done;
	ck_assert(arm64_world_run(world, ARM64_WORLD_CALLER_OFF));
	nr = world->nr_done - nr;
	check_kept(&before);
	alone = read_rings(ARM64_WORLD_TRACED_OFF);
	ck_assert_uint_eq(alone.tasks, c->nr_task_records);
	ck_assert_uint_eq(alone.stacks, c->nr_stacks);
	ck_assert_uint_eq(alone.nr, c->nr_stacks ? 10 : 0);
	for (unsigned d = 0; d < nr_ways; d++)
		for (uint64_t n = 0; n < nr; n++) {
			arm64_world_come_back(world, &start);
			ck_assert(arm64_world_step(world, n));
			disturbances[d]();
			ck_assert(arm64_world_run(world, ARM64_WORLD_CALLER_OFF));
			check_kept(&before);
			check_disturbed(c, &alone);
		}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, the_callers_in_order);
	tcase_add_test(tc, signatures_are_removed);
	tcase_add_test(tc, what_ends_a_stack);
	tcase_add_test(tc, from_the_interrupt_stack_to_the_tasks);
	tcase_add_test(tc, any_other_stack);
	tcase_add_test(tc, more_callers_than_room);
	tcase_add_test(tc, through_a_graph);
	tcase_add_test(tc, through_jumps);
	tcase_add_test(tc, a_graph_that_does_not_tell);
	tcase_add_test(tc, through_a_graph_of_two_stacks);
	tcase_add_test(tc, commands);
	tcase_add_test(tc, counted_commands);
	tcase_add_test(tc, heads_of_the_guest_stay_in_the_ring);
	tcase_add_loop_test(tc, disturbed_before_each_instruction, 0, (int)arm64_nr_stack_cases);
}

int main(void)
{
	return run_suite("stub_arm64_stack", add_tests);
}
