/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests stack recording on arm64: the end of a stack, interrupts, and signed return addresses. */
#include "tests/unit/arch/emulated/stack_calls.h"

START_TEST(the_first_functions_of_a_task)
{
	uint64_t fp = emu_chain_start(0);
	struct stack s;

	for (unsigned nr = 0; nr < 2; nr++) {
		emu_chain(world, 0, fp, 0, nr);
		s = stack_call(sp_of(fp), fp);
		stack_expect(&s, 0, nr, false);
	}
}
END_TEST

START_TEST(signatures_are_removed)
{
	uint64_t fp = emu_chain_start(0);
	struct stack s;

	emu_chain(world, 0, fp, 0, 3);
	record_at(fp)->caller ^= EMU_SIGNATURE;
	record_at(fp + EMU_FRAME)->caller ^= EMU_SIGNATURE >> 1;
	s = stack_call(fp, fp);
	stack_expect(&s, 0, 3, false);
}
END_TEST

/* The third frame pointer does not lead to a record. The trampoline must not read there. */
START_TEST(invalid_frame_pointers_end_the_walk)
{
	uint64_t fp = emu_chain_start(2), end = emu_stack_end(2);
	uint64_t bad[] = {0,
			  1,
			  UINT64_MAX,
			  fp + 2 * EMU_FRAME + 4,
			  fp - EMU_FRAME,
			  fp,
			  fp + EMU_FRAME,
			  fp + EMU_FRAME + 8,
			  end - 8,
			  end,
			  end + 0x1000,
			  emu_chain_start(1),
			  emu_gva(0)};
	struct stack s;

	emu_tasks(world)->cat.stack = emu_key(2);
	emu_tasks(world)->irq_stack = emu_key(1);
	for (unsigned i = 0; i < HV_ARRAY_LEN(bad); i++) {
		emu_chain(world, 0, fp, 0, 6);
		record_at(fp + EMU_FRAME)->next = bad[i];
		s = stack_call(fp - 0x40, fp);
		stack_expect(&s, 0, 2, true);
	}
	/* The last position where a record fits. */
	record_at(fp + EMU_FRAME)->next = end - sizeof(struct emu_record);
	*record_at(end - sizeof(struct emu_record)) = (struct emu_record){0};
	s = stack_call(fp - 0x40, fp);
	stack_expect(&s, 0, 2, false);
	/* An address that is not text. */
	emu_chain(world, 0, fp, 0, 6);
	record_at(fp + 2 * EMU_FRAME)->caller = EMU_TEXT_BASE + HV_TEXT_BIT - 4;
	s = stack_call(fp - 0x40, fp);
	stack_expect(&s, 0, 2, true);
	record_at(fp + 2 * EMU_FRAME)->caller = EMU_TEXT_BASE + (UINT64_C(1) << 32);
	s = stack_call(fp - 0x40, fp);
	stack_expect(&s, 0, 2, true);
	/* Since 6.13 the word after an empty record marks an exception (2) or the end (1). */
	end = emu_chain(world, 0, fp, 0, 2);
	record_at(end)[1].next = 2;
	s = stack_call(fp - 0x40, fp);
	stack_expect(&s, 0, 2, true);
	record_at(end)[1].next = 1;
	s = stack_call(fp - 0x40, fp);
	stack_expect(&s, 0, 2, false);
}
END_TEST

/* The function is the first on the interrupt stack, so its stack pointer is the stack's end. */
START_TEST(from_the_interrupt_stack_to_the_tasks)
{
	uint64_t irq = emu_stack_end(2), fp = emu_chain_start(0);
	struct stack s;

	emu_chain(world, 0, fp, 0, 4);
	s = stack_call(irq, fp);
	stack_expect(&s, 0, 4, false);
	/* A deeper call on the interrupt stack. The task's stack must not lead back to it. */
	emu_chain(world, 0, irq - 0x100, 0, 2);
	record_at(irq - 0x100 + EMU_FRAME)->next = fp;
	emu_chain(world, 0, fp, 2, 4);
	s = stack_call(irq - 0x180, irq - 0x100);
	stack_expect(&s, 0, 6, false);
	record_at(fp + EMU_FRAME)->next = irq - 0x80;
	emu_chain(world, 0, irq - 0x80, 4, 1);
	s = stack_call(irq - 0x180, irq - 0x100);
	stack_expect(&s, 0, 4, true);
	/* If the call is on a task's stack, its frame pointer must not lead to another stack. */
	s = stack_call(fp, irq - 0x100);
	stack_expect(&s, 0, 0, true);
}
END_TEST

static void in_a_hypervisor(struct emu_world *w)
{
	w->values.alternatives |= 1u << HV_ALT_HYPERVISOR | 1u << HV_ALT_HOST_CLOCK;
}

/* A kernel in EL2 keeps its per-CPU offset in a different register and uses a different counter. */
START_TEST(the_interrupt_stack_of_a_hypervisor)
{
	static const struct emu_case of_hypervisor = {"record and stack, in a hypervisor",
						      0,
						      1,
						      in_a_hypervisor,
						      .has_stack = true,
						      .nr_stacks = 1};
	uint64_t irq = emu_stack_end(2), fp = emu_chain_start(0);
	struct stack s;

	emu_set_up(world, &of_hypervisor);
	emu_chain(world, 0, fp, 0, 4);
	s = stack_call(irq, fp);
	stack_expect(&s, 0, 4, false);
	s = stack_call(fp, fp);
	stack_expect(&s, 0, 4, false);
}
END_TEST

/* On a stack that is neither the task's nor the CPU's, only the current page counts. */
START_TEST(on_an_unknown_stack_only_the_page_counts)
{
	uint64_t page = emu_stack_end(2) - 0x1000;
	struct stack s;

	emu_tasks(world)->irq_stack = emu_key(1);
	emu_chain(world, 0, page - 0x100, 0, 2);
	record_at(page - 0x100 + EMU_FRAME)->next = page;
	emu_chain(world, 0, page, 2, 2);
	s = stack_call(page - 0x200, page - 0x100);
	stack_expect(&s, 0, 2, true);
	record_at(page - 0x100 + EMU_FRAME)->next = page - 16;
	*record_at(page - 16) = (struct emu_record){0};
	s = stack_call(page - 0x200, page - 0x100);
	stack_expect(&s, 0, 2, false);
	s = stack_call(page, page);
	stack_expect(&s, 0, 0, true);
}
END_TEST

void add_tests_of_arch(TCase *tc)
{
	tcase_add_test(tc, the_first_functions_of_a_task);
	tcase_add_test(tc, signatures_are_removed);
	tcase_add_test(tc, invalid_frame_pointers_end_the_walk);
	tcase_add_test(tc, from_the_interrupt_stack_to_the_tasks);
	tcase_add_test(tc, the_interrupt_stack_of_a_hypervisor);
	tcase_add_test(tc, on_an_unknown_stack_only_the_page_counts);
}
