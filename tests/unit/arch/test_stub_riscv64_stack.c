/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks as riscv64's stub records them, the very bytes that a guest gets, on an emulated CPU:
 * which records are followed, where a stack ends, what the frames of a graph tell, commands; and
 * every path disturbed before each instruction. What is behind the last stack is not mapped. */
#include <check.h>
#include <string.h>

#include "kernel/unwind.h"
#include "ringbuf/ring.h"
#include "tests/lib/riscv64_world.h"
#include "tests/lib/run_suite.h"
#include "tracer/events/decode.h"
#include "tracer/events/parts.h"

#define SLOT		7
#define INTERRUPT_FRAME 0x150 /* as much as the kernel pushes */
#define HARDIRQ		0x10000
#define STEP		RISCV64_WORLD_FRAME
#define X_RA		1
#define X_SP		2
#define X_S0		8
#define X_A0		10
#define X_A1		11
#define EPC		0u /* in struct pt_regs */
#define S0		64u

static struct riscv64_world *world;

static const struct hv_decode decode = {
	.arch = &hv_arch_riscv64,
	.text_base = {RISCV64_WORLD_TEXT_BASE},
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

static const struct riscv64_case *case_named(const char *name)
{
	for (unsigned i = 0; i < riscv64_nr_stack_cases; i++)
		if (strcmp(riscv64_stack_cases[i].name, name) == 0)
			return &riscv64_stack_cases[i];
	ck_abort_msg("no case %s", name);
	return NULL;
}

static void set_up(void)
{
	world = riscv64_world_new();
	riscv64_world_set_up(world, case_named("record and stack"));
}

static void tear_down(void)
{
	riscv64_world_free(world);
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
	hv_ring_init(&ring, riscv64_world_state(world, cpu), riscv64_world_ring(world, cpu),
		     RISCV64_WORLD_NR_SLOTS);
	for (uint64_t p = 0; hv_ring_read(&ring, 0, &record, &lost) == HV_RING_RECORD; p++) {
		struct hv_call_addresses at = hv_arch_riscv64.decode_call(record.word[1]);
		unsigned kind = hv_record_kind(&record);

		ret->tasks += kind == HV_RECORD_TASK;
		if (kind == HV_RECORD_WORDS)
			hv_parts_add(&parts, &record, p, 0);
		if (kind == HV_RECORD_TASK || kind == HV_RECORD_WORDS ||
		    (at.site_end | HV_TEXT_BIT) != riscv64_world_site_end(off))
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

	for (unsigned cpu = 0; cpu < RISCV64_WORLD_NR_CPUS; cpu++)
		read_ring(cpu, off, &s);
	return s;
}

/* t0 to t6 */
static bool is_free(unsigned i)
{
	return (i >= 5 && i <= 7) || i >= 28;
}

/* The function has returned, and all registers are what they were but those that are free. */
static void check_kept(const struct riscv64_regs *before)
{
	struct riscv64_regs after;

	riscv64_world_get(world, &after);
	ck_assert_uint_eq(after.x[X_A0], before->x[X_A1]); /* what the function returns */
	for (unsigned i = 1; i < HV_ARRAY_LEN(after.x); i++)
		if (i != X_A0 && !is_free(i))
			ck_assert_uint_eq(after.x[i], before->x[i]);
}

/* The stack pointer, then the frame pointer of the caller */
static void call_at(uint64_t sp, uint64_t fp)
{
	struct riscv64_regs before;

	world->fp = fp;
	riscv64_world_enter(world, RISCV64_WORLD_TRACED_OFF, RISCV64_WORLD_CALLER_OFF, sp);
	riscv64_world_get(world, &before);
	ck_assert(riscv64_world_run(world, RISCV64_WORLD_CALLER_OFF));
	check_kept(&before);
}

/* Empties the ring first. */
static struct stack call(uint64_t sp, uint64_t fp)
{
	riscv64_world_state(world, 0)->head = hv_ring_head_at(0, RISCV64_WORLD_NR_SLOTS);
	memset(riscv64_world_ring(world, 0), 0, RISCV64_WORLD_NR_SLOTS * sizeof(struct hv_record));
	call_at(sp, fp);
	return read_rings(RISCV64_WORLD_TRACED_OFF);
}

/* The first caller is that of the call, then come NR records from the FIRST on. */
static void expect(const struct stack *s, unsigned first, unsigned nr, bool early)
{
	ck_assert_uint_eq(s->stacks, 1);
	ck_assert_uint_eq(s->nr, nr + 1);
	ck_assert_uint_eq(s->list[0].v, riscv64_world_gva(RISCV64_WORLD_CALLER_OFF));
	for (unsigned i = 0; i < nr; i++)
		ck_assert_uint_eq(s->list[1 + i].v, riscv64_world_caller(first + i));
	ck_assert_int_eq(s->early, early);
}

static struct riscv64_record *frame_at(uint64_t fp)
{
	return riscv64_world_record(world, fp);
}

START_TEST(the_callers_in_order)
{
	uint64_t last = riscv64_world_last(0), fp;
	struct stack s;

	for (unsigned nr = 0; nr <= 12; nr++) {
		fp = nr < 2 ? last : RISCV64_WORLD_FRAMES(0);
		riscv64_world_chain(world, 0, fp, 0, nr);
		s = call(nr ? fp - STEP : last, fp);
		expect(&s, 0, nr, false);
		ck_assert_uint_eq(s.functions, 1);
		ck_assert(!s.of_command);
		/* the function, the first record, three words in each, the stack */
		ck_assert_uint_eq(riscv64_world_state(world, 0)->head,
				  hv_ring_head_at(3 + (nr + 2 + 2) / 3, RISCV64_WORLD_NR_SLOTS));
	}
}
END_TEST

/* A third frame pointer that is none: nothing is read there. */
START_TEST(what_ends_a_stack)
{
	uint64_t fp = RISCV64_WORLD_FRAMES(2), end = riscv64_world_stack_end(2);
	uint64_t bad[] = {0,
			  1,
			  8,
			  UINT64_MAX,
			  UINT64_MAX - 7,
			  fp + 2 * STEP + 4,
			  fp - STEP,
			  fp,
			  fp + STEP,
			  fp + STEP + 8,
			  end + 8,
			  end + 0x1000,
			  RISCV64_WORLD_FRAMES(1),
			  riscv64_world_gva(0)};
	struct stack s;

	riscv64_world_tasks(world)->cat.stack = riscv64_world_key(2);
	for (unsigned i = 0; i < HV_ARRAY_LEN(bad); i++) {
		riscv64_world_chain(world, 2, fp, 0, 6);
		frame_at(fp + STEP)->next = bad[i];
		/* The return address of a frame that would begin in the one before it. */
		*riscv64_world_word(world, fp + STEP) = riscv64_world_caller(9);
		s = call(fp - 0x40, fp);
		expect(&s, 0, 2, true);
	}
	/* The last place where a frame can end. */
	frame_at(fp + STEP)->next = end;
	*frame_at(end) = (struct riscv64_record){.caller = riscv64_world_caller(2)};
	s = call(fp - 0x40, fp);
	expect(&s, 0, 3, true);
	/* What is no text. */
	riscv64_world_chain(world, 2, fp, 0, 6);
	frame_at(fp + 2 * STEP)->caller = RISCV64_WORLD_TEXT_BASE + HV_TEXT_BIT - 4;
	s = call(fp - 0x40, fp);
	expect(&s, 0, 2, true);
	frame_at(fp + 2 * STEP)->caller = RISCV64_WORLD_TEXT_BASE + (UINT64_C(1) << 32);
	s = call(fp - 0x40, fp);
	expect(&s, 0, 2, true);
}
END_TEST

/* Makes the frame that ends at FP that of what handles an exception, with the registers of what it
 * interrupted at IP, whose frame pointer was NEXT. */
static void exception_at(uint64_t fp, uint64_t ip, uint64_t next)
{
	frame_at(fp)->caller = riscv64_world_gva(RISCV64_WORLD_ENTRY_OFF + 0x40);
	*riscv64_world_word(world, fp + EPC) = ip;
	*riscv64_world_word(world, fp + S0) = next;
}

static void expect_exception(const struct stack *s, unsigned at, unsigned nr, bool early)
{
	ck_assert_uint_eq(s->nr, nr);
	ck_assert_uint_eq(s->list[at].v, riscv64_world_gva(RISCV64_WORLD_ENTRY_OFF + 0x40));
	ck_assert_int_eq(s->early, early);
}

START_TEST(through_exceptions)
{
	uint64_t fp = RISCV64_WORLD_FRAMES(0), last = riscv64_world_last(0);
	uint64_t inner = fp + RISCV64_WORLD_REGS_BYTES + STEP;
	struct stack s;

	/* From user mode: nothing is behind that. */
	riscv64_world_chain(world, 0, fp, 0, 3);
	exception_at(last, 0x10000, fp);
	s = call(fp - STEP, fp);
	expect_exception(&s, 3, 4, false);
	/* In the kernel. */
	exception_at(fp, riscv64_world_caller(5), inner);
	riscv64_world_chain(world, 0, inner, 6, 2);
	s = call(fp - STEP, fp);
	expect_exception(&s, 1, 5, false);
	ck_assert_uint_eq(s.list[2].v, riscv64_world_caller(5));
	ck_assert_uint_eq(s.list[3].v, riscv64_world_caller(6));
	ck_assert_uint_eq(s.list[4].v, riscv64_world_caller(7));
	/* The frame pointer of what was interrupted may lie. */
	exception_at(fp, riscv64_world_caller(5), inner - STEP - 8);
	s = call(fp - STEP, fp);
	expect_exception(&s, 1, 3, true);
	/* In the code of exceptions, again and again: it ends. */
	exception_at(fp, riscv64_world_gva(RISCV64_WORLD_ENTRY_OFF), inner);
	memset(riscv64_world_word(world, fp + RISCV64_WORLD_REGS_BYTES), 0, 2 * STEP);
	s = call(fp - STEP, fp);
	ck_assert_uint_eq(s.nr, 3);
	ck_assert(!s.early);
	/* Registers that are not on the stack. */
	riscv64_world_chain(world, 0, fp, 0, 2);
	frame_at(fp)->next = last + 8;
	exception_at(last + 8, riscv64_world_caller(5), inner);
	s = call(fp - STEP, fp);
	expect_exception(&s, 2, 3, true);
}
END_TEST

/* The function is the first on its stack: the stack pointer is the end. */
START_TEST(from_the_interrupt_stack_to_the_tasks)
{
	uint64_t irq = riscv64_world_stack_end(2), fp = RISCV64_WORLD_FRAMES(0);
	struct stack s;

	riscv64_world_chain(world, 0, fp, 0, 4);
	s = call(irq, fp);
	expect(&s, 0, 4, false);
	/* From some depth; and not back. */
	riscv64_world_chain(world, 2, irq - 0x400, 0, 3);
	frame_at(irq - 0x400 + STEP)->next = fp;
	riscv64_world_chain(world, 0, fp, 2, 4);
	s = call(irq - 0x440, irq - 0x400);
	expect(&s, 0, 6, false);
	frame_at(fp + STEP)->next = irq - 0x380;
	s = call(irq - 0x440, irq - 0x400);
	expect(&s, 0, 4, true);
	/* A frame of it that ends where a task has its last one. */
	riscv64_world_chain(world, 2, riscv64_world_last(2) - STEP, 0, 2);
	frame_at(riscv64_world_last(2))->next = fp;
	riscv64_world_chain(world, 0, fp, 2, 4);
	s = call(irq - 0x440, riscv64_world_last(2) - STEP);
	expect(&s, 0, 6, false);
	/* A task's stack leads to no other one. */
	s = call(fp - STEP, irq - 0x400);
	expect(&s, 0, 0, true);
}
END_TEST

/* Of more callers than a ring has room for, the first. */
START_TEST(more_callers_than_room)
{
	uint64_t fp = riscv64_world_key(0) + 0x400;
	struct stack s;

	riscv64_world_chain(world, 0, fp, 0, 200);
	s = call(fp - STEP, fp);
	expect(&s, 0, 3 * (RISCV64_WORLD_NR_SLOTS / 2 - 1) - 1, true);
}
END_TEST

/* -- below a graph -----------------------------------------------------------------------------
 */

static uint64_t handler(void)
{
	return riscv64_world_gva(RISCV64_WORLD_CODE_OFF + hv_arch_riscv64.stubs.handler_off);
}

/* NR frames of the kernel stack, each of the function whose frame is at the place with its number:
 * the slot is as high as it can be. */
static struct hv_stack *hook(unsigned stack_nr, uint64_t fp, unsigned nr, uint64_t flags)
{
	uint64_t key = riscv64_world_key(stack_nr) | flags;
	struct hv_stack *stack =
		riscv64_world_stack(world, hv_stack_home(key, RISCV64_WORLD_HOMES_SHIFT));

	while (stack->word && (stack->word & ~(uint64_t)HV_STACK_NR_MASK) != key)
		stack++;
	stack->word = key | nr * sizeof(struct hv_frame);
	for (unsigned i = 0; i < nr; i++) {
		struct riscv64_record *r = frame_at(fp + i * STEP);

		stack->frames[i] = (struct hv_frame){.slot_gva = r->next - sizeof(*r),
						     .caller_gva = r->caller};
		r->caller = handler();
	}
	return stack;
}

START_TEST(through_a_graph)
{
	uint64_t fp = RISCV64_WORLD_FRAMES(0);
	struct hv_stack *stack;
	struct stack s;

	riscv64_world_chain(world, 0, fp, 0, 6);
	stack = hook(0, fp + STEP, 3, 0);
	s = call(fp - STEP, fp);
	expect(&s, 0, 6, false);
	/* As low as a slot can be. */
	stack->frames[1].slot_gva = fp + 2 * STEP;
	s = call(fp - STEP, fp);
	expect(&s, 0, 6, false);
	/* The same in another place than its home. */
	stack[2] = stack[0];
	stack[0].word ^= 0x1000000;
	s = call(fp - STEP, fp);
	expect(&s, 0, 6, false);
}
END_TEST

/* Jumps from one traced function to another: the slot is both's. The caller may be one of them. */
START_TEST(through_jumps)
{
	uint64_t fp = RISCV64_WORLD_FRAMES(0), sp = fp - STEP;
	struct hv_stack *stack;
	struct riscv64_regs regs;
	struct stack s;

	riscv64_world_chain(world, 0, fp, 0, 3);
	stack = hook(0, fp, 1, 0);
	stack->word += 3 * sizeof(struct hv_frame);
	stack->frames[1] = (struct hv_frame){.slot_gva = fp, .caller_gva = handler()};
	stack->frames[2] = (struct hv_frame){
		.slot_gva = sp, .caller_gva = riscv64_world_gva(RISCV64_WORLD_CALLER_OFF)};
	stack->frames[3] = (struct hv_frame){.slot_gva = sp, .caller_gva = handler()};
	world->fp = fp;
	riscv64_world_enter(world, RISCV64_WORLD_TRACED_OFF, RISCV64_WORLD_CALLER_OFF, sp);
	riscv64_world_get(world, &regs);
	regs.x[X_RA] = handler();
	riscv64_world_set(world, &regs);
	ck_assert(riscv64_world_run(world,
				    RISCV64_WORLD_CODE_OFF + hv_arch_riscv64.stubs.handler_off));
	s = read_rings(RISCV64_WORLD_TRACED_OFF);
	expect(&s, 0, 3, false);
}
END_TEST

static void expect_handler(const struct stack *s, unsigned at)
{
	ck_assert_uint_gt(s->words.nr, at);
	ck_assert(s->words.list[at].is_text);
	ck_assert_uint_eq(s->words.list[at].value,
			  (handler() - RISCV64_WORLD_TEXT_BASE) & 0x7fffffff);
}

/* Two frames that say different things, a return stack of which nothing can be so, and a record
 * that no frame has: the handler's address, and the stack goes on. */
START_TEST(a_graph_that_does_not_tell)
{
	uint64_t fp = RISCV64_WORLD_FRAMES(0);
	struct hv_stack *stack;
	struct stack s;

	riscv64_world_chain(world, 0, fp, 0, 4);
	stack = hook(0, fp, 2, 0);
	stack->frames[0].slot_gva = stack->frames[1].slot_gva;
	s = call(fp - STEP, fp);
	expect_handler(&s, 1);
	expect_handler(&s, 2);
	ck_assert_uint_eq(s.list[3].v, riscv64_world_caller(2));
	stack->word += HV_FRAMES_MAX * sizeof(struct hv_frame);
	stack->frames[0].slot_gva = fp;
	s = call(fp - STEP, fp);
	expect_handler(&s, 1);
	stack->word = 0;
	s = call(fp - STEP, fp);
	expect_handler(&s, 2);
}
END_TEST

/* What an interrupt came on has a return stack of its own. The function that was called on the
 * empty interrupt stack has its end as slot. */
START_TEST(through_a_graph_of_two_stacks)
{
	uint64_t irq = riscv64_world_stack_end(2) - 0x100, fp = RISCV64_WORLD_FRAMES(0);
	struct hv_stack *stack;
	struct stack s;

	*frame_at(irq) = (struct riscv64_record){irq + STEP, riscv64_world_caller(0)};
	*frame_at(irq + STEP) = (struct riscv64_record){fp, riscv64_world_caller(1)};
	riscv64_world_chain(world, 0, fp, 2, 3);
	stack = hook(2, irq, 2, HV_STACK_IRQ);
	stack->frames[1].slot_gva = riscv64_world_stack_end(2);
	hook(0, fp, 2, 0);
	s = call(irq - 0x40, irq);
	expect(&s, 0, 5, false);
}
END_TEST

/* -- commands ----------------------------------------------------------------------------------
 */

static void command(uint32_t does, bool records)
{
	riscv64_world_call_action(world, SLOT, does, records);
}

static struct stack call_plain(void)
{
	return call(RISCV64_WORLD_FRAMES(0) - STEP, RISCV64_WORLD_FRAMES(0));
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
	struct hv_control *control = riscv64_world_control(world);

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
	riscv64_world_state(world, 0)->muted = 1;
	expect_records(0, 0, 0);
}
END_TEST

START_TEST(counted_commands)
{
	struct hv_control *control = riscv64_world_control(world);

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
	static const uint64_t heads[] = {0, 17,
					 RISCV64_WORLD_NR_SLOTS * sizeof(struct hv_record) - 1,
					 UINT64_MAX - 70, UINT64_MAX};
	static uint8_t before[RISCV64_WORLD_LEN];
	uint64_t fp = RISCV64_WORLD_FRAMES(0), end = riscv64_world_state_off(1);

	for (unsigned i = 0; i < HV_ARRAY_LEN(heads); i++) {
		riscv64_world_state(world, 0)->head = heads[i];
		memcpy(before, world->host, sizeof(before));
		call_at(fp - STEP, fp);
		/* the function, the first record, eleven words, the stack */
		ck_assert_uint_eq(riscv64_world_state(world, 0)->head,
				  heads[i] + 7 * sizeof(struct hv_record));
		ck_assert_mem_eq(before, world->host, riscv64_world_state_off(0));
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
	riscv64_world_enter(world, RISCV64_WORLD_TRACED_OTHER_OFF, RISCV64_WORLD_CALLER_OTHER_OFF,
			    sp);
	ck_assert(riscv64_world_run(world, RISCV64_WORLD_CALLER_OTHER_OFF));
	world->fp = was;
}

static void interrupt(void)
{
	struct riscv64_task *task = &riscv64_world_tasks(world)->cat;
	struct riscv64_regs regs;

	riscv64_world_get(world, &regs);
	task->preempt_count += HARDIRQ;
	call_other(regs.x[X_SP] - INTERRUPT_FRAME, regs.x[X_S0]);
	task->preempt_count -= HARDIRQ;
	riscv64_world_set(world, &regs);
}

/* The other task runs and calls the other function. */
static void switch_tasks(void)
{
	struct riscv64_tasks *tasks = riscv64_world_tasks(world);
	struct riscv64_regs regs;

	riscv64_world_get(world, &regs);
	riscv64_world_set_current(world, &tasks->dd);
	tasks->dd.cpu_number = tasks->cat.cpu_number;
	call_other(RISCV64_WORLD_FRAMES(1) - 0x40, RISCV64_WORLD_FRAMES(1));
	riscv64_world_set_current(world, &tasks->cat);
	riscv64_world_set(world, &regs);
}

/* Likewise, and the task goes on on the other vCPU. */
static void migrate(void)
{
	switch_tasks();
	riscv64_world_tasks(world)->cat.cpu_number ^= 1;
}

static void (*const disturbances[])(void) = {interrupt, switch_tasks, migrate};

static void check_disturbed(const struct riscv64_case *c, const struct stack *alone)
{
	struct stack s = read_rings(RISCV64_WORLD_TRACED_OFF);

	ck_assert_uint_eq(s.functions, c->nr_function_records);
	ck_assert_uint_eq(s.stacks, c->nr_stacks);
	ck_assert_uint_eq(s.nr, alone->nr);
	ck_assert_mem_eq(s.list, alone->list, s.nr * sizeof(*s.list));
	ck_assert_int_eq(s.early, alone->early);
	if (!c->has_stack)
		return;
	s = read_rings(RISCV64_WORLD_TRACED_OTHER_OFF);
	ck_assert_uint_eq(s.stacks, c->nr_stacks);
	ck_assert_int_eq(s.early, alone->early);
}

/* The call is recorded once, whole, and so is that of what came in between. Nobody else runs while
 * an interrupt is on its own stack. */
START_TEST(disturbed_before_each_instruction)
{
	const struct riscv64_case *c = &riscv64_stack_cases[_i];
	static struct riscv64_moment start;
	struct riscv64_regs before;
	struct stack alone;
	unsigned nr_ways;
	uint64_t nr;

	riscv64_world_set_up(world, c);
	nr_ways = riscv64_world_tasks(world)->cat.stack == riscv64_world_key(0)
			  ? HV_ARRAY_LEN(disturbances)
			  : 1;
	riscv64_world_enter(world, RISCV64_WORLD_TRACED_OFF, RISCV64_WORLD_CALLER_OFF,
			    RISCV64_WORLD_FRAMES(0) - 0x40);
	riscv64_world_get(world, &before);
	riscv64_world_save(world, &start);
	nr = world->nr_done;
	ck_assert(riscv64_world_run(world, RISCV64_WORLD_CALLER_OFF));
	nr = world->nr_done - nr;
	check_kept(&before);
	alone = read_rings(RISCV64_WORLD_TRACED_OFF);
	ck_assert_uint_eq(alone.tasks, c->nr_task_records);
	ck_assert_uint_eq(alone.stacks, c->nr_stacks);
	ck_assert_uint_eq(alone.nr, c->nr_stacks ? 10 : 0);
	for (unsigned d = 0; d < nr_ways; d++)
		for (uint64_t n = 0; n < nr; n++) {
			riscv64_world_come_back(world, &start);
			ck_assert(riscv64_world_step(world, n));
			disturbances[d]();
			ck_assert(riscv64_world_run(world, RISCV64_WORLD_CALLER_OFF));
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
	tcase_add_test(tc, what_ends_a_stack);
	tcase_add_test(tc, from_the_interrupt_stack_to_the_tasks);
	tcase_add_test(tc, through_exceptions);
	tcase_add_test(tc, more_callers_than_room);
	tcase_add_test(tc, through_a_graph);
	tcase_add_test(tc, through_jumps);
	tcase_add_test(tc, a_graph_that_does_not_tell);
	tcase_add_test(tc, through_a_graph_of_two_stacks);
	tcase_add_test(tc, commands);
	tcase_add_test(tc, counted_commands);
	tcase_add_test(tc, heads_of_the_guest_stay_in_the_ring);
	tcase_add_loop_test(tc, disturbed_before_each_instruction, 0, (int)riscv64_nr_stack_cases);
}

int main(void)
{
	return run_suite("stub_riscv64_stack", add_tests);
}
