/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cases for the graph and profile trampolines of every architecture. They have the names of the
 * x86-64 cases (trampoline_world_graph.c). */
#include <string.h>

#include "tests/lib/emulated/world.h"

#define FRAMES_BELOW 2 /* open on the stack of the call */

static struct hv_stack *home(const struct emu_world *w)
{
	return emu_home(w, 0);
}

static void open_stack(struct emu_world *w)
{
	emu_open(w, 0, FRAMES_BELOW);
}

static void prepare_as(struct emu_world *w, const char *name)
{
	for (unsigned i = 0; i < emu_nr_cases; i++)
		if (strcmp(emu_cases[i].name, name) == 0)
			emu_cases[i].prepare(w);
}

static void other_task(struct emu_world *w)
{
	open_stack(w);
	emu_state(w, 0)->last_pid = 0;
}

static void first(struct emu_world *w)
{
	emu_open(w, 0, 0);
}

static void unknown(struct emu_world *w)
{
	(void)w;
}

/* Other stacks occupy the home bucket and all further buckets except the last. */
static void last_bucket(struct emu_world *w)
{
	for (unsigned i = 0; i + 1 < HV_STACK_LOOKUPS; i++)
		home(w)[i].word = (emu_key(0) ^ 0x1000000 << i) | sizeof(struct hv_frame);
}

static void no_stack(struct emu_world *w)
{
	for (unsigned i = 0; i < EMU_NR_STACKS; i++)
		emu_stack(w, i)->word =
			(emu_key(0) ^ UINT64_C(0x1000000) << i) | sizeof(struct hv_frame);
}

static void full(struct emu_world *w)
{
	emu_open(w, 0, HV_FRAMES_MAX);
}

static void overrun(struct emu_world *w)
{
	open_stack(w);
	home(w)->overrun = 7;
	home(w)->word |= HV_STACK_SLOW;
}

static void value(struct emu_world *w)
{
	open_stack(w);
	emu_params(w)->graph_flags |= HV_GRAPH_RETVAL;
}

static void too_short(struct emu_world *w)
{
	open_stack(w);
	emu_params(w)->graph_flags |= HV_GRAPH_NO_ENTRIES;
	emu_params(w)->threshold_ticks = UINT64_C(1) << 60;
}

static void long_enough(struct emu_world *w)
{
	too_short(w);
	emu_params(w)->threshold_ticks = 1;
}

static void too_deep(struct emu_world *w)
{
	open_stack(w);
	emu_params(w)->max_depth = FRAMES_BELOW;
}

static void subtree(struct emu_world *w)
{
	open_stack(w);
	emu_params(w)->graph_flags |= HV_GRAPH_SUBTREE;
}

static void subtree_unknown(struct emu_world *w)
{
	emu_params(w)->graph_flags |= HV_GRAPH_SUBTREE;
}

static void inside(struct emu_world *w)
{
	subtree(w);
	home(w)->inside = 1;
}

static void muted(struct emu_world *w)
{
	open_stack(w);
	home(w)->muted = 1;
	home(w)->word |= HV_STACK_SLOW;
}

static void stopped(struct emu_world *w)
{
	open_stack(w);
	home(w)->stopped = 1;
	home(w)->word |= HV_STACK_SLOW;
}

static void pid_hit(struct emu_world *w)
{
	open_stack(w);
	prepare_as(w, "record, pid filter");
}

static void pid_miss(struct emu_world *w)
{
	open_stack(w);
	prepare_as(w, "pid not in the filter");
}

static void off(struct emu_world *w)
{
	open_stack(w);
	prepare_as(w, "tracing off");
}

static void cpu_muted(struct emu_world *w)
{
	open_stack(w);
	prepare_as(w, "vCPU muted");
}

static void cpu_chosen(struct emu_world *w)
{
	open_stack(w);
	prepare_as(w, "record, vCPU not muted");
}

static void tail_call(struct emu_world *w)
{
	open_stack(w);
	emu_make_tail_call(w);
}

/* A dead task left frames on the stack, far below the call. */
static void new_task(struct emu_world *w)
{
	emu_open(w, 0, 5);
	stopped(w);
	home(w)->word = emu_key(0) | HV_STACK_SLOW | 5 * sizeof(struct hv_frame);
}

static void comes_back(struct emu_world *w)
{
	open_stack(w);
	home(w)->left_tsc = 1;
}

static void profile_first(struct emu_world *w)
{
	open_stack(w);
	emu_params(w)->graph_flags = HV_GRAPH_PROFILE;
}

static void know_function(struct emu_world *w, uint64_t off)
{
	uint32_t function = emu_site_end(off);

	for (unsigned cpu = 0; cpu < EMU_NR_CPUS; cpu++) {
		struct hv_count *c = emu_counts(w, cpu);

		c += hv_count_home(function, EMU_COUNTS_SHIFT);
		c += c->function_low != 0;
		c->function_low = function;
	}
}

/* Both functions were called before, so they have counts. */
static void profile(struct emu_world *w)
{
	profile_first(w);
	know_function(w, EMU_TRACED_OFF);
	know_function(w, EMU_TRACED_OTHER_OFF);
}

static void profile_first_frame(struct emu_world *w)
{
	profile(w);
	first(w);
}

static void profile_own_time(struct emu_world *w)
{
	profile(w);
	emu_params(w)->graph_flags |= HV_GRAPH_OWN_TIME;
}

static void profile_unknown(struct emu_world *w)
{
	emu_params(w)->graph_flags = HV_GRAPH_PROFILE;
}

static void profile_graph(struct emu_world *w)
{
	profile(w);
	emu_params(w)->graph_flags |= HV_GRAPH_RETURNS;
}

static void profile_too_deep(struct emu_world *w)
{
	profile_graph(w);
	emu_params(w)->max_depth = FRAMES_BELOW;
}

static void profile_muted(struct emu_world *w)
{
	profile_graph(w);
	home(w)->muted = 1;
	home(w)->word |= HV_STACK_SLOW;
}

static void profile_stopped(struct emu_world *w)
{
	profile(w);
	home(w)->stopped = 1;
	home(w)->word |= HV_STACK_SLOW;
}

static void profile_full(struct emu_world *w)
{
	full(w);
	emu_params(w)->graph_flags = HV_GRAPH_PROFILE;
}

static void profile_off(struct emu_world *w)
{
	profile(w);
	prepare_as(w, "tracing off");
}

static void take_counts(struct emu_world *w, unsigned nr)
{
	for (unsigned cpu = 0; cpu < EMU_NR_CPUS; cpu++)
		for (unsigned i = 0; i < nr; i++)
			emu_counts(w, cpu)[i].function_low = 1 + i;
}

static void profile_last_count(struct emu_world *w)
{
	uint32_t function = emu_site_end(EMU_TRACED_OFF);

	profile_first(w);
	take_counts(w, hv_count_home(function, EMU_COUNTS_SHIFT) + HV_COUNT_LOOKUPS - 1);
}

static void profile_no_count(struct emu_world *w)
{
	profile_first(w);
	take_counts(w, EMU_NR_COUNTS);
}

/* Role, trace and profiled; then the numbers of entries, exits, mores and hits. */
#define GRAPH(...)	    HV_ROLE_NONE, HV_TRACE_GRAPH, false, __VA_ARGS__
#define ROLE(role, ...)	    role, HV_TRACE_GRAPH, false, __VA_ARGS__
#define TRACE(trace, ...)   HV_ROLE_NONE, trace, false, __VA_ARGS__
#define PROFILE(trace, ...) HV_ROLE_NONE, trace, true, __VA_ARGS__

const struct emu_case emu_graph_cases[] = {
	{"call and return", 0, 0, open_stack, GRAPH(1, 1, 0, 0)},
	{"call and return, after another task's", 1, 0, other_task, GRAPH(1, 1, 0, 0)},
	{"call and return, pid filter", 0, 0, pid_hit, GRAPH(1, 1, 0, 0)},
	{"call and return, with the value", 0, 0, value, GRAPH(1, 1, 1, 0)},
	{"call and return, calls were missed", 0, 0, overrun, GRAPH(1, 1, 1, 0)},
	{"call and return, first frame of a stack", 0, 0, first, GRAPH(1, 1, 0, 0)},
	{"call and return, of a stack seen first", 0, 0, unknown, GRAPH(1, 1, 0, 0)},
	{"call and return, last bucket", 0, 0, last_bucket, GRAPH(1, 1, 0, 0)},
	{"two calls, one by a jump from the other", 0, 0, tail_call, GRAPH(2, 2, 0, 0)},
	{"a new task's first call", 0, 0, new_task, ROLE(HV_ROLE_NEW_TASK, 1, 1, 0, 0)},
	{"a task leaves the CPU", 0, 0, open_stack, ROLE(HV_ROLE_LEAVES, 1, 1, 0, 0)},
	{"a task comes back", 0, 0, comes_back, ROLE(HV_ROLE_ARRIVES, 1, 1, 0, 0)},
	{"profile", 0, 0, profile, PROFILE(HV_TRACE_NOTHING, 0, 0, 0, 1)},
	{"profile, first frame of a stack", 0, 0, profile_first_frame,
	 PROFILE(HV_TRACE_NOTHING, 0, 0, 0, 1)},
	{"profile, of a function seen first", 0, 0, profile_first,
	 PROFILE(HV_TRACE_NOTHING, 0, 0, 0, 1)},
	{"profile, without the calls in it", 0, 0, profile_own_time,
	 PROFILE(HV_TRACE_NOTHING, 0, 0, 0, 1)},
	{"profile, of a stack seen first", 0, 0, profile_unknown,
	 PROFILE(HV_TRACE_NOTHING, 0, 0, 0, 1)},
	{"profile, last bucket", 0, 0, profile_last_count, PROFILE(HV_TRACE_NOTHING, 0, 0, 0, 1)},
	{"profile, no bucket", 0, 0, profile_no_count, PROFILE(HV_TRACE_NOTHING, 0, 0, 0, 0)},
	{"profile, return stack full", 0, 0, profile_full, PROFILE(HV_TRACE_NOTHING, 0, 0, 0, 1)},
	{"profile, return stack stopped", 0, 0, profile_stopped,
	 PROFILE(HV_TRACE_NOTHING, 0, 0, 0, 1)},
	{"profile, tracing off", 0, 0, profile_off, PROFILE(HV_TRACE_FUNCTION, 0, 0, 0, 1)},
	{"profile, switched off", 0, 0, open_stack, PROFILE(HV_TRACE_NOTHING, 0, 0, 0, 0)},
	{"profile and function", 0, 1, profile, PROFILE(HV_TRACE_FUNCTION, 0, 0, 0, 1)},
	{"profile and graph", 0, 0, profile_graph, PROFILE(HV_TRACE_GRAPH, 1, 1, 0, 1)},
	{"profile and graph, too deep", 0, 0, profile_too_deep,
	 PROFILE(HV_TRACE_GRAPH, 0, 0, 0, 1)},
	{"profile and graph, left out", 0, 0, profile_muted, PROFILE(HV_TRACE_GRAPH, 0, 0, 0, 1)},
	{"function and graph", 0, 1, open_stack, TRACE(HV_TRACE_FUNCTION_AND_GRAPH, 1, 1, 0, 0)},
	{"threshold, long enough", 0, 0, long_enough, GRAPH(0, 1, 0, 0)},
	{"threshold, too short", 0, 0, too_short, GRAPH(0, 0, 0, 0)},
	{"subtree, a root", 0, 0, subtree, TRACE(HV_TRACE_GRAPH_ROOT, 1, 1, 0, 0)},
	{"subtree, inside", 0, 0, inside, GRAPH(1, 1, 0, 0)},
	{"subtree, not inside", 0, 0, subtree, GRAPH(0, 0, 0, 0)},
	{"subtree, not inside, of a stack seen first", 0, 0, subtree_unknown, GRAPH(0, 0, 0, 0)},
	{"subtree left out, its root", 0, 0, open_stack, TRACE(HV_TRACE_GRAPH_NOTRACE, 0, 0, 0, 0)},
	{"subtree left out, inside", 0, 0, muted, GRAPH(0, 0, 0, 0)},
	{"deeper than max_graph_depth", 0, 0, too_deep, GRAPH(0, 0, 0, 0)},
	{"return stack full", 0, 0, full, GRAPH(0, 0, 0, 0)},
	{"return stack stopped", 0, 0, stopped, GRAPH(0, 0, 0, 0)},
	{"no return stack free", 0, 0, no_stack, GRAPH(0, 0, 0, 0)},
	{"graph, pid not in the filter", 0, 0, pid_miss, GRAPH(0, 0, 0, 0)},
	{"graph, tracing off", 0, 0, off, GRAPH(0, 0, 0, 0)},
	{"graph, vCPU muted", 0, 0, cpu_muted, GRAPH(0, 0, 0, 0)},
	{"call and return, vCPU not muted", 0, 0, cpu_chosen, GRAPH(1, 1, 0, 0)},
};
const unsigned emu_nr_graph_cases = HV_ARRAY_LEN(emu_graph_cases);
