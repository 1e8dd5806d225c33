/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cases for the trampoline that records stacks. The task's stack ends at task_stack, a few
 * words above the call. */
#include <string.h>

#include "tests/lib/trampoline_world.h"

static void plain(const struct world *w)
{
	(void)w;
}

static void other_task(const struct world *w)
{
	world_state(w, 0)->last_pid = 0;
}

static void off(const struct world *w)
{
	world_control(w)->mode = HV_MODE_OFF;
}

/* The stack that is the task's in other cases is the CPU's interrupt stack. */
static void interrupt_stack(const struct world *w)
{
	struct world_cpu *cpu = world_cpu(w);

	cpu->irq_stack = hv_gva(w->task_stack.v + w->stack_bytes - 8);
	cpu->cat.stack = cpu->dd.stack = w->stack.v + 16 * (uint64_t)w->stack_bytes;
}

/* The traced function has the actions stacktrace, and snapshot without a count left. The function
 * tracer records the call, too. */
static void commands(const struct world *w)
{
	world_call_action(w, HV_DOES_STACK | HV_DOES_REPORT_COUNTED);
}

/* A traced function jumped to the caller, so two frames have the same retp. The third frame is
 * stale. */
static void below_a_graph(const struct world *w)
{
	struct hv_stack *stack = world_home(w, w->stack.v);

	stack->word = w->stack.v | 3 * sizeof(struct hv_frame);
	for (unsigned i = 0; i < 3; i++)
		stack->frames[i] =
			(struct hv_frame){.retp_gva = w->above.v, .caller_gva = world_handler(w).v};
	stack->frames[0].caller_gva = UINT64_C(0xffffffff81234567);
	stack->frames[2].retp_gva -= 8;
}

/* The site belongs to the stack tracer. */
static void not_deeper(const struct world *w)
{
	world_call_action(w, HV_DOES_DEEPEST);
	world_control(w)->deepest = w->stack_bytes;
}

static void deeper(const struct world *w)
{
	world_call_action(w, HV_DOES_DEEPEST);
	world_control(w)->mode = HV_MODE_CPUS;
}

static void another_stack(const struct world *w)
{
	interrupt_stack(w);
	world_call_action(w, HV_DOES_DEEPEST);
}

const struct world_case world_stack_cases[] = {
	{"record and stack", 0, 1, plain, WORLD_FUNCTION_STACK, .nr_stacks = 1},
	{"record and stack, after another task's", 1, 1, other_task, WORLD_FUNCTION_STACK,
	 .nr_stacks = 1},
	{"record and stack, of an interrupt", 0, 1, interrupt_stack, WORLD_FUNCTION_STACK,
	 .nr_stacks = 1},
	{"record and stack, below a graph", 0, 1, below_a_graph, WORLD_FUNCTION_STACK,
	 .nr_stacks = 1, .hooked = 1},
	{"record and stack, tracing off", 0, 0, off, WORLD_FUNCTION_STACK},
	{"guest's own tracer: record and stack", 0, 1, plain, WORLD_FUNCTION_STACK, .nr_stacks = 1,
	 .chained = 1},
	{"guest's own tracer: record and stack, tracing off", 0, 0, off, WORLD_FUNCTION_STACK,
	 .chained = 1},
	{"record and stack, by a command", 0, 1, commands, WORLD_FUNCTION, .nr_stacks = 1},
	{"record, stack not deeper", 0, 1, not_deeper, WORLD_FUNCTION},
	{"record, not on a task's stack", 0, 1, another_stack, WORLD_FUNCTION},
	{"record and stack, deeper than ever", 0, 1, deeper, WORLD_FUNCTION, .nr_stacks = 1},
};
const unsigned world_nr_stack_cases = sizeof(world_stack_cases) / sizeof(*world_stack_cases);
