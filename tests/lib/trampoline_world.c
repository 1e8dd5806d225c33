/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/lib/trampoline_world.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "ringbuf/ring.h"

#define NR_PIDS 1024

static const struct world_task cat = {.flags = 0x18008,
				      .lazy_count = 0x12,
				      .softirqs = 0x300,
				      .pid = 71,
				      .tgid = 70,
				      .migration_disabled = 0x0102,
				      .comm = "cat",
				      .static_prio = 115,
				      .policy = 2,
				      .rt_priority = 50,
				      .uid = 1000};
static const struct world_task dd = {.flags = 0xfff3,
				     .pid = 40000,
				     .tgid = 0x2aaaaa,
				     .comm = "d\xc3\xa9"
					     "d-co\xff-last"};

void world_set_current(const struct world *w, const struct world_task *task)
{
	world_cpu(w)->current = world_gva(w, (uint64_t)((const uint8_t *)task - w->host));
}

static void plain(const struct world *w)
{
	(void)w;
}

static void other_task(const struct world *w)
{
	world_state(w, 0)->last_pid = 0;
}

static void no_migration_counts(const struct world *w)
{
	w->values->alternatives |= 1u << HV_ALT_NO_MIGRATE;
}

static void lazy_counts(const struct world *w)
{
	w->values->alternatives |= 1u << HV_ALT_LAZY;
}

void world_count_widely(const struct world *w)
{
	w->values->alternatives |= 1u << HV_ALT_WIDE_COUNT;
}

void world_count_in_tasks(const struct world *w)
{
	w->values->alternatives |= 1u << HV_ALT_TASK_SOFTIRQS;
}

void world_count_in_tasks_widely(const struct world *w)
{
	world_count_in_tasks(w);
	world_count_widely(w);
}

void world_never_preempt(const struct world *w)
{
	w->values->alternatives |= 1u << HV_ALT_UNLOCKED;
}

static void thunk(const struct world *w)
{
	w->values->return_thunk = world_gva(w, WORLD_THUNK_OFF);
}

static void pid_hit(const struct world *w)
{
	world_control(w)->mode = HV_MODE_PID_FILTER;
	w->host[WORLD_PIDS_OFF + 71 / 8] = 1 << 71 % 8;
}

static void pid_hit_other_task(const struct world *w)
{
	pid_hit(w);
	other_task(w);
}

static void pid_miss(const struct world *w)
{
	world_control(w)->mode = HV_MODE_PID_FILTER;
	memset(w->host + WORLD_PIDS_OFF, 0xff, NR_PIDS / 8);
	w->host[WORLD_PIDS_OFF + 71 / 8] = (uint8_t) ~(1 << 71 % 8);
}

static void pid_beyond(const struct world *w)
{
	pid_hit(w);
	memset(w->host + WORLD_PIDS_OFF, 0xff, 0x1000);
	world_set_current(w, &world_cpu(w)->dd);
}

static void off(const struct world *w)
{
	world_control(w)->mode = HV_MODE_OFF;
}

static void paused(const struct world *w)
{
	pid_hit(w);
	world_control(w)->mode = HV_MODE_PAUSED;
}

static void off_with_filter(const struct world *w)
{
	pid_hit(w);
	world_control(w)->mode |= HV_MODE_OFF;
}

static void cpus_chosen(const struct world *w)
{
	world_control(w)->mode = HV_MODE_CPUS;
}

static void cpu_muted(const struct world *w)
{
	world_control(w)->mode = HV_MODE_CPUS;
	world_state(w, 0)->muted = 1;
}

static void cpus_and_pid(const struct world *w)
{
	pid_hit(w);
	world_control(w)->mode |= HV_MODE_CPUS;
}

static void cpus_not_pid(const struct world *w)
{
	pid_miss(w);
	world_control(w)->mode |= HV_MODE_CPUS;
}

/* Both vCPUs: the task must be in a section after it moves to the other one, too. */
static void in_section(const struct world *w)
{
	for (unsigned cpu = 0; cpu < WORLD_NR_CPUS; cpu++)
		world_state(w, cpu)->sections.open.tsc = 1;
}

static void in_section_other_task(const struct world *w)
{
	in_section(w);
	other_task(w);
}

void world_call_action(const struct world *w, uint32_t does)
{
	const struct hv_trampoline_image *trampolines = &hv_arch_x86_64.trampolines;
	unsigned group = does & HV_DOES_FETCH ? WORLD_FETCH_GROUP : HV_NR_ACTION_GROUPS - 1;
	uint64_t entry = trampolines->actions_off + group * trampolines->action_len_bytes;
	struct hv_action_group *groups =
		(struct hv_action_group *)(w->host + WORLD_TRAMPOLINES_OFF + HV_ACTION_GROUPS_OFF);
	bool reaches = hv_arch_x86_64.encode_call(world_gva(w, WORLD_TRACED_OFF),
						  world_gva(w, WORLD_CODE_OFF + entry),
						  w->host + WORLD_TRACED_OFF);

	assert(reaches);
	(void)reaches;
	groups[group] = (struct hv_action_group){
		.does = does,
		.goes_on = (uint32_t)(HV_TRAMPOLINES_CODE_OFF + trampolines->function_off),
	};
}

/* The site calls an action entry that changes nothing and then continues to the trampoline. */
static void action(const struct world *w)
{
	world_call_action(w, HV_DOES_ON | HV_DOES_ON_COUNTED | HV_DOES_OFF_COUNTED);
}

static void second_cpu(const struct world *w)
{
	world_cpu(w)->cpu_number = 1;
}

const struct world_case world_cases[] = {
	{"record", 0, 1, plain},
	{"record, after another task's", 1, 1, other_task},
	{"record, second vCPU's first", 1, 1, second_cpu},
	{"record, kernel without migration counts", 0, 1, no_migration_counts},
	{"record, return through a thunk", 0, 1, thunk},
	{"record, pid filter", 0, 1, pid_hit},
	{"record, pid filter, after another task's", 1, 1, pid_hit_other_task},
	{"pid not in the filter", 0, 0, pid_miss},
	{"pid beyond the filter", 0, 0, pid_beyond},
	{"tracing off", 0, 0, off},
	{"tracing off, pid filter", 0, 0, off_with_filter},
	{"tracing paused", 0, 0, paused},
	{"record, of a function with a command", 0, 1, action},
	{"record, vCPU not muted", 0, 1, cpus_chosen},
	{"record, vCPU chosen and pid filter", 0, 1, cpus_and_pid},
	{"vCPU muted", 0, 0, cpu_muted},
	{"vCPU chosen, pid not in the filter", 0, 0, cpus_not_pid},
	{"record, kernel with lazy preemption counts", 0, 1, lazy_counts},
	{"record, kernel with a preempt count of 64 bits", 0, 1, world_count_widely},
	{"record, kernel whose tasks count soft interrupts", 0, 1, world_count_in_tasks},
	{"record, soft interrupts in tasks, a preempt count of 64 bits", 0, 1,
	 world_count_in_tasks_widely},
	{"record, kernel that does not preempt itself", 0, 1, world_never_preempt},
	{"only in sections: in one, record", 0, 1, in_section, WORLD_SECTION_FUNCTION},
	{"only in sections: in one, record, after another task's", 1, 1, in_section_other_task,
	 WORLD_SECTION_FUNCTION},
	{"only in sections: in none", 0, 0, plain, WORLD_SECTION_FUNCTION},
	{"guest's own tracer: record", 0, 1, plain, WORLD_FUNCTION, .chained = 1},
	{"guest's own tracer: record, after another task's", 1, 1, other_task, WORLD_FUNCTION,
	 .chained = 1},
	{"guest's own tracer: record, return through a thunk", 0, 1, thunk, WORLD_FUNCTION,
	 .chained = 1},
	{"guest's own tracer: record, pid filter", 0, 1, pid_hit, WORLD_FUNCTION, .chained = 1},
	{"guest's own tracer: tracing off", 0, 0, off, WORLD_FUNCTION, .chained = 1},
	{"guest's own tracer: record, kernel with a preempt count of 64 bits", 0, 1,
	 world_count_widely, WORLD_FUNCTION, .chained = 1},
	{"guest's own tracer: record, kernel whose tasks count soft interrupts", 0, 1,
	 world_count_in_tasks, WORLD_FUNCTION, .chained = 1},
	{"guest's own tracer: record, soft interrupts in tasks, a preempt count of 64 bits", 0, 1,
	 world_count_in_tasks_widely, WORLD_FUNCTION, .chained = 1},
};
const unsigned world_nr_cases = sizeof(world_cases) / sizeof(*world_cases);

/* Flags of the action group of probed functions, and the trace that is active in addition. */
static const struct probed {
	uint32_t does;
	enum hv_call_trace trace;
} probed[] = {
	[WORLD_REGS] = {HV_DOES_REGS, HV_TRACE_NOTHING},
	[WORLD_REGS_FETCH] = {HV_DOES_REGS | HV_DOES_FETCH, HV_TRACE_NOTHING},
	[WORLD_PROBED] = {HV_DOES_RETURN, HV_TRACE_NOTHING},
	[WORLD_PROBED_FETCH] = {HV_DOES_RETURN | HV_DOES_RETURN_FETCH | 2 << HV_DOES_STEP_SHIFT,
				HV_TRACE_NOTHING},
	[WORLD_PROBED_FUNCTION] = {HV_DOES_RETURN, HV_TRACE_FUNCTION},
	[WORLD_PROBED_GRAPH] = {HV_DOES_RETURN, HV_TRACE_GRAPH},
	[WORLD_PROBED_ARGS] = {HV_DOES_RETURN | HV_DOES_RETURN_ARGS, HV_TRACE_NOTHING},
	[WORLD_PROBED_ARGS_FETCH] = {HV_DOES_RETURN | HV_DOES_RETURN_ARGS | HV_DOES_RETURN_FETCH |
					     2 << HV_DOES_STEP_SHIFT,
				     HV_TRACE_NOTHING},
	[WORLD_PROBED_ARGS_GRAPH] = {HV_DOES_RETURN | HV_DOES_RETURN_ARGS, HV_TRACE_GRAPH},
	[WORLD_ENTRY_REGS] = {HV_DOES_ALL_REGS, HV_TRACE_NOTHING},
	[WORLD_ENTRY_REGS_FETCH] = {HV_DOES_ALL_REGS | HV_DOES_FETCH, HV_TRACE_NOTHING},
	[WORLD_ENTRY_REGS_FUNCTION] = {HV_DOES_ALL_REGS, HV_TRACE_FUNCTION},
	[WORLD_PROBE_SITE] = {HV_DOES_REGS, HV_TRACE_NOTHING},
	[WORLD_PROBE_SITE_FETCH] = {HV_DOES_REGS | HV_DOES_FETCH, HV_TRACE_NOTHING},
};

void world_probe(const struct world *w, enum world_trampoline trampoline)
{
	const struct hv_trampoline_image *trampolines = &hv_arch_x86_64.trampolines;
	uint64_t entry =
		trampolines->probed_off + WORLD_FETCH_GROUP * trampolines->probed_len_bytes;
	uint32_t *kinds = (uint32_t *)(w->host + WORLD_TRAMPOLINES_OFF + HV_KINDS_OFF);

	*world_action_group(w, WORLD_FETCH_GROUP) =
		(struct hv_action_group){.does = probed[trampoline].does};
	if (probed[trampoline].does & HV_DOES_RETURN)
		world_action_group(w, WORLD_FETCH_GROUP)->goes_on =
			(uint32_t)(HV_TRAMPOLINES_CODE_OFF + entry);
	if (trampoline == WORLD_ENTRY_REGS_FUNCTION)
		world_action_group(w, WORLD_FETCH_GROUP)->goes_on =
			(uint32_t)(HV_TRAMPOLINES_CODE_OFF + trampolines->function_off);
	kinds[WORLD_FETCH_GROUP] =
		hv_call_kind(HV_ROLE_NONE, probed[trampoline].trace, 0) |
		(probed[trampoline].does & HV_DOES_RETURN_ARGS ? HV_FRAME_ARGS : 0);
}

/* The entries of graph and profile. */
static const struct {
	enum hv_call_role role;
	enum hv_call_trace trace;
	unsigned profiled;
} entries[] = {
	[WORLD_GRAPH] = {HV_ROLE_NONE, HV_TRACE_GRAPH, 0},
	[WORLD_GRAPH_ROOT] = {HV_ROLE_NONE, HV_TRACE_GRAPH_ROOT, 0},
	[WORLD_GRAPH_NOTRACE] = {HV_ROLE_NONE, HV_TRACE_GRAPH_NOTRACE, 0},
	[WORLD_FUNCTION_AND_GRAPH] = {HV_ROLE_NONE, HV_TRACE_FUNCTION_AND_GRAPH, 0},
	[WORLD_NEW_TASK] = {HV_ROLE_NEW_TASK, HV_TRACE_GRAPH, 0},
	[WORLD_LEAVES] = {HV_ROLE_LEAVES, HV_TRACE_GRAPH, 0},
	[WORLD_ARRIVES] = {HV_ROLE_ARRIVES, HV_TRACE_GRAPH, 0},
	[WORLD_PROFILE] = {HV_ROLE_NONE, HV_TRACE_NOTHING, 1},
	[WORLD_PROFILE_FUNCTION] = {HV_ROLE_NONE, HV_TRACE_FUNCTION, 1},
	[WORLD_PROFILE_GRAPH] = {HV_ROLE_NONE, HV_TRACE_GRAPH, 1},
};

static size_t trampoline_off(enum world_trampoline trampoline)
{
	const struct hv_trampoline_image *trampolines = &hv_arch_x86_64.trampolines;

	if (trampoline == WORLD_EVENT) /* sites cannot call event trampolines */
		return trampolines->function_off;
	if (trampoline >= WORLD_ENTRY_REGS && trampoline <= WORLD_ENTRY_REGS_FUNCTION)
		return trampolines->entry_regs_off +
		       WORLD_FETCH_GROUP * trampolines->entry_regs_len_bytes;
	if (trampoline >= WORLD_REGS)
		return trampolines->actions_off + WORLD_FETCH_GROUP * trampolines->action_len_bytes;
	if (trampoline == WORLD_FUNCTION)
		return trampolines->function_off;
	if (trampoline == WORLD_FUNCTION_STACK)
		return trampolines->function_stack_off;
	if (trampoline == WORLD_SECTION_FUNCTION)
		return trampolines->section_function_off;
	if (trampoline == WORLD_SECTION_GRAPH)
		return trampolines->section_graph_off;
	return hv_call_off(trampolines, entries[trampoline].role, entries[trampoline].trace,
			   entries[trampoline].profiled);
}

/* Writes code like a detour of a probe site. */
static void make_probe_site(const struct world *w, uint64_t off)
{
	/* pushfq; pushq $0; pushq $group; a call; leaq 16(%rsp), %rsp; popfq; movq %rcx, %rax;
	 * ret */
	static const uint8_t code[] = {0x9c, 0x68, 0,	 0,    0,    0,	   0x68, WORLD_FETCH_GROUP,
				       0,    0,	   0,	 0xe8, 0,    0,	   0,	 0,
				       0x48, 0x8d, 0x64, 0x24, 0x10, 0x9d, 0x48, 0x89,
				       0xc8, 0xc3};
	struct hv_gva trampoline =
		world_gva(w, WORLD_CODE_OFF + hv_arch_x86_64.trampolines.probe_site_off);
	bool reaches;

	memcpy(w->host + off, code, sizeof(code));
	reaches =
		hv_arch_x86_64.encode_call(world_gva(w, off + 11), trampoline, w->host + off + 11);
	assert(reaches);
	(void)reaches;
}

static void put_chain(const struct world *w, uint64_t off, const struct hv_chain *chain)
{
	bool reaches = hv_arch_x86_64.encode_chain(world_gva(w, off), chain, w->host + off);

	assert(reaches);
	(void)reaches;
}

/* The chain that an action group of TRAMPOLINE continues at. */
static void make_last_chain(const struct world *w, enum world_trampoline trampoline)
{
	const struct hv_trampoline_image *trampolines = &hv_arch_x86_64.trampolines;
	struct hv_chain chain = {.trampoline = world_gva(w, WORLD_CHAINED_OFF),
				 .how = HV_CHAIN_JUMPS,
				 .target = world_gva(w, WORLD_CHAINED_OFF)};
	size_t off = 0;

	if (probed[trampoline].does & HV_DOES_RETURN) {
		off = trampolines->chain_probed_off;
		chain.kind = HV_FRAME_PROBED | WORLD_FETCH_GROUP << HV_KIND_GROUP_SHIFT;
	} else if (probed[trampoline].trace == HV_TRACE_FUNCTION) {
		off = trampolines->chain_function_off;
	}
	if (off) {
		chain.how = HV_CHAIN_CALLS;
		chain.trampoline = world_gva(w, WORLD_CODE_OFF + off);
	}
	put_chain(w, WORLD_CHAIN_OFF + HV_CHAIN_LEN, &chain);
	world_action_group(w, WORLD_FETCH_GROUP)->goes_on = WORLD_CHAIN_OFF + HV_CHAIN_LEN;
}

/* Writes the chain that sites call instead of TRAMPOLINE, and a guest trampoline that only
 * returns. */
static void make_chain(const struct world *w, enum world_trampoline trampoline)
{
	const struct hv_trampoline_image *trampolines = &hv_arch_x86_64.trampolines;
	struct hv_chain chain = {.how = HV_CHAIN_CALLS, .target = world_gva(w, WORLD_CHAINED_OFF)};
	size_t off = trampolines->chain_call_off;

	if (trampoline >= WORLD_REGS) {
		chain.how = HV_CHAIN_JUMPS;
		off = trampoline_off(trampoline);
		make_last_chain(w, trampoline);
	} else if (trampoline == WORLD_FUNCTION) {
		off = trampolines->chain_function_off;
	} else if (trampoline == WORLD_FUNCTION_STACK) {
		off = trampolines->chain_function_stack_off;
	} else {
		chain.kind = hv_call_kind(entries[trampoline].role, entries[trampoline].trace,
					  entries[trampoline].profiled);
	}
	chain.trampoline = world_gva(w, WORLD_CODE_OFF + off);
	put_chain(w, WORLD_CHAIN_OFF, &chain);
	w->host[WORLD_CHAINED_OFF] = 0xc3;
	w->values->alternatives |= 1u << HV_ALT_CHAINS;
}

static void make_site(const struct world *w, uint64_t off, uint64_t trampoline_at)
{
	static const uint8_t body[] = {0x48, 0x89, 0xc8, 0xc3}; /* movq %rcx, %rax; ret */
	struct hv_gva trampoline = world_gva(w, trampoline_at);
	bool reaches = hv_arch_x86_64.encode_call(world_gva(w, off), trampoline, w->host + off);

	assert(reaches);
	(void)reaches;
	memcpy(w->host + off + hv_arch_x86_64.site_len_bytes, body, sizeof(body));
}

/* Returns what the site of C calls, or the site of an interrupt's function. No interrupt arrives
 * inside the scheduler. */
static uint64_t called_off(const struct world_case *c, bool in_interrupt)
{
	bool in_scheduler = c->trampoline >= WORLD_NEW_TASK && c->trampoline <= WORLD_ARRIVES;

	if (in_interrupt && in_scheduler)
		return WORLD_CODE_OFF + trampoline_off(WORLD_GRAPH);
	return c->chained ? WORLD_CHAIN_OFF : WORLD_CODE_OFF + trampoline_off(c->trampoline);
}

static void make_cpu(const struct world *w)
{
	struct world_cpu *cpu = world_cpu(w);

	cpu->preempt_count = 0x80000102;
	cpu->cat = cat;
	cpu->dd = dd;
	cpu->cat.stack = cpu->dd.stack = w->task_stack.v;
	cpu->cat.creds = world_gva(w, WORLD_CPU_OFF + offsetof(struct world_cpu, cat)).v;
	cpu->dd.creds = world_gva(w, WORLD_CPU_OFF + offsetof(struct world_cpu, dd)).v;
	world_set_current(w, &cpu->cat);
}

static struct hv_trampoline_values values_of(const struct world *w)
{
	return (struct hv_trampoline_values){
		.hole =
			{
				[HV_HOLE_cpu_number] = offsetof(struct world_cpu, cpu_number),
				[HV_HOLE_current] = offsetof(struct world_cpu, current),
				[HV_HOLE_preempt_count] = offsetof(struct world_cpu, preempt_count),
				[HV_HOLE_steal_time] = offsetof(struct world_cpu, steal_ns),
				[HV_HOLE_irq_stack] = offsetof(struct world_cpu, irq_stack),
				[HV_HOLE_task_pid] = offsetof(struct world_task, pid),
				[HV_HOLE_task_tgid] = offsetof(struct world_task, tgid),
				[HV_HOLE_task_comm] = offsetof(struct world_task, comm),
				[HV_HOLE_task_prio] = offsetof(struct world_task, static_prio),
				[HV_HOLE_task_policy] = offsetof(struct world_task, policy),
				[HV_HOLE_task_rt_prio] = offsetof(struct world_task, rt_priority),
				[HV_HOLE_task_cred] = offsetof(struct world_task, creds),
				[HV_HOLE_cred_uid] = offsetof(struct world_task, uid),
				[HV_HOLE_task_flags] = offsetof(struct world_task, flags),
				[HV_HOLE_task_migrate] =
					offsetof(struct world_task, migration_disabled),
				[HV_HOLE_task_stack] = offsetof(struct world_task, stack),
				[HV_HOLE_task_pf] = offsetof(struct world_task, pf),
				[HV_HOLE_task_lazy] = offsetof(struct world_task, lazy_count),
				[HV_HOLE_task_lazy_flags] = offsetof(struct world_task, flags),
				[HV_HOLE_lazy_mask] = 0x10000,
				[HV_HOLE_task_softirqs] = offsetof(struct world_task, softirqs),
				[HV_HOLE_hardirq_bits] = 0x000f0000,
				[HV_HOLE_irq_bits] = 0x00ffff00,
				[HV_HOLE_context_bits] = 0x00ff0100,
				[HV_HOLE_params] = world_gva(w, WORLD_TRAMPOLINES_OFF).v,
				[HV_HOLE_control] = world_gva(w, WORLD_CONTROL_OFF).v,
				[HV_HOLE_vcpus] = world_gva(w, WORLD_VCPUS_OFF).v,
				[HV_HOLE_pids] = world_gva(w, WORLD_PIDS_OFF).v,
				[HV_HOLE_nr_pids] = NR_PIDS,
				[HV_HOLE_stacks] = world_gva(w, WORLD_STACKS_OFF).v,
				[HV_HOLE_chains] = world_gva(w, WORLD_CHAIN_OFF).v,
				[HV_HOLE_chains_len] = HV_CHAIN_LEN,
				[HV_HOLE_event_files] = world_gva(w, WORLD_FILES_OFF).v,
				[HV_HOLE_event_files_len] =
					WORLD_NR_FILES * sizeof(struct hv_event_file),
				[HV_HOLE_event_callbacks] = world_gva(w, WORLD_CALLBACKS_OFF).v,
				[HV_HOLE_event_callbacks_len] = WORLD_CALLBACKS_BYTES,
				[HV_HOLE_drafts] = world_gva(w, WORLD_DRAFTS_OFF).v,
				[HV_HOLE_nr_cpus] = WORLD_NR_CPUS,
				[HV_HOLE_nr_drafts] = WORLD_NR_CPUS * HV_NR_DRAFTS,
				[HV_HOLE_programs] = world_gva(w, WORLD_PROGRAM_OFF).v -
						     WORLD_FETCH_GROUP * HV_FETCH_STEPS_MAX *
							     sizeof(struct hv_fetch_step),
				[HV_HOLE_event_programs] = world_gva(w, WORLD_PROGRAM_OFF).v,
				[HV_HOLE_filters] = world_gva(w, WORLD_FILTERS_OFF).v,
				[HV_HOLE_kernel_start] = 0xffff800000000000,
				[HV_HOLE_copy_kernel] = world_gva(w, WORLD_READERS_OFF).v,
				[HV_HOLE_copy_user] = world_gva(w, WORLD_READERS_OFF + 0x10).v,
				[HV_HOLE_string_kernel] = world_gva(w, WORLD_READERS_OFF + 0x20).v,
				[HV_HOLE_string_user] = world_gva(w, WORLD_READERS_OFF + 0x30).v,
				[HV_HOLE_event_reserve] = world_gva(w, WORLD_KERNEL_OFF).v,
				[HV_HOLE_event_commit] = world_gva(w, WORLD_KERNEL_OFF + 0x10).v,
				[HV_HOLE_event_release] = world_gva(w, WORLD_KERNEL_OFF + 0x20).v,
				[HV_HOLE_event_release_other] =
					world_gva(w, WORLD_KERNEL_OFF + 0x30).v,
				[HV_HOLE_fbuffer_file] = offsetof(struct world_buffer, file),
				[HV_HOLE_fbuffer_event] = offsetof(struct world_buffer, event),
				[HV_HOLE_fbuffer_entry] = offsetof(struct world_buffer, entry),
				[HV_HOLE_task_status] = offsetof(struct world_task, status),
				[HV_HOLE_renamed] = world_gva(w, WORLD_KERNEL_OFF + 0x40).v,
				[HV_HOLE_ring_mask] = hv_ring_mask(w->nr_slots),
				[HV_HOLE_key_shift] = hv_key_shift(w->nr_slots),
				[HV_HOLE_key_step] = hv_ring_key_step(w->nr_slots),
				[HV_HOLE_entry_records] = hv_ring_entry_records(w->nr_slots),
				[HV_HOLE_entry_len] = hv_ring_entry_len(w->nr_slots),
				[HV_HOLE_home_shift] = 32 - WORLD_HOMES_SHIFT,
				[HV_HOLE_count_shift] = 32 - WORLD_COUNTS_SHIFT,
				[HV_HOLE_stack_bytes] = w->stack_bytes,
				[HV_HOLE_stack_mask] = -(uint64_t)w->stack_bytes,
			},
	};
}

static void link_trampolines(const struct world *w, struct hv_gva at)
{
	const struct hv_trampoline_image *trampolines = &hv_arch_x86_64.trampolines;
	uint8_t *code = w->host + WORLD_CODE_OFF;
	const char *bad;

	memcpy(code, trampolines->code, trampolines->len_bytes);
	bad = hv_arch_x86_64.link(trampolines, w->values, at, code);
	if (bad)
		printf("the value of %s does not fit into an instruction\n", bad);
	assert(!bad);
}

void world_choose_ways(const struct world *w)
{
	world_control(w)->graph_mode = !hv_graph_is_plain(world_params(w));
	world_params(w)->profile_mode = hv_profile_is_plain(world_params(w)) ? HV_PROFILE_PLAIN : 0;
}

static void make_vcpus(const struct world *w)
{
	uint64_t *table = (uint64_t *)(w->host + WORLD_VCPUS_OFF);

	for (unsigned cpu = 0; cpu < WORLD_NR_CPUS; cpu++) {
		table[cpu] = world_gva(w, world_state_off(w, cpu)).v;
		*world_state(w, cpu) = (struct hv_state){
			.head = hv_ring_head_at(0, w->nr_slots),
			.counts_gva = world_gva(w, WORLD_COUNTS_OFF).v +
				      cpu * WORLD_NR_COUNTS * sizeof(struct hv_count),
		};
	}
}

void world_prepare(const struct world *w, const struct world_case *c)
{
	static const uint8_t nothing[] = {0x31, 0xc0, 0xc3}; /* xorl %eax, %eax; ret */
	const struct hv_trampoline_image *trampolines = &hv_arch_x86_64.trampolines;

	assert(WORLD_CODE_OFF + trampolines->len_bytes <= WORLD_TEXT_OFF);
	memset(w->host, 0, WORLD_VCPU_OFF);
	memset(w->host + WORLD_CODE_OFF, 0xcc, WORLD_PIDS_OFF - WORLD_CODE_OFF);
	*w->values = values_of(w);
	if (c->trampoline == WORLD_PROBE_SITE || c->trampoline == WORLD_PROBE_SITE_FETCH)
		make_probe_site(w, WORLD_TRACED_OFF);
	else
		make_site(w, WORLD_TRACED_OFF, called_off(c, false));
	make_site(w, WORLD_TRACED_OTHER_OFF, called_off(c, true));
	w->host[WORLD_THUNK_OFF] = 0xc3;
	for (unsigned i = 0; i < 4; i++)
		memcpy(w->host + WORLD_READERS_OFF + 16 * i, nothing, sizeof(nothing));
	if (c->trampoline >= WORLD_REGS && c->trampoline != WORLD_EVENT)
		world_probe(w, c->trampoline);
	if (c->chained)
		make_chain(w, c->trampoline);
	make_cpu(w);
	make_vcpus(w);
	for (unsigned i = 0; i < WORLD_NR_STACKS; i++)
		world_stack(w, i)->depth = HV_STACK_DEPTH_0;
	world_state(w, 0)->last_pid = cat.pid;
	*world_params(w) = (struct hv_params){
		.graph_flags = HV_GRAPH_RETURNS,
		.max_depth = UINT32_MAX,
	};
	c->prepare(w);
	world_choose_ways(w);
	link_trampolines(w, c->hooked ? world_text(w) : world_gva(w, WORLD_CODE_OFF));
}

void world_set_up(const struct world *w, const struct world_case *c)
{
	memset(w->host + WORLD_VCPU_OFF, 0, WORLD_LEN(w->nr_slots) - WORLD_VCPU_OFF);
	world_prepare(w, c);
}

bool world_records(const struct world *w, uint32_t pid, uint32_t cpu)
{
	uint32_t mode = world_control(w)->mode;
	bool chosen = pid < NR_PIDS && w->host[WORLD_PIDS_OFF + pid / 8] >> pid % 8 & 1;

	if (mode & HV_MODE_SILENT)
		return false;
	if (mode & HV_MODE_CPUS && world_state(w, cpu)->muted)
		return false;
	return !(mode & HV_MODE_PID_FILTER) || chosen;
}

void world_make_stolen(const struct world *w)
{
	uint32_t at = offsetof(struct world_cpu, steal_ns);
	uint32_t steal_ns = (uint32_t)world_cpu(w)->steal_ns + WORLD_STOLEN_NS;
	uint8_t *code = w->host + WORLD_TRACED_OFF + hv_arch_x86_64.site_len_bytes;
	static const uint8_t movq_to_gs[] = {0x65, 0x48, 0xc7, 0x04, 0x25};

	memmove(code + 13, code, 4); /* the function's body */
	memcpy(code, movq_to_gs, sizeof(movq_to_gs));
	memcpy(code + 5, &at, sizeof(at));
	memcpy(code + 9, &steal_ns, sizeof(steal_ns));
}

void world_make_tail_call(const struct world *w)
{
	uint64_t at = WORLD_TRACED_OFF + hv_arch_x86_64.site_len_bytes;
	bool reaches = hv_arch_x86_64.encode_call(
		world_gva(w, at), world_gva(w, WORLD_TRACED_OTHER_OFF), w->host + at);

	assert(reaches);
	(void)reaches;
	w->host[at] = 0xe9; /* a jmp has the length and reach of a call */
}
