/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cases for the trampoline that records stacks. They have the names of the x86-64 cases
 * (trampoline_world_stack.c). A stack has ten callers. */
#include "tests/lib/emulated/world.h"

#define NR_RECORDS 9

static void plain(struct emu_world *w)
{
	w->fp = emu_chain_start(0);
	/* Disturbances call from below this chain, and on the other stacks. */
	for (unsigned stack = 0; stack < EMU_NR_KSTACKS; stack++)
		emu_chain(w, stack, emu_chain_start(stack), 0, NR_RECORDS);
}

static void other_task(struct emu_world *w)
{
	plain(w);
	emu_state(w, 0)->last_pid = 0;
}

static void off(struct emu_world *w)
{
	plain(w);
	emu_control(w)->mode = HV_MODE_OFF;
}

static void interrupt_stack(struct emu_world *w)
{
	plain(w);
	emu_enter_interrupt(w);
}

/* A traced function jumped to the caller, so two frames have the same retp. The third frame is
 * stale. */
static void below_a_graph(struct emu_world *w)
{
	uint64_t fp = emu_chain_start(0),
		 handler = emu_gva(EMU_CODE_OFF + EMU_ARCH.trampolines.handler_off);
	struct emu_record *record = emu_record(w, fp);
	struct hv_stack *stack;

	plain(w);
	stack = emu_open(w, 0, 3);
	for (unsigned i = 0; i < 3; i++) {
		stack->frames[i].retp_gva = fp + EMU_RETP_MIN;
		stack->frames[i].caller_gva = handler;
	}
	stack->frames[0].caller_gva = record->caller;
	stack->frames[2].retp_gva -= EMU_FRAME;
	record->caller = handler;
}

/* The traced function has the actions stacktrace, and snapshot without a count left. The function
 * tracer records the call, too. */
static void commands(struct emu_world *w)
{
	plain(w);
	emu_call_action(w, 0, HV_DOES_STACK | HV_DOES_REPORT_COUNTED, true);
}

const struct emu_case emu_stack_cases[] = {
	{"record and stack", 0, 1, plain, .has_stack = true, .nr_stacks = 1},
	{"record and stack, after another task's", 1, 1, other_task, .has_stack = true,
	 .nr_stacks = 1},
	{"record and stack, of an interrupt", 0, 1, interrupt_stack, .has_stack = true,
	 .nr_stacks = 1},
	{"record and stack, below a graph", 0, 1, below_a_graph, .has_stack = true, .nr_stacks = 1},
	{"record and stack, tracing off", 0, 0, off, .has_stack = true},
	{"record and stack, by a command", 0, 1, commands, .nr_stacks = 1},
};
const unsigned emu_nr_stack_cases = HV_ARRAY_LEN(emu_stack_cases);
