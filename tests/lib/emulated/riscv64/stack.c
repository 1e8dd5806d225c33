/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stack contents of a riscv64 kernel. Kernel entry saves registers at the end of the stack. Their
 * address is the frame pointer of the task's first function. */
#include "tests/lib/emulated/world.h"

#define PT_S0 64 /* in struct pt_regs */

static uint64_t last(unsigned stack)
{
	return emu_stack_end(stack) - EMU_REGS_BYTES;
}

uint64_t emu_chain(const struct emu_world *w, unsigned stack, uint64_t fp, unsigned first,
		   unsigned nr)
{
	uint64_t next;

	for (unsigned i = 0; i < nr; i++, fp = next) {
		next = i + 2 < nr ? fp + EMU_FRAME : last(stack);
		*emu_record(w, fp) =
			(struct emu_record){.next = next, .caller = emu_caller(first + i)};
	}
	return last(stack);
}

/* The exception's frame contains the registers of the interrupted code. */
void emu_enter_interrupt(struct emu_world *w)
{
	struct emu_tasks *tasks = emu_tasks(w);
	uint64_t fp = emu_chain_start(0), regs = emu_chain_start(1);
	uint64_t interrupted = regs + EMU_REGS_BYTES + EMU_FRAME;

	for (unsigned i = 0; i < 3; i++, fp += EMU_FRAME)
		*emu_record(w, fp) = (struct emu_record){.next = i < 2 ? fp + EMU_FRAME : regs,
							 .caller = emu_caller(i)};
	*emu_record(w, regs) = (struct emu_record){.caller = emu_gva(EMU_TEXT_OFF + EMU_ENTRY)};
	*emu_word(w, regs) = emu_caller(4);
	*emu_word(w, regs + PT_S0) = interrupted;
	emu_chain(w, 1, interrupted, 5, 4);
	tasks->cat.stack = tasks->dd.stack;
}
