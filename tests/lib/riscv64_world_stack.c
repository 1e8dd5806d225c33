/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cases of the stub that records stacks on riscv64, named as those of x86-64
 * (stub_world_stack.c). A stack has ten callers. */
#include "tests/lib/riscv64_world.h"

#define NR_FRAMES 9

void riscv64_world_chain(const struct riscv64_world *w, unsigned stack, uint64_t fp, unsigned first,
			 unsigned nr)
{
	uint64_t next;

	for (unsigned i = 0; i < nr; i++, fp = next) {
		next = i + 2 < nr ? fp + RISCV64_WORLD_FRAME : riscv64_world_last(stack);
		*riscv64_world_record(w, fp) = (struct riscv64_record){
			.next = next, .caller = riscv64_world_caller(first + i)};
	}
}

static void plain(struct riscv64_world *w)
{
	w->fp = RISCV64_WORLD_FRAMES(0);
	/* What disturbs it calls on this stack below, and on the others. */
	for (unsigned stack = 0; stack < RISCV64_WORLD_NR_KSTACKS; stack++)
		riscv64_world_chain(w, stack, RISCV64_WORLD_FRAMES(stack), 0, NR_FRAMES);
}

static void other_task(struct riscv64_world *w)
{
	plain(w);
	riscv64_world_state(w, 0)->last_pid = 0;
}

static void off(struct riscv64_world *w)
{
	plain(w);
	riscv64_world_control(w)->mode = HV_MODE_OFF;
}

/* The call is on an interrupt stack, whose records lead to the task's. There an exception has the
 * registers of what it interrupted. */
static void interrupt_stack(struct riscv64_world *w)
{
	struct riscv64_tasks *tasks = riscv64_world_tasks(w);
	uint64_t fp = RISCV64_WORLD_FRAMES(0), regs = RISCV64_WORLD_FRAMES(1);

	plain(w);
	for (unsigned i = 0; i < 3; i++)
		*riscv64_world_record(w, fp + i * RISCV64_WORLD_FRAME) = (struct riscv64_record){
			.next = i < 2 ? fp + (i + 1) * RISCV64_WORLD_FRAME : regs,
			.caller = riscv64_world_caller(i)};
	*riscv64_world_record(w, regs) =
		(struct riscv64_record){.caller = riscv64_world_gva(RISCV64_WORLD_ENTRY_OFF)};
	*riscv64_world_word(w, regs) = riscv64_world_caller(4);
	*riscv64_world_word(w, regs + 64) = regs + RISCV64_WORLD_REGS_BYTES + RISCV64_WORLD_FRAME;
	riscv64_world_chain(w, 1, regs + RISCV64_WORLD_REGS_BYTES + RISCV64_WORLD_FRAME, 5, 4);
	tasks->cat.stack = tasks->dd.stack;
}

/* In a function that a graph traces, called by a jump from another one; and one that is done. */
static void below_a_graph(struct riscv64_world *w)
{
	struct riscv64_record *record = riscv64_world_record(w, RISCV64_WORLD_FRAMES(0));
	struct hv_stack *stack;

	plain(w);
	stack = riscv64_world_open(w, 0, 3);
	for (unsigned i = 0; i < 3; i++) {
		stack->frames[i].slot_gva = RISCV64_WORLD_FRAMES(0);
		stack->frames[i].caller_gva = riscv64_world_gva(RISCV64_WORLD_CODE_OFF +
								hv_arch_riscv64.stubs.handler_off);
	}
	stack->frames[0].caller_gva = record->caller;
	record->caller = stack->frames[1].caller_gva;
	stack->frames[2].slot_gva -= 2 * sizeof(struct riscv64_record);
}

/* A function that has stacktrace, and snapshot of which none is left, and is recorded itself. */
static void commands(struct riscv64_world *w)
{
	plain(w);
	riscv64_world_call_action(w, 0, HV_SLOT_STACK | HV_SLOT_TELL_COUNTED, true);
}

const struct riscv64_case riscv64_stack_cases[] = {
	{"record and stack", 0, 1, plain, .has_stack = true, .nr_stacks = 1},
	{"record and stack, after another task's", 1, 1, other_task, .has_stack = true,
	 .nr_stacks = 1},
	{"record and stack, of an interrupt", 0, 1, interrupt_stack, .has_stack = true,
	 .nr_stacks = 1},
	{"record and stack, below a graph", 0, 1, below_a_graph, .has_stack = true, .nr_stacks = 1},
	{"record and stack, tracing off", 0, 0, off, .has_stack = true},
	{"record and stack, by a command", 0, 1, commands, .nr_stacks = 1},
};
const unsigned riscv64_nr_stack_cases = HV_ARRAY_LEN(riscv64_stack_cases);
