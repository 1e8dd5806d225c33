/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/lib/emulated/disturbances.h"

#define INTERRUPT_FRAME 0x150 /* size of the kernel's exception frame */
#define HARDIRQ		0x10000

/* Enters the other function from its caller. FP is the caller's frame pointer if this world's calls
 * have one. */
static void enter_other(struct emu_world *w, uint64_t sp, uint64_t fp)
{
	uint64_t was = w->fp;

	w->fp = was ? fp : 0;
	emu_enter(w, EMU_TRACED_OTHER_OFF, EMU_CALLER_OTHER_OFF, sp);
	w->fp = was;
}

static bool call_other(struct emu_world *w, uint64_t sp, uint64_t fp)
{
	enter_other(w, sp, fp);
	return emu_run(w, EMU_CALLER_OTHER_OFF);
}

/* SP is the handler's stack pointer. */
static bool interrupt(struct emu_world *w, const struct emu_regs *regs, uint64_t sp)
{
	struct emu_task *task = &emu_tasks(w)->cat;
	bool done;

	task->preempt_count += HARDIRQ;
	done = call_other(w, sp, regs->x[EMU_FP]);
	task->preempt_count -= HARDIRQ;
	emu_set(w, regs);
	return done;
}

bool emu_interrupt(struct emu_world *w)
{
	struct emu_regs regs;

	emu_get(w, &regs);
	return interrupt(w, &regs, regs.x[EMU_SP] - INTERRUPT_FRAME);
}

bool emu_interrupt_elsewhere(struct emu_world *w)
{
	struct emu_regs regs;

	emu_get(w, &regs);
	return interrupt(w, &regs, emu_stack_end(2));
}

bool emu_interrupt_twice(struct emu_world *w)
{
	struct emu_regs regs, handler;
	bool done;

	emu_get(w, &regs);
	enter_other(w, regs.x[EMU_SP] - INTERRUPT_FRAME, regs.x[EMU_FP]);
	done = emu_run(w, EMU_TRACED_OTHER_OFF + 8);
	emu_get(w, &handler);
	done &= call_other(w, handler.x[EMU_SP] - INTERRUPT_FRAME, handler.x[EMU_FP]);
	emu_set(w, &handler);
	done &= emu_run(w, EMU_CALLER_OTHER_OFF);
	emu_set(w, &regs);
	return done;
}

bool emu_switch_tasks(struct emu_world *w)
{
	struct emu_tasks *tasks = emu_tasks(w);
	uint64_t fp = emu_chain_start(1);
	struct emu_regs regs;
	bool done;

	emu_get(w, &regs);
	emu_set_current(w, &tasks->dd);
	tasks->dd.cpu_number = tasks->cat.cpu_number;
	done = call_other(w, w->fp ? fp - 0x40 : emu_sp(1), fp);
	emu_set_current(w, &tasks->cat);
	emu_set(w, &regs);
	return done;
}

bool emu_migrate(struct emu_world *w)
{
	bool done = emu_switch_tasks(w);

	emu_tasks(w)->cat.cpu_number ^= 1;
	return done;
}
