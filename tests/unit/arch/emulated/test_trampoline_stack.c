/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Another architecture's trampoline that records stacks, on an emulated CPU, with the code bytes
 * that a guest gets. Tests which frame records it follows, frames of function_graph, commands, and
 * disturbances before each instruction. The memory after the last stack is not mapped.
 * tests/unit/arch/emulated/<arch>_stack.c tests the end of a stack. */
#include <check.h>
#include <string.h>

#include "ringbuf/ring.h"
#include "tests/lib/emulated/disturbances.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/arch/emulated/stack_calls.h"

#define GROUP 7

START_TEST(the_callers_in_order)
{
	uint64_t fp = emu_chain_start(0);
	struct stack s;

	for (unsigned nr = 2; nr <= 12; nr++) {
		emu_chain(world, 0, fp, 0, nr);
		s = stack_call(sp_of(fp), fp);
		stack_expect(&s, 0, nr, false);
		ck_assert_uint_eq(s.functions, 1);
		ck_assert(!s.of_command);
		/* the function, the first record, three words in each, the stack */
		ck_assert_uint_eq(emu_state(world, 0)->head,
				  hv_ring_head_at(3 + (nr + 2 + 2) / 3, EMU_NR_SLOTS));
	}
}
END_TEST

/* If the ring has no room for all callers, the first ones are recorded. */
START_TEST(more_callers_than_room)
{
	uint64_t fp = emu_key(0) + 0x400;
	struct stack s;

	emu_chain(world, 0, fp, 0, 200);
	s = stack_call(sp_of(fp), fp);
	stack_expect(&s, 0, 3 * (EMU_NR_SLOTS / 2 - 1) - 1, true);
}
END_TEST

/* -- with function_graph ----------------------------------------------------------------------- */

static uint64_t handler(void)
{
	return emu_gva(EMU_CODE_OFF + EMU_ARCH.trampolines.handler_off);
}

/* Adds NR open calls to the return stack of kernel stack STACK_NR, one for each frame record from
 * FP on. Each retp is as high as it can be. */
static struct hv_stack *hook(unsigned stack_nr, uint64_t fp, unsigned nr, uint64_t flags)
{
	uint64_t key = emu_key(stack_nr) | flags;
	struct hv_stack *stack = emu_stack(world, hv_stack_home(key, EMU_HOMES_SHIFT));

	while (stack->word && (stack->word & ~(uint64_t)HV_STACK_NR_MASK) != key)
		stack++;
	stack->word = key | nr * sizeof(struct hv_frame);
	for (unsigned i = 0; i < nr; i++) {
		struct emu_record *r = record_at(fp + i * EMU_FRAME);

		stack->frames[i] = (struct hv_frame){.retp_gva = fp + i * EMU_FRAME + EMU_RETP_MAX,
						     .caller_gva = r->caller};
		r->caller = handler() ^ (i % 2 ? EMU_SIGNATURE : 0);
	}
	return stack;
}

START_TEST(through_a_graph)
{
	uint64_t fp = emu_chain_start(0);
	struct hv_stack *stack;
	struct stack s;

	emu_chain(world, 0, fp, 0, 6);
	stack = hook(0, fp + EMU_FRAME, 3, 0);
	s = stack_call(sp_of(fp), fp);
	stack_expect(&s, 0, 6, false);
	/* The lowest possible retp. */
	stack->frames[1].retp_gva = fp + 2 * EMU_FRAME + EMU_RETP_MIN;
	s = stack_call(sp_of(fp), fp);
	stack_expect(&s, 0, 6, false);
	/* The return stack is not in its home bucket. */
	stack[2] = stack[0];
	stack[0].word ^= 0x1000000;
	s = stack_call(sp_of(fp), fp);
	stack_expect(&s, 0, 6, false);
}
END_TEST

/* After a jump between traced functions, two calls share a retp. Frames 2 and 3 belong to the
 * recorded call. */
START_TEST(through_jumps)
{
	uint64_t fp = emu_chain_start(0), sp = sp_of(fp);
	struct hv_stack *stack;
	struct emu_regs regs;
	struct stack s;

	emu_chain(world, 0, fp, 0, 3);
	stack = hook(0, fp, 1, 0);
	stack->word += 3 * sizeof(struct hv_frame);
	stack->frames[1] =
		(struct hv_frame){.retp_gva = stack->frames[0].retp_gva, .caller_gva = handler()};
	stack->frames[2] = (struct hv_frame){.retp_gva = sp, .caller_gva = emu_gva(EMU_CALLER_OFF)};
	stack->frames[3] = (struct hv_frame){.retp_gva = sp, .caller_gva = handler()};
	world->fp = fp;
	emu_enter(world, EMU_TRACED_OFF, EMU_CALLER_OFF, sp);
	emu_get(world, &regs);
	regs.x[EMU_RA] = handler();
	emu_set(world, &regs);
	ck_assert(emu_run(world, EMU_CODE_OFF + EMU_ARCH.trampolines.handler_off));
	s = stack_read(EMU_TRACED_OFF);
	stack_expect(&s, 0, 3, false);
}
END_TEST

static void expect_handler(const struct stack *s, unsigned at)
{
	ck_assert_uint_gt(s->words.nr, at);
	ck_assert(s->words.list[at].is_text);
	ck_assert_uint_eq(s->words.list[at].value, (handler() - EMU_TEXT_BASE) & 0x7fffffff);
}

/* Two frames that contradict each other, an impossible return stack, and a frame record without a
 * frame: the trampoline records the handler's address and continues. */
START_TEST(a_return_stack_that_contradicts_the_stack)
{
	uint64_t fp = emu_chain_start(0);
	struct hv_stack *stack;
	struct stack s;

	emu_chain(world, 0, fp, 0, 4);
	stack = hook(0, fp, 2, 0);
	stack->frames[0].retp_gva = stack->frames[1].retp_gva;
	s = stack_call(sp_of(fp), fp);
	expect_handler(&s, 1);
	expect_handler(&s, 2);
	ck_assert_uint_eq(s.list[3].v, emu_caller(2));
	stack->word += HV_FRAMES_MAX * sizeof(struct hv_frame);
	stack->frames[0].retp_gva = fp + EMU_RETP_MIN;
	s = stack_call(sp_of(fp), fp);
	expect_handler(&s, 1);
	stack->word = 0;
	s = stack_call(sp_of(fp), fp);
	expect_handler(&s, 2);
}
END_TEST

/* The interrupted stack has its own return stack. The function called on the empty interrupt stack
 * has the end of that stack as its retp. */
START_TEST(through_a_graph_of_two_stacks)
{
	uint64_t irq = emu_stack_end(2) - 0x100, fp = emu_chain_start(0);
	struct hv_stack *stack;
	struct stack s;

	*record_at(irq) = (struct emu_record){irq + EMU_FRAME, emu_caller(0)};
	*record_at(irq + EMU_FRAME) = (struct emu_record){fp, emu_caller(1)};
	emu_chain(world, 0, fp, 2, 3);
	stack = hook(2, irq, 2, HV_STACK_IRQ);
	stack->frames[1].retp_gva = emu_stack_end(2);
	hook(0, fp, 2, 0);
	s = stack_call(irq - 0x40, irq);
	stack_expect(&s, 0, 5, false);
}
END_TEST

/* -- commands ---------------------------------------------------------------------------------- */

static void command(uint32_t does, bool records)
{
	emu_call_action(world, GROUP, does, records);
}

static struct stack call_plain(void)
{
	return stack_call(sp_of(emu_chain_start(0)), emu_chain_start(0));
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
	struct hv_control *control = emu_control(world);

	command(HV_DOES_STACK, false);
	expect_records(1, 0, 0);
	command(HV_DOES_STACK | HV_DOES_REPORT, true);
	expect_records(1, 1, 1);
	control->mode = HV_MODE_OFF;
	expect_records(0, 1, 0);
	command(HV_DOES_ON | HV_DOES_STACK, false);
	expect_records(1, 0, 0);
	control->mode = HV_MODE_CPUS;
	expect_records(1, 0, 0);
	emu_state(world, 0)->muted = 1;
	expect_records(0, 0, 0);
}
END_TEST

START_TEST(counted_commands)
{
	struct hv_control *control = emu_control(world);

	command(HV_DOES_STACK_COUNTED | HV_DOES_REPORT_COUNTED, true);
	control->left[GROUP].stack = 2;
	control->left[GROUP].report = 1;
	expect_records(1, 1, 1);
	expect_records(1, 0, 1);
	ck_assert_int_eq(control->left[GROUP].stack, 0);
	expect_records(0, 0, 1);
	ck_assert_int_eq(control->left[GROUP].stack, 0);
	control->left[GROUP].stack = -1;
	expect_records(0, 0, 1);
	ck_assert_int_eq(control->left[GROUP].stack, -1);
	control->mode = HV_MODE_OFF;
	control->left[GROUP].stack = 5;
	expect_records(0, 0, 0);
	ck_assert_int_eq(control->left[GROUP].stack, 5);
	control->mode = HV_MODE_PAUSED;
	expect_records(0, 0, 0);
	ck_assert_int_eq(control->left[GROUP].stack, 5);
}
END_TEST

/* Whatever the guest writes into a head, the trampoline writes only into its own ring. */
START_TEST(any_head_stays_in_the_ring)
{
	static const uint64_t heads[] = {0, 17, EMU_NR_SLOTS * sizeof(struct hv_record) - 1,
					 UINT64_MAX - 70, UINT64_MAX};
	static uint8_t before[EMU_LEN];
	uint64_t fp = emu_chain_start(0), end = emu_state_off(1);

	for (unsigned i = 0; i < HV_ARRAY_LEN(heads); i++) {
		emu_state(world, 0)->head = heads[i];
		memcpy(before, world->host, sizeof(before));
		stack_call_at(sp_of(fp), fp);
		/* the function, the first record, eleven words, the stack */
		ck_assert_uint_eq(emu_state(world, 0)->head,
				  heads[i] + 7 * sizeof(struct hv_record));
		ck_assert_mem_eq(before, world->host, emu_state_off(0));
		ck_assert_mem_eq(before + end, world->host + end, sizeof(before) - end);
	}
}
END_TEST

/* -- before each instruction ------------------------------------------------------------------- */

static emu_disturbance *const disturbances[] = {emu_interrupt, emu_switch_tasks, emu_migrate};
#define NR_DISTURBANCES HV_ARRAY_LEN(disturbances)

static void check_disturbed(const struct emu_case *c, const struct stack *alone)
{
	struct stack s = stack_read(EMU_TRACED_OFF);

	ck_assert_uint_eq(s.functions, c->nr_function_records);
	ck_assert_uint_eq(s.stacks, c->nr_stacks);
	ck_assert_uint_eq(s.nr, alone->nr);
	ck_assert_mem_eq(s.list, alone->list, s.nr * sizeof(*s.list));
	ck_assert_int_eq(s.early, alone->early);
	if (!c->has_stack)
		return;
	s = stack_read(EMU_TRACED_OTHER_OFF);
	ck_assert_uint_eq(s.stacks, c->nr_stacks);
	ck_assert_int_eq(s.early, alone->early);
}

/* Both the call and the call by the disturbance are recorded once and completely. On the interrupt
 * stack, only an interrupt can disturb the call. */
START_TEST(disturbed_before_each_instruction)
{
	const struct emu_case *c = &emu_stack_cases[_i / NR_DISTURBANCES];
	emu_disturbance *disturb = disturbances[_i % NR_DISTURBANCES];
	static struct emu_moment start;
	struct emu_regs before;
	struct stack alone;
	uint64_t nr;

	emu_set_up(world, c);
	if (disturb != emu_interrupt && emu_tasks(world)->cat.stack != emu_key(0))
		return;
	emu_enter(world, EMU_TRACED_OFF, EMU_CALLER_OFF, emu_chain_start(0) - 0x40);
	emu_get(world, &before);
	emu_save(world, &start);
	nr = world->nr_done;
	ck_assert(emu_run(world, EMU_CALLER_OFF));
	nr = world->nr_done - nr;
	stack_check_kept(&before);
	alone = stack_read(EMU_TRACED_OFF);
	ck_assert_uint_eq(alone.tasks, c->nr_task_records);
	ck_assert_uint_eq(alone.stacks, c->nr_stacks);
	ck_assert_uint_eq(alone.nr, c->nr_stacks ? 10 : 0);
	for (uint64_t n = 0; n < nr; n++) {
		emu_come_back(world, &start);
		ck_assert(emu_step(world, n));
		ck_assert(disturb(world));
		ck_assert(emu_run(world, EMU_CALLER_OFF));
		stack_check_kept(&before);
		check_disturbed(c, &alone);
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, stack_set_up, stack_tear_down);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, the_callers_in_order);
	add_tests_of_arch(tc);
	tcase_add_test(tc, more_callers_than_room);
	tcase_add_test(tc, through_a_graph);
	tcase_add_test(tc, through_jumps);
	tcase_add_test(tc, a_return_stack_that_contradicts_the_stack);
	tcase_add_test(tc, through_a_graph_of_two_stacks);
	tcase_add_test(tc, commands);
	tcase_add_test(tc, counted_commands);
	tcase_add_test(tc, any_head_stays_in_the_ring);
	tcase_add_loop_test(tc, disturbed_before_each_instruction, 0,
			    (int)(emu_nr_stack_cases * NR_DISTURBANCES));
}

int main(void)
{
	return run_suite("trampoline_" EMU_NAME "_stack", add_tests);
}
