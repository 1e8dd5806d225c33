/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests stack recording on riscv64: the end of a stack, exceptions, and interrupts. */
#include <string.h>

#include "tests/unit/arch/emulated/stack_calls.h"

#define ENTRY_OFF (EMU_TEXT_OFF + EMU_ENTRY)
/* Offsets in struct pt_regs. */
#define EPC	  0u
#define S0	  64u

/* Returns the address of the registers at the end of kernel stack NR. The frame of its first
 * function ends there. */
static uint64_t last_of(unsigned nr)
{
	return emu_stack_end(nr) - EMU_REGS_BYTES;
}

START_TEST(the_first_functions_of_a_task)
{
	uint64_t fp = last_of(0);
	struct stack s;

	for (unsigned nr = 0; nr < 2; nr++) {
		emu_chain(world, 0, fp, 0, nr);
		s = stack_call(nr ? sp_of(fp) : fp, fp);
		stack_expect(&s, 0, nr, false);
	}
}
END_TEST

/* The third frame pointer is invalid. The trampoline must not read there. */
START_TEST(invalid_frame_pointers_end_the_walk)
{
	uint64_t fp = emu_chain_start(2), end = emu_stack_end(2);
	uint64_t bad[] = {0,
			  1,
			  8,
			  UINT64_MAX,
			  UINT64_MAX - 7,
			  fp + 2 * EMU_FRAME + 4,
			  fp - EMU_FRAME,
			  fp,
			  fp + EMU_FRAME,
			  fp + EMU_FRAME + 8,
			  end + 8,
			  end + 0x1000,
			  emu_chain_start(1),
			  emu_gva(0)};
	struct stack s;

	emu_tasks(world)->cat.stack = emu_key(2);
	for (unsigned i = 0; i < HV_ARRAY_LEN(bad); i++) {
		emu_chain(world, 2, fp, 0, 6);
		record_at(fp + EMU_FRAME)->next = bad[i];
		/* The return address of a frame that would begin inside the previous one. */
		*emu_word(world, fp + EMU_FRAME) = emu_caller(9);
		s = stack_call(fp - 0x40, fp);
		stack_expect(&s, 0, 2, true);
	}
	/* The last position where a frame can end. */
	record_at(fp + EMU_FRAME)->next = end;
	*record_at(end) = (struct emu_record){.caller = emu_caller(2)};
	s = stack_call(fp - 0x40, fp);
	stack_expect(&s, 0, 3, true);
	/* An address that is not text. */
	emu_chain(world, 2, fp, 0, 6);
	record_at(fp + 2 * EMU_FRAME)->caller = EMU_TEXT_BASE + HV_TEXT_BIT - 4;
	s = stack_call(fp - 0x40, fp);
	stack_expect(&s, 0, 2, true);
	record_at(fp + 2 * EMU_FRAME)->caller = EMU_TEXT_BASE + (UINT64_C(1) << 32);
	s = stack_call(fp - 0x40, fp);
	stack_expect(&s, 0, 2, true);
}
END_TEST

/* Turns the frame that ends at FP into one of an exception handler. The registers of the
 * interrupted code have pc IP and frame pointer NEXT. */
static void exception_at(uint64_t fp, uint64_t ip, uint64_t next)
{
	record_at(fp)->caller = emu_gva(ENTRY_OFF + 0x40);
	*emu_word(world, fp + EPC) = ip;
	*emu_word(world, fp + S0) = next;
}

static void expect_exception(const struct stack *s, unsigned at, unsigned nr, bool early)
{
	ck_assert_uint_eq(s->nr, nr);
	ck_assert_uint_eq(s->list[at].v, emu_gva(ENTRY_OFF + 0x40));
	ck_assert_int_eq(s->early, early);
}

START_TEST(through_exceptions)
{
	uint64_t fp = emu_chain_start(0), last = last_of(0);
	uint64_t inner = fp + EMU_REGS_BYTES + EMU_FRAME;
	struct stack s;

	/* An exception from user mode ends the stack. */
	emu_chain(world, 0, fp, 0, 3);
	exception_at(last, 0x10000, fp);
	s = stack_call(sp_of(fp), fp);
	expect_exception(&s, 3, 4, false);
	/* An exception from kernel mode. */
	exception_at(fp, emu_caller(5), inner);
	emu_chain(world, 0, inner, 6, 2);
	s = stack_call(sp_of(fp), fp);
	expect_exception(&s, 1, 5, false);
	ck_assert_uint_eq(s.list[2].v, emu_caller(5));
	ck_assert_uint_eq(s.list[3].v, emu_caller(6));
	ck_assert_uint_eq(s.list[4].v, emu_caller(7));
	/* The interrupted frame pointer may be invalid. */
	exception_at(fp, emu_caller(5), inner - EMU_FRAME - 8);
	s = stack_call(sp_of(fp), fp);
	expect_exception(&s, 1, 3, true);
	/* An endless chain of exceptions in the exception code must end. */
	exception_at(fp, emu_gva(ENTRY_OFF), inner);
	memset(emu_word(world, fp + EMU_REGS_BYTES), 0, 2 * EMU_FRAME);
	s = stack_call(sp_of(fp), fp);
	ck_assert_uint_eq(s.nr, 3);
	ck_assert(!s.early);
	/* The exception's registers are not on the stack. */
	emu_chain(world, 0, fp, 0, 2);
	record_at(fp)->next = last + 8;
	exception_at(last + 8, emu_caller(5), inner);
	s = stack_call(sp_of(fp), fp);
	expect_exception(&s, 2, 3, true);
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
	emu_chain(world, 2, irq - 0x400, 0, 3);
	record_at(irq - 0x400 + EMU_FRAME)->next = fp;
	emu_chain(world, 0, fp, 2, 4);
	s = stack_call(irq - 0x440, irq - 0x400);
	stack_expect(&s, 0, 6, false);
	record_at(fp + EMU_FRAME)->next = irq - 0x380;
	s = stack_call(irq - 0x440, irq - 0x400);
	stack_expect(&s, 0, 4, true);
	/* A frame of the interrupt stack ends where a task's last frame would end. */
	emu_chain(world, 2, last_of(2) - EMU_FRAME, 0, 2);
	record_at(last_of(2))->next = fp;
	emu_chain(world, 0, fp, 2, 4);
	s = stack_call(irq - 0x440, last_of(2) - EMU_FRAME);
	stack_expect(&s, 0, 6, false);
	/* If the call is on a task's stack, its frame pointer must not lead to another stack. */
	s = stack_call(sp_of(fp), irq - 0x400);
	stack_expect(&s, 0, 0, true);
}
END_TEST

void add_tests_of_arch(TCase *tc)
{
	tcase_add_test(tc, the_first_functions_of_a_task);
	tcase_add_test(tc, invalid_frame_pointers_end_the_walk);
	tcase_add_test(tc, through_exceptions);
	tcase_add_test(tc, from_the_interrupt_stack_to_the_tasks);
}
