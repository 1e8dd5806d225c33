/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cases of the stub that records stacks on arm64, named as those of x86-64
 * (stub_world_stack.c). A stack has ten callers. */
#include "tests/lib/arm64_world.h"

#define NR_RECORDS 9

uint64_t arm64_world_chain(const struct arm64_world *w, uint64_t fp, unsigned first, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++, fp += 2 * sizeof(struct arm64_record))
		*arm64_world_record(w, fp) =
			(struct arm64_record){.next = fp + 2 * sizeof(struct arm64_record),
					      .caller = arm64_world_caller(first + i)};
	*arm64_world_record(w, fp) = (struct arm64_record){0};
	arm64_world_record(w, fp)[1] = (struct arm64_record){0};
	return fp;
}

static void plain(struct arm64_world *w)
{
	/* What disturbs it calls on this stack below, and on the others. */
	w->fp = ARM64_WORLD_RECORDS(0);
	for (unsigned stack = 0; stack < ARM64_WORLD_NR_KSTACKS; stack++)
		arm64_world_chain(w, ARM64_WORLD_RECORDS(stack), 0, NR_RECORDS);
}

static void other_task(struct arm64_world *w)
{
	plain(w);
	arm64_world_state(w, 0)->last_pid = 0;
}

static void off(struct arm64_world *w)
{
	plain(w);
	arm64_world_control(w)->mode = HV_MODE_OFF;
}

/* The call is on an interrupt stack, whose records lead to the task's. */
static void interrupt_stack(struct arm64_world *w)
{
	struct arm64_tasks *tasks = arm64_world_tasks(w);
	uint64_t own = tasks->cat.stack, end;

	plain(w);
	end = arm64_world_chain(w, ARM64_WORLD_RECORDS(0), 0, 3);
	*arm64_world_record(w, end) = (struct arm64_record){.next = ARM64_WORLD_RECORDS(1),
							    .caller = arm64_world_caller(3)};
	arm64_world_chain(w, ARM64_WORLD_RECORDS(1), 4, NR_RECORDS - 4);
	tasks->irq_stack = own;
	tasks->cat.stack = tasks->dd.stack;
}

/* In a function that a graph traces, called by a jump from another one; and one that is done. */
static void below_a_graph(struct arm64_world *w)
{
	struct arm64_record *record = arm64_world_record(w, ARM64_WORLD_RECORDS(0));
	struct hv_stack *stack;
	uint64_t handler = arm64_world_gva(ARM64_WORLD_CODE_OFF + hv_arch_arm64.stubs.handler_off);

	plain(w);
	stack = arm64_world_open(w, 0, 3);
	for (unsigned i = 0; i < 3; i++) {
		stack->frames[i].slot_gva = record->next;
		stack->frames[i].caller_gva = handler;
	}
	stack->frames[0].caller_gva = record->caller;
	stack->frames[2].slot_gva -= 2 * sizeof(struct arm64_record);
	record->caller = handler;
}

/* A function that has stacktrace, and snapshot of which none is left, and is recorded itself. */
static void commands(struct arm64_world *w)
{
	plain(w);
	arm64_world_call_action(w, 0, HV_SLOT_STACK | HV_SLOT_TELL_COUNTED, true);
}

const struct arm64_case arm64_stack_cases[] = {
	{"record and stack", 0, 1, plain, .has_stack = true, .nr_stacks = 1},
	{"record and stack, after another task's", 1, 1, other_task, .has_stack = true,
	 .nr_stacks = 1},
	{"record and stack, of an interrupt", 0, 1, interrupt_stack, .has_stack = true,
	 .nr_stacks = 1},
	{"record and stack, below a graph", 0, 1, below_a_graph, .has_stack = true, .nr_stacks = 1},
	{"record and stack, tracing off", 0, 0, off, .has_stack = true},
	{"record and stack, by a command", 0, 1, commands, .nr_stacks = 1},
};
const unsigned arm64_nr_stack_cases = HV_ARRAY_LEN(arm64_stack_cases);
