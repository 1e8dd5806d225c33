/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cases for probe records: calls with their registers, returns, and memory that programs
 * read. */
#include <string.h>

#include "tests/lib/trampoline_world.h"

#define FRAMES_BELOW 2 /* open on the stack of the call */

/* One page of user space and one of the kernel. Addresses between the two halves cannot be read. */
#define USER_ADDRESS   0x10000
#define KERNEL_ADDRESS 0xffff800000000000
#define NO_ADDRESS     0x8000000000000000

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

static void first(const struct world *w)
{
	open_stack(w, 0);
}

static void unknown(const struct world *w)
{
	(void)w;
}

static void other_task(const struct world *w)
{
	plain(w);
	world_state(w, 0)->last_pid = 0;
}

static void no_graph(const struct world *w)
{
	plain(w);
	world_params(w)->graph_flags = 0;
}

static void too_deep(const struct world *w)
{
	plain(w);
	world_params(w)->max_depth = FRAMES_BELOW;
}

static void off(const struct world *w)
{
	plain(w);
	world_control(w)->mode = HV_MODE_OFF;
}

static void pid_miss(const struct world *w)
{
	plain(w);
	world_cases[7].prepare(w);
}

static void tail_call(const struct world *w)
{
	no_graph(w);
	world_make_tail_call(w);
}

static void tail_call_and_graph(const struct world *w)
{
	plain(w);
	world_make_tail_call(w);
}

static void full(const struct world *w)
{
	open_stack(w, HV_FRAMES_MAX);
}

static void room_for_none(const struct world *w)
{
	open_stack(w, HV_FRAMES_MAX - HV_FRAME_ARGS_NR);
}

static void room_for_one(const struct world *w)
{
	no_graph(w);
	open_stack(w, HV_FRAMES_MAX - HV_FRAME_ARGS_NR - 1);
}

/* The return event uses an argument, which is an address. */
static void argument(const struct world *w)
{
	struct hv_fetch_step steps[] = {
		{0},
		{0},
		{.does = HV_FETCH_WORD, .tag = 1, .value = HV_RETURN_ARGS + 3},
		{.does = HV_FETCH_READS | HV_FETCH_KEEPS, .len_bytes = 8, .tag = 1},
	};

	no_graph(w);
	memcpy(w->host + WORLD_PROGRAM_OFF, steps, sizeof(steps));
}

static void stopped(const struct world *w)
{
	plain(w);
	world_home(w, w->stack.v)->stopped = 1;
	world_home(w, w->stack.v)->word |= HV_STACK_SLOW;
}

static void no_stack(const struct world *w)
{
	for (unsigned i = 0; i < WORLD_NR_STACKS; i++)
		world_stack(w, i)->word =
			(w->stack.v ^ 0x1000000ull << i) | sizeof(struct hv_frame);
}

static void exception_stack(const struct world *w)
{
	w->values->hole[HV_HOLE_skip_start] = w->stack.v;
	w->values->hole[HV_HOLE_skip_len] = w->stack_bytes;
}

/* Gives the action group a program that reads memory at ADDRESS. */
static void reads(const struct world *w, uint64_t address, unsigned does)
{
	struct hv_fetch_step steps[] = {
		{.does = HV_FETCH_NUMBER, .tag = 1, .value = address},
		{.does = HV_FETCH_READS, .tag = 1},
		{.does = HV_FETCH_NUMBER, .tag = 1, .value = address},
		{.does = (uint8_t)(HV_FETCH_READS | does), .len_bytes = 8, .tag = 1},
	};

	no_graph(w);
	memcpy(w->host + WORLD_PROGRAM_OFF, steps, sizeof(steps));
}

static void number(const struct world *w)
{
	reads(w, KERNEL_ADDRESS, HV_FETCH_KEEPS);
}

static void string(const struct world *w)
{
	reads(w, USER_ADDRESS, HV_FETCH_STRING);
}

static void fault(const struct world *w)
{
	reads(w, NO_ADDRESS, HV_FETCH_KEEPS);
}

#define USER_REGS_OFF (WORLD_PIDS_OFF - 0x100)
#define USER_IP	      0x401234
#define USER_CS	      0x33 /* of a 64-bit program */
#define USER_FRAMES   20
#define USER_REGS_LEN 168
#define USER_COPIED   256

/* The task executes a program whose frame records are 16 bytes apart. */
static void user_stack(const struct world *w)
{
	/* movq %rsi, 8(%rdi); addq $16, %rsi; movq %rsi, (%rdi); xorl %eax, %eax; ret */
	static const uint8_t reader[] = {0x48, 0x89, 0x77, 8,	 0x48, 0x83, 0xc6,
					 0x10, 0x48, 0x89, 0x37, 0x31, 0xc0, 0xc3};
	const struct hv_fetch_step step = {
		.does = HV_FETCH_USER_STACK, .len_bytes = 8 * USER_FRAMES, .tag = 1};
	uint64_t *regs = (uint64_t *)(w->host + USER_REGS_OFF);

	no_graph(w);
	memcpy(w->host + WORLD_PROGRAM_OFF, &step, sizeof(step));
	memcpy(w->host + WORLD_READERS_OFF + 0x10, reader, sizeof(reader));
	world_cpu(w)->cat.stack = world_gva(w, USER_REGS_OFF).v;
	regs[19] = USER_ADDRESS; /* sp */
	regs[4] = USER_ADDRESS;	 /* bp */
	regs[16] = USER_IP;
	regs[17] = USER_CS;
}

/* The task is in a program. The kernel's function copies nothing. */
static void user_copy(const struct world *w)
{
	static const uint8_t reader[] = {0x31, 0xc0, 0xc3}; /* xorl %eax, %eax; ret */
	const struct hv_fetch_step step = {
		.does = HV_FETCH_USER_COPY, .len_bytes = USER_REGS_LEN + USER_COPIED, .tag = 1};
	uint64_t *regs = (uint64_t *)(w->host + USER_REGS_OFF);

	user_stack(w);
	memcpy(w->host + WORLD_PROGRAM_OFF, &step, sizeof(step));
	memcpy(w->host + WORLD_READERS_OFF + 0x10, reader, sizeof(reader));
	regs[19] = USER_ADDRESS; /* sp */
}

static void no_draft(const struct world *w)
{
	number(w);
	world_take_drafts(w);
}

/* A call's registers take 6 data records and one event record. */
#define REGS_DATA	  6
#define ARGS_DATA	  9
#define COPY_DATA	  28
#define ALL_REGS_DATA	  8 /* of a probe site, or a call with all registers */
#define CALLS(each)	  .nr_calls = 1, .nr_data = (each)
#define RETURNS(nr, each) .nr_returns = (nr), .nr_data = (each)

const struct world_case world_probe_cases[] = {
	{"probe", .prepare = plain, .trampoline = WORLD_REGS, CALLS(REGS_DATA)},
	{"probe, after another task's", 1, .prepare = other_task, .trampoline = WORLD_REGS,
	 CALLS(REGS_DATA)},
	{"probe, tracing off", .prepare = off, .trampoline = WORLD_REGS},
	{"probe, a number in memory", .prepare = number, .trampoline = WORLD_REGS_FETCH,
	 CALLS(REGS_DATA + 1)},
	{"probe, a string", .prepare = string, .trampoline = WORLD_REGS_FETCH,
	 CALLS(REGS_DATA + 1)},
	{"probe, no memory there", .prepare = fault, .trampoline = WORLD_REGS_FETCH,
	 CALLS(REGS_DATA + 1)},
	{"probe, a program's stack of 20 frames", .prepare = user_stack, .calm = 1,
	 .trampoline = WORLD_REGS_FETCH, CALLS(REGS_DATA + 8)},
	{"probe, a copy of 256 bytes of a program's stack", .prepare = user_copy, .calm = 1,
	 .trampoline = WORLD_REGS_FETCH, CALLS(COPY_DATA)},
	{"probe, no draft free", .prepare = no_draft, .trampoline = WORLD_REGS_FETCH, .calm = 1},
	{"probe of all registers", .prepare = plain, .trampoline = WORLD_ENTRY_REGS,
	 CALLS(ALL_REGS_DATA)},
	{"probe of all registers, after another task's", 1, .prepare = other_task, .calm = 1,
	 .trampoline = WORLD_ENTRY_REGS, CALLS(ALL_REGS_DATA)},
	{"probe of all registers, tracing off", .prepare = off, .trampoline = WORLD_ENTRY_REGS},
	{"probe of all registers, a number in memory", .prepare = number,
	 .trampoline = WORLD_ENTRY_REGS_FETCH, CALLS(ALL_REGS_DATA + 1)},
	{"probe of all registers, and function", 0, 1, .prepare = no_graph,
	 .trampoline = WORLD_ENTRY_REGS_FUNCTION, CALLS(ALL_REGS_DATA)},
	{"return probe", .prepare = no_graph, .trampoline = WORLD_PROBED, RETURNS(1, REGS_DATA)},
	{"return probe, after another task's", 1, .prepare = other_task, .trampoline = WORLD_PROBED,
	 RETURNS(1, REGS_DATA)},
	{"return probe, first frame of a stack", .prepare = first, .trampoline = WORLD_PROBED,
	 RETURNS(1, REGS_DATA)},
	{"return probe, of a stack seen first", .prepare = unknown, .trampoline = WORLD_PROBED,
	 RETURNS(1, REGS_DATA)},
	{"return probe, a number in memory", .prepare = number, .trampoline = WORLD_PROBED_FETCH,
	 RETURNS(1, REGS_DATA + 1)},
	{"return probe, a string", .prepare = string, .trampoline = WORLD_PROBED_FETCH,
	 RETURNS(1, REGS_DATA + 1)},
	{"return probe, two calls, one by a jump from the other", .prepare = tail_call,
	 .trampoline = WORLD_PROBED, RETURNS(2, REGS_DATA)},
	{"return probe, tracing off", .prepare = off, .trampoline = WORLD_PROBED},
	{"return probe, pid not in the filter", .prepare = pid_miss, .trampoline = WORLD_PROBED},
	{"return probe, return stack full", .prepare = full, .trampoline = WORLD_PROBED,
	 .nr_missed = 1},
	{"return probe, return stack stopped", .prepare = stopped, .trampoline = WORLD_PROBED,
	 .nr_missed = 1},
	{"return probe, no return stack free", .prepare = no_stack, .trampoline = WORLD_PROBED,
	 .nr_missed = 1},
	{"return probe, on an exception's stack", .prepare = exception_stack,
	 .trampoline = WORLD_PROBED, .nr_missed = 1},
	{"return probe and function", 0, 1, .prepare = no_graph,
	 .trampoline = WORLD_PROBED_FUNCTION, RETURNS(1, REGS_DATA)},
	{"return probe and graph", .prepare = plain, .trampoline = WORLD_PROBED_GRAPH,
	 .nr_entries = 1, .nr_exits = 1, RETURNS(1, REGS_DATA)},
	{"return probe and graph, too deep", .prepare = too_deep, .trampoline = WORLD_PROBED_GRAPH,
	 RETURNS(1, REGS_DATA)},
	{"return with arguments", .prepare = no_graph, .trampoline = WORLD_PROBED_ARGS,
	 RETURNS(1, ARGS_DATA)},
	{"return with arguments, first frame of a stack", .prepare = first, .calm = 1,
	 .trampoline = WORLD_PROBED_ARGS, RETURNS(1, ARGS_DATA)},
	{"return with arguments, of a stack seen first", .prepare = unknown, .calm = 1,
	 .trampoline = WORLD_PROBED_ARGS, RETURNS(1, ARGS_DATA)},
	{"return with arguments, an argument's memory", .prepare = argument, .calm = 1,
	 .trampoline = WORLD_PROBED_ARGS_FETCH, RETURNS(1, ARGS_DATA + 1)},
	{"return with arguments, two calls, one by a jump from the other", .prepare = tail_call,
	 .calm = 1, .trampoline = WORLD_PROBED_ARGS, RETURNS(2, ARGS_DATA)},
	{"return with arguments, tracing off", .prepare = off, .calm = 1,
	 .trampoline = WORLD_PROBED_ARGS},
	{"return with arguments, pid not in the filter", .prepare = pid_miss, .calm = 1,
	 .trampoline = WORLD_PROBED_ARGS},
	{"return with arguments, room for one call", .prepare = room_for_one, .calm = 1,
	 .trampoline = WORLD_PROBED_ARGS, RETURNS(1, ARGS_DATA)},
	{"return with arguments, no room for them", .prepare = room_for_none, .calm = 1,
	 .trampoline = WORLD_PROBED_ARGS, .nr_missed = 1},
	{"return with arguments, return stack stopped", .prepare = stopped, .calm = 1,
	 .trampoline = WORLD_PROBED_ARGS, .nr_missed = 1},
	{"return with arguments, and graph", .prepare = plain,
	 .trampoline = WORLD_PROBED_ARGS_GRAPH, .nr_entries = 1, .nr_exits = 1,
	 RETURNS(1, ARGS_DATA)},
	{"return with arguments, and graph, two calls, one by a jump from the other", .calm = 1,
	 .prepare = tail_call_and_graph, .trampoline = WORLD_PROBED_ARGS_GRAPH, .nr_entries = 2,
	 .nr_exits = 2, RETURNS(2, ARGS_DATA)},
	{"guest's own tracer: probe", .prepare = plain, .trampoline = WORLD_REGS, CALLS(REGS_DATA),
	 .chained = 1},
	{"guest's own tracer: probe, a number in memory", .prepare = number,
	 .trampoline = WORLD_REGS_FETCH, CALLS(REGS_DATA + 1), .chained = 1},
	{"guest's own tracer: probe of all registers", .prepare = plain,
	 .trampoline = WORLD_ENTRY_REGS, CALLS(ALL_REGS_DATA), .chained = 1},
	{"guest's own tracer: probe of all registers, and function", 0, 1, .prepare = no_graph,
	 .trampoline = WORLD_ENTRY_REGS_FUNCTION, CALLS(ALL_REGS_DATA), .chained = 1},
	{"guest's own tracer: return probe", .prepare = no_graph, .trampoline = WORLD_PROBED,
	 RETURNS(1, REGS_DATA), .chained = 1},
	{"guest's own tracer: return probe, return stack full", .prepare = full,
	 .trampoline = WORLD_PROBED, .nr_missed = 1, .chained = 1},
	{"guest's own tracer: return probe and function", 0, 1, .prepare = no_graph,
	 .trampoline = WORLD_PROBED_FUNCTION, RETURNS(1, REGS_DATA), .chained = 1},
	{"guest's own tracer: return with arguments, and graph", .prepare = plain,
	 .trampoline = WORLD_PROBED_ARGS_GRAPH, .nr_entries = 1, .nr_exits = 1,
	 RETURNS(1, ARGS_DATA), .chained = 1},
};
const unsigned world_nr_probe_cases = sizeof(world_probe_cases) / sizeof(*world_probe_cases);

const struct world_case world_probe_site_cases[] = {
	{"probe inside a function", .prepare = plain, .trampoline = WORLD_PROBE_SITE,
	 CALLS(ALL_REGS_DATA)},
	{"probe inside, after another task's", 1, .prepare = other_task,
	 .trampoline = WORLD_PROBE_SITE, CALLS(ALL_REGS_DATA)},
	{"probe inside, tracing off", .prepare = off, .trampoline = WORLD_PROBE_SITE},
	{"probe inside, a number in memory", .prepare = number,
	 .trampoline = WORLD_PROBE_SITE_FETCH, CALLS(ALL_REGS_DATA + 1)},
};
const unsigned world_nr_probe_site_cases =
	sizeof(world_probe_site_cases) / sizeof(*world_probe_site_cases);
