/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cases for the graph trampolines. */
#include <assert.h>
#include <string.h>

#include "tests/lib/trampoline_world.h"

#define FRAMES_BELOW 2 /* open on the stack of the call */

static struct hv_stack *open_stack(const struct world *w, unsigned nr_frames)
{
	struct hv_stack *stack = world_home(w, w->stack.v);

	stack->word = w->stack.v | nr_frames * sizeof(struct hv_frame);
	for (unsigned i = 0; i < nr_frames; i++)
		stack->frames[i].retp_gva = w->stack.v + w->stack_bytes - 8 * (i + 1);
	return stack;
}

static void plain(const struct world *w)
{
	open_stack(w, FRAMES_BELOW);
}

static void other_task(const struct world *w)
{
	plain(w);
	world_state(w, 0)->last_pid = 0;
}

static void wide_count(const struct world *w)
{
	plain(w);
	world_count_widely(w);
}

static void never_preempts(const struct world *w)
{
	plain(w);
	world_never_preempt(w);
}

static void task_softirqs(const struct world *w)
{
	plain(w);
	world_count_in_tasks(w);
}

static void task_softirqs_wide(const struct world *w)
{
	plain(w);
	world_count_in_tasks_widely(w);
}

static void first(const struct world *w)
{
	open_stack(w, 0);
}

static void unknown(const struct world *w)
{
	(void)w;
}

/* Other stacks occupy the home bucket and all further buckets except the last. */
static void last_bucket(const struct world *w)
{
	struct hv_stack *stack = world_home(w, w->stack.v);

	for (unsigned i = 0; i + 1 < HV_STACK_LOOKUPS; i++)
		stack[i].word = (w->stack.v ^ 0x1000000 << i) | sizeof(struct hv_frame);
}

static void no_stack(const struct world *w)
{
	for (unsigned i = 0; i < WORLD_NR_STACKS; i++)
		world_stack(w, i)->word =
			(w->stack.v ^ 0x1000000ull << i) | sizeof(struct hv_frame);
}

static void full(const struct world *w)
{
	open_stack(w, HV_FRAMES_MAX);
}

static void overrun(const struct world *w)
{
	struct hv_stack *stack = open_stack(w, FRAMES_BELOW);

	stack->overrun = 7;
	stack->word |= HV_STACK_SLOW;
}

static void value(const struct world *w)
{
	plain(w);
	world_params(w)->graph_flags |= HV_GRAPH_RETVAL;
}

static void thunk(const struct world *w)
{
	plain(w);
	world_cases[4].prepare(w);
}

static void by_a_jump(const struct world *w)
{
	plain(w);
	w->values->alternatives |= 1u << HV_ALT_JUMP;
}

static void never_preempts_jump(const struct world *w)
{
	never_preempts(w);
	w->values->alternatives |= 1u << HV_ALT_JUMP;
}

static void too_short(const struct world *w)
{
	plain(w);
	world_params(w)->graph_flags |= HV_GRAPH_NO_ENTRIES;
	world_params(w)->threshold_ticks = UINT64_C(1) << 60;
}

static void long_enough(const struct world *w)
{
	too_short(w);
	world_params(w)->threshold_ticks = 1;
}

static void too_deep(const struct world *w)
{
	plain(w);
	world_params(w)->max_depth = FRAMES_BELOW;
}

/* Both vCPUs: the task must be in a section after it moves to the other one, too. */
static void in_section(const struct world *w)
{
	plain(w);
	for (unsigned cpu = 0; cpu < WORLD_NR_CPUS; cpu++)
		world_state(w, cpu)->sections.open.tsc = 1;
}

static void in_section_too_deep(const struct world *w)
{
	in_section(w);
	world_params(w)->max_depth = FRAMES_BELOW;
}

static void subtree(const struct world *w)
{
	plain(w);
	world_params(w)->graph_flags |= HV_GRAPH_SUBTREE;
}

static void subtree_unknown(const struct world *w)
{
	world_params(w)->graph_flags |= HV_GRAPH_SUBTREE;
}

static void inside(const struct world *w)
{
	subtree(w);
	world_home(w, w->stack.v)->inside = 1;
}

static void muted(const struct world *w)
{
	plain(w);
	world_home(w, w->stack.v)->muted = 1;
	world_home(w, w->stack.v)->word |= HV_STACK_SLOW;
}

static void stopped(const struct world *w)
{
	plain(w);
	world_home(w, w->stack.v)->stopped = 1;
	world_home(w, w->stack.v)->word |= HV_STACK_SLOW;
}

static void exception_stack(const struct world *w)
{
	w->values->hole[HV_HOLE_skip_start] = w->stack.v;
	w->values->hole[HV_HOLE_skip_len] = w->stack_bytes;
}

static void pid_hit(const struct world *w)
{
	plain(w);
	world_cases[5].prepare(w);
}

static void pid_miss(const struct world *w)
{
	plain(w);
	world_cases[7].prepare(w);
}

static void off(const struct world *w)
{
	plain(w);
	world_control(w)->mode = HV_MODE_OFF;
}

static void cpu_muted(const struct world *w)
{
	plain(w);
	world_control(w)->mode = HV_MODE_CPUS;
	world_state(w, 0)->muted = 1;
}

static void cpu_chosen(const struct world *w)
{
	cpu_muted(w);
	world_state(w, 0)->muted = 0;
}

static void tail_call(const struct world *w)
{
	plain(w);
	world_make_tail_call(w);
}

/* A dead task left frames on the stack, far below the call. */
static void new_task(const struct world *w)
{
	struct hv_stack *stack = open_stack(w, 5);

	stack->stopped = 1;
	stack->word |= HV_STACK_SLOW;
	for (unsigned i = 0; i < 5; i++)
		stack->frames[i].retp_gva = w->stack.v + 8 * (5 - i);
}

static void comes_back(const struct world *w)
{
	plain(w);
	world_home(w, w->stack.v)->left_tsc = 1;
}

static void profile_first(const struct world *w)
{
	plain(w);
	world_params(w)->graph_flags = HV_GRAPH_PROFILE;
}

static uint32_t end_of(const struct world *w, uint64_t site_off)
{
	return (uint32_t)world_gva(w, site_off).v + (uint32_t)hv_arch_x86_64.site_len_bytes;
}

static void know_function(const struct world *w, uint64_t site_off)
{
	uint32_t function = end_of(w, site_off);

	for (unsigned cpu = 0; cpu < WORLD_NR_CPUS; cpu++) {
		struct hv_count *c = world_counts(w, cpu);

		c += hv_count_home(function, WORLD_COUNTS_SHIFT);
		c += c->function_low != 0;
		c->function_low = function;
	}
}

/* Both functions were called before, so they have counts. */
static void profile(const struct world *w)
{
	profile_first(w);
	know_function(w, WORLD_TRACED_OFF);
	know_function(w, WORLD_TRACED_OTHER_OFF);
}

static void profile_never_preempts(const struct world *w)
{
	profile(w);
	world_never_preempt(w);
}

static void profile_first_frame(const struct world *w)
{
	profile(w);
	first(w);
}

static void profile_own_time(const struct world *w)
{
	profile(w);
	world_params(w)->graph_flags |= HV_GRAPH_OWN_TIME;
}

static void profile_unknown(const struct world *w)
{
	world_params(w)->graph_flags = HV_GRAPH_PROFILE;
}

static void profile_graph(const struct world *w)
{
	profile(w);
	world_params(w)->graph_flags |= HV_GRAPH_RETURNS;
}

static void profile_too_deep(const struct world *w)
{
	profile_graph(w);
	world_params(w)->max_depth = FRAMES_BELOW;
}

static void profile_muted(const struct world *w)
{
	profile_graph(w);
	world_home(w, w->stack.v)->muted = 1;
	world_home(w, w->stack.v)->word |= HV_STACK_SLOW;
}

static void profile_stopped(const struct world *w)
{
	profile(w);
	world_home(w, w->stack.v)->stopped = 1;
	world_home(w, w->stack.v)->word |= HV_STACK_SLOW;
}

static void profile_full(const struct world *w)
{
	full(w);
	world_params(w)->graph_flags = HV_GRAPH_PROFILE;
}

static void profile_off(const struct world *w)
{
	profile(w);
	world_control(w)->mode = HV_MODE_OFF;
}

static void profile_exception_stack(const struct world *w)
{
	exception_stack(w);
	world_params(w)->graph_flags = HV_GRAPH_PROFILE;
}

static void take_counts(const struct world *w, unsigned nr)
{
	for (unsigned cpu = 0; cpu < WORLD_NR_CPUS; cpu++)
		for (unsigned i = 0; i < nr; i++)
			world_counts(w, cpu)[i].function_low = 1 + i;
}

static void profile_last_count(const struct world *w)
{
	profile_first(w);
	take_counts(w, hv_count_home(end_of(w, WORLD_TRACED_OFF), WORLD_COUNTS_SHIFT) +
			       HV_COUNT_LOOKUPS - 1);
}

static void profile_no_count(const struct world *w)
{
	profile_first(w);
	take_counts(w, WORLD_NR_COUNTS);
}

static void host_took_nothing(const struct world *w)
{
	plain(w);
	world_params(w)->graph_flags |= HV_GRAPH_HOST;
	world_params(w)->ticks_per_ns = UINT64_C(2) << 32;
}

static void host_took(const struct world *w)
{
	host_took_nothing(w);
	world_make_stolen(w);
}

static void host_took_value(const struct world *w)
{
	host_took(w);
	world_params(w)->graph_flags |= HV_GRAPH_RETVAL;
}

static void host_took_overrun(const struct world *w)
{
	overrun(w);
	world_params(w)->graph_flags |= HV_GRAPH_HOST;
}

static void host_too_short(const struct world *w)
{
	host_took(w);
	world_params(w)->graph_flags |= HV_GRAPH_NO_ENTRIES;
	world_params(w)->threshold_ticks = 1;
	world_params(w)->ticks_per_ns = UINT64_C(1) << 62;
}

static void host_long_enough(const struct world *w)
{
	host_too_short(w);
	world_params(w)->ticks_per_ns = 1;
}

static void host_other_task(const struct world *w)
{
	host_long_enough(w);
	world_state(w, 0)->last_pid = 0;
}

static void host_leaves(const struct world *w)
{
	host_took_nothing(w);
	world_cpu(w)->steal_ns = 1000 << HV_STEAL_SHIFT;
}

static void host_arrives(const struct world *w)
{
	host_leaves(w);
	world_home(w, w->stack.v)->left_steal = 1;
}

static void host_leaves_sleep(const struct world *w)
{
	host_leaves(w);
	world_params(w)->graph_flags |= HV_GRAPH_NO_SLEEP;
}

static void profile_host(const struct world *w)
{
	profile(w);
	world_params(w)->graph_flags |= HV_GRAPH_HOST;
	world_params(w)->ticks_per_ns = 1;
	world_make_stolen(w);
}

/* The trampolines can return to chains, and this call is not of one. */
static void beside_chains(const struct world *w)
{
	subtree(w);
	w->values->alternatives |= 1u << HV_ALT_CHAINS;
}

const struct world_case world_graph_cases[] = {
	{"call and return", 0, 0, plain, WORLD_GRAPH, 1, 1, 0},
	{"call and return, after another task's", 1, 0, other_task, WORLD_GRAPH, 1, 1, 0},
	{"call and return, through a thunk", 0, 0, thunk, WORLD_GRAPH, 1, 1, 0},
	{"call and return, by a jump", 0, 0, by_a_jump, WORLD_GRAPH, 1, 1, 0},
	{"call and return, pid filter", 0, 0, pid_hit, WORLD_GRAPH, 1, 1, 0},
	{"call and return, with the value", 0, 0, value, WORLD_GRAPH, 1, 1, 1},
	{"call and return, calls were missed", 0, 0, overrun, WORLD_GRAPH, 1, 1, 1},
	{"call and return, first frame of a stack", 0, 0, first, WORLD_GRAPH, 1, 1, 0},
	{"call and return, of a stack seen first", 0, 0, unknown, WORLD_GRAPH, 1, 1, 0},
	{"call and return, last bucket", 0, 0, last_bucket, WORLD_GRAPH, 1, 1, 0},
	{"call and return, kernel with a preempt count of 64 bits", 0, 0, wide_count, WORLD_GRAPH,
	 1, 1, 0},
	{"call and return, kernel whose tasks count soft interrupts", 0, 0, task_softirqs,
	 WORLD_GRAPH, 1, 1, 0},
	{"call and return, soft interrupts in tasks, a preempt count of 64 bits", 0, 0,
	 task_softirqs_wide, WORLD_GRAPH, 1, 1, 0},
	{"call and return, kernel that does not preempt itself", 0, 0, never_preempts, WORLD_GRAPH,
	 1, 1, 0},
	{"call and return, kernel that does not preempt itself, by a jump", 0, 0,
	 never_preempts_jump, WORLD_GRAPH, 1, 1, 0},
	{"two calls, one by a jump from the other", 0, 0, tail_call, WORLD_GRAPH, 2, 2, 0},
	{"a new task's first call", 0, 0, new_task, WORLD_NEW_TASK, 1, 1, 0},
	{"a task leaves the CPU", 0, 0, plain, WORLD_LEAVES, 1, 1, 0, 0, 0, 1},
	{"a task comes back", 0, 0, comes_back, WORLD_ARRIVES, 1, 1, 0, 0, 0, 1},
	{"profile", 0, 0, profile, WORLD_PROFILE, 0, 0, 0, 0, 1, 0},
	{"profile, kernel that does not preempt itself", 0, 0, profile_never_preempts,
	 WORLD_PROFILE, 0, 0, 0, 0, 1, 0},
	{"profile, first frame of a stack", 0, 0, profile_first_frame, WORLD_PROFILE, 0, 0, 0, 0, 1,
	 0},
	{"profile, of a function seen first", 0, 0, profile_first, WORLD_PROFILE, 0, 0, 0, 0, 1, 0},
	{"profile, without the calls in it", 0, 0, profile_own_time, WORLD_PROFILE, 0, 0, 0, 0, 1,
	 0},
	{"profile, of a stack seen first", 0, 0, profile_unknown, WORLD_PROFILE, 0, 0, 0, 0, 1, 1},
	{"profile, last bucket", 0, 0, profile_last_count, WORLD_PROFILE, 0, 0, 0, 0, 1, 1},
	{"profile, no bucket", 0, 0, profile_no_count, WORLD_PROFILE, 0, 0, 0, 0, 0, 1},
	{"profile, return stack full", 0, 0, profile_full, WORLD_PROFILE, 0, 0, 0, 0, 1, 1},
	{"profile, return stack stopped", 0, 0, profile_stopped, WORLD_PROFILE, 0, 0, 0, 0, 1, 1},
	{"profile, on an exception's stack", 0, 0, profile_exception_stack, WORLD_PROFILE, 0, 0, 0,
	 0, 1, 1},
	{"profile, tracing off", 0, 0, profile_off, WORLD_PROFILE_FUNCTION, 0, 0, 0, 0, 1, 1},
	{"profile, switched off", 0, 0, plain, WORLD_PROFILE, 0, 0, 0, 0, 0, 1},
	{"profile and function", 0, 1, profile, WORLD_PROFILE_FUNCTION, 0, 0, 0, 0, 1, 0},
	{"profile and graph", 0, 0, profile_graph, WORLD_PROFILE_GRAPH, 1, 1, 0, 0, 1, 0},
	{"profile and graph, too deep", 0, 0, profile_too_deep, WORLD_PROFILE_GRAPH, 0, 0, 0, 0, 1,
	 1},
	{"profile and graph, left out", 0, 0, profile_muted, WORLD_PROFILE_GRAPH, 0, 0, 0, 0, 1, 1},
	{"only in sections: in one, call and return", 0, 0, in_section, WORLD_SECTION_GRAPH, 1, 1,
	 0},
	{"only in sections: in one, deeper than max_graph_depth", 0, 0, in_section_too_deep,
	 WORLD_SECTION_GRAPH, 0, 0, 0},
	{"only in sections: in none, no call", 0, 0, plain, WORLD_SECTION_GRAPH, 0, 0, 0},
	{"function and graph", 0, 1, plain, WORLD_FUNCTION_AND_GRAPH, 1, 1, 0},
	{"function and graph, on an exception's stack", 0, 1, exception_stack,
	 WORLD_FUNCTION_AND_GRAPH, 0, 0, 0},
	{"threshold, long enough", 0, 0, long_enough, WORLD_GRAPH, 0, 1, 0},
	{"threshold, too short", 0, 0, too_short, WORLD_GRAPH, 0, 0, 0},
	{"subtree, a root", 0, 0, subtree, WORLD_GRAPH_ROOT, 1, 1, 0},
	{"subtree, inside", 0, 0, inside, WORLD_GRAPH, 1, 1, 0},
	{"subtree, not inside", 0, 0, subtree, WORLD_GRAPH, 0, 0, 0},
	{"subtree, not inside, of a stack seen first", 0, 0, subtree_unknown, WORLD_GRAPH, 0, 0, 0},
	{"subtree left out, its root", 0, 0, plain, WORLD_GRAPH_NOTRACE, 0, 0, 0},
	{"subtree left out, inside", 0, 0, muted, WORLD_GRAPH, 0, 0, 0},
	{"deeper than max_graph_depth", 0, 0, too_deep, WORLD_GRAPH, 0, 0, 0},
	{"return stack full", 0, 0, full, WORLD_GRAPH, 0, 0, 0},
	{"return stack stopped", 0, 0, stopped, WORLD_GRAPH, 0, 0, 0},
	{"no return stack free", 0, 0, no_stack, WORLD_GRAPH, 0, 0, 0},
	{"on an exception's stack", 0, 0, exception_stack, WORLD_GRAPH, 0, 0, 0},
	{"graph, pid not in the filter", 0, 0, pid_miss, WORLD_GRAPH, 0, 0, 0},
	{"graph, tracing off", 0, 0, off, WORLD_GRAPH, 0, 0, 0},
	{"graph, vCPU muted", 0, 0, cpu_muted, WORLD_GRAPH, 0, 0, 0},
	{"call and return, vCPU not muted", 0, 0, cpu_chosen, WORLD_GRAPH, 1, 1, 0},
	{"host: call and return", 0, 0, host_took_nothing, WORLD_GRAPH, 1, 1, 0},
	{"host: call and return, the vCPU did not run", 0, 0, host_took, WORLD_GRAPH, 1, 1, 1},
	{"host: call and return, the vCPU did not run, with the value", 0, 0, host_took_value,
	 WORLD_GRAPH, 1, 1, 1},
	{"host: call and return, calls were missed", 0, 0, host_took_overrun, WORLD_GRAPH, 1, 1, 1},
	{"host: threshold, long enough", 0, 0, host_long_enough, WORLD_GRAPH, 0, 1, 1},
	{"host: threshold, long enough, after another task's", 1, 0, host_other_task, WORLD_GRAPH,
	 0, 1, 1},
	{"host: threshold, too short", 0, 0, host_too_short, WORLD_GRAPH, 0, 0, 0},
	{"host: a task leaves the CPU", 0, 0, host_leaves, WORLD_LEAVES, 1, 1, 0},
	{"host: a task leaves the CPU, sleep-time 0", 0, 0, host_leaves_sleep, WORLD_LEAVES, 1, 1,
	 0},
	{"host: a task comes back", 0, 0, host_arrives, WORLD_ARRIVES, 1, 1, 0},
	{"host: a task comes back from an unknown vCPU", 0, 0, host_leaves, WORLD_ARRIVES, 1, 1, 0},
	{"host: profile", 0, 0, profile_host, WORLD_PROFILE, 0, 0, 0, 0, 1, 0},
	{"guest's own tracer: call and return", 0, 0, plain, WORLD_GRAPH, 1, 1, 0, .chained = 1},
	{"guest's own tracer: call and return, after another task's", 1, 0, other_task, WORLD_GRAPH,
	 1, 1, 0, .chained = 1},
	{"guest's own tracer: call and return, through a thunk", 0, 0, thunk, WORLD_GRAPH, 1, 1, 0,
	 .chained = 1},
	{"guest's own tracer: call and return, of a stack seen first", 0, 0, unknown, WORLD_GRAPH,
	 1, 1, 0, .chained = 1},
	{"guest's own tracer: two calls, one by a jump from the other", 0, 0, tail_call,
	 WORLD_GRAPH, 2, 2, 0, .chained = 1},
	{"guest's own tracer: subtree, a root", 0, 0, subtree, WORLD_GRAPH_ROOT, 1, 1, 0,
	 .chained = 1},
	{"guest's own tracer: deeper than max_graph_depth", 0, 0, too_deep, WORLD_GRAPH, 0, 0, 0,
	 .chained = 1},
	{"guest's own tracer: on an exception's stack", 0, 0, exception_stack, WORLD_GRAPH, 0, 0, 0,
	 .chained = 1},
	{"guest's own tracer: function and graph", 0, 1, plain, WORLD_FUNCTION_AND_GRAPH, 1, 1, 0,
	 .chained = 1},
	{"guest's own tracer: profile", 0, 0, profile, WORLD_PROFILE, 0, 0, 0, 0, 1, 0,
	 .chained = 1},
	{"guest's own tracer: a new task's first call", 0, 0, new_task, WORLD_NEW_TASK, 1, 1, 0,
	 .chained = 1},
	{"guest's own tracer: a task leaves the CPU", 0, 0, plain, WORLD_LEAVES, 1, 1, 0, 0, 0, 1,
	 .chained = 1},
	{"another function is the guest's own tracer's: subtree, a root", 0, 0, beside_chains,
	 WORLD_GRAPH_ROOT, 1, 1, 0},
};
const unsigned world_nr_graph_cases = sizeof(world_graph_cases) / sizeof(*world_graph_cases);
