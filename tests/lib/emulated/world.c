/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/lib/emulated/world.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicorn/unicorn.h>

#include "ringbuf/ring.h"
#include "tests/lib/emulated/cpu.h"

#define BLOCK_LEN (EMU_LEN + EMU_NR_KSTACKS * EMU_STACK_BYTES)
#define STEPS_MAX 10000
#define PAGE_LEN  0x1000

_Static_assert(EMU_LEN >= EMU_STATES_OFF + EMU_NR_CPUS * (sizeof(struct hv_state) +
							  EMU_NR_SLOTS * sizeof(struct hv_record)),
	       "rings");
_Static_assert(EMU_TASKS_OFF + sizeof(struct emu_tasks) <= EMU_STACKS_OFF, "tasks");
_Static_assert(EMU_STACKS_OFF + EMU_NR_STACKS * sizeof(struct hv_stack) <= EMU_COUNTS_OFF,
	       "return stacks");
_Static_assert((EMU_GVA + EMU_LEN) % EMU_STACK_BYTES == 0, "stacks");

static const struct emu_task cat = {
	.flags = 0x18008,
	.preempt_count = EMU_PREEMPT_COUNT,
	.lazy_count = 0x12,
	.softirqs = 0x1200,
	.pid = 71,
	.tgid = 70,
	.migration_disabled = 0x0102,
	.comm = "cat",
};
static const struct emu_task dd = {
	.flags = 0xfff3,
	.preempt_count = 0x203,
	.pid = 40000,
	.tgid = 0x2aaaaa,
	.comm = "d\xc3\xa9"
		"d-co\xff-last",
};

uint64_t emu_cpu_get_reg(struct emu_world *w, int number)
{
	uint64_t value = 0;
	uc_err err = uc_reg_read(w->cpu, number, &value);

	assert(err == UC_ERR_OK);
	(void)err;
	return value;
}

void emu_cpu_set_reg(struct emu_world *w, int number, uint64_t value)
{
	uc_err err = uc_reg_write(w->cpu, number, &value);

	assert(err == UC_ERR_OK);
	(void)err;
}

static uint64_t get_pc(struct emu_world *w)
{
	return emu_cpu_get_reg(w, emu_cpu_pc());
}

void emu_get(struct emu_world *w, struct emu_regs *ret)
{
	for (unsigned i = 0; i < EMU_NR_REGS; i++)
		ret->x[i] = emu_cpu_get_reg(w, emu_cpu_reg(i));
	ret->pc = get_pc(w);
	ret->flags = emu_cpu_get_flags(w);
}

void emu_set(struct emu_world *w, const struct emu_regs *regs)
{
	for (unsigned i = 0; i < EMU_NR_REGS; i++)
		emu_cpu_set_reg(w, emu_cpu_reg(i), regs->x[i]);
	emu_cpu_set_reg(w, emu_cpu_pc(), regs->pc);
	emu_cpu_set_flags(w, regs->flags);
}

/* libunicorn calls this before each instruction. */
static void count(uc_engine *cpu, uint64_t pc, uint32_t len_bytes, void *ctx)
{
	struct emu_world *w = ctx;

	(void)len_bytes;
	if (pc == w->until || w->nr_left == 0) {
		uc_emu_stop(cpu);
		return;
	}
	w->nr_left--;
	w->nr_done++;
	if (pc - emu_gva(EMU_CODE_OFF) < EMU_ARCH.trampolines.len_bytes)
		w->nr_in_trampolines++;
	w->lacks = emu_cpu_lacks(w, pc);
	if (w->lacks)
		uc_emu_stop(cpu);
}

/* Each part gets the permissions that it has in a region. */
struct emu_world *emu_new(void)
{
	struct emu_world *w = calloc(1, sizeof(*w));
	uc_engine *cpu = emu_cpu_open();
	uc_hook hook;
	uc_err err;

	assert(w);
	w->cpu = cpu;
	w->host = aligned_alloc(PAGE_LEN, BLOCK_LEN);
	assert(w->host);
	err = uc_mem_map_ptr(cpu, EMU_GVA, EMU_VCPUS_OFF, UC_PROT_READ | UC_PROT_EXEC, w->host);
	assert(err == UC_ERR_OK);
	err = uc_mem_map_ptr(cpu, emu_gva(EMU_VCPUS_OFF), EMU_PIDS_OFF - EMU_VCPUS_OFF,
			     UC_PROT_READ, w->host + EMU_VCPUS_OFF);
	assert(err == UC_ERR_OK);
	err = uc_mem_map_ptr(cpu, emu_gva(EMU_PIDS_OFF), BLOCK_LEN - EMU_PIDS_OFF,
			     UC_PROT_READ | UC_PROT_WRITE, w->host + EMU_PIDS_OFF);
	assert(err == UC_ERR_OK);
	err = uc_hook_add(cpu, &hook, UC_HOOK_CODE, (void *)count, w, 1, 0);
	assert(err == UC_ERR_OK);
	(void)err;
	emu_cpu_prepare(w);
	return w;
}

void emu_free(struct emu_world *w)
{
	if (!w)
		return;
	uc_close(w->cpu);
	free(w->host);
	free(w);
}

void emu_set_current(struct emu_world *w, const struct emu_task *task)
{
	emu_cpu_set_current(w, emu_gva((uint64_t)((const uint8_t *)task - w->host)));
}

static struct hv_trampoline_values values_of_world(void)
{
	return (struct hv_trampoline_values){
		.hole = {
			[HV_HOLE_cpu_number] = offsetof(struct emu_task, cpu_number),
			[HV_HOLE_preempt_count] = offsetof(struct emu_task, preempt_count),
			[HV_HOLE_task_pid] = offsetof(struct emu_task, pid),
			[HV_HOLE_task_tgid] = offsetof(struct emu_task, tgid),
			[HV_HOLE_task_comm] = offsetof(struct emu_task, comm),
			[HV_HOLE_task_flags] = offsetof(struct emu_task, flags),
			[HV_HOLE_task_migrate] = offsetof(struct emu_task, migration_disabled),
			[HV_HOLE_task_lazy] = offsetof(struct emu_task, lazy_count),
			[HV_HOLE_task_lazy_flags] = offsetof(struct emu_task, flags),
			[HV_HOLE_lazy_mask] = 0x10000,
			[HV_HOLE_task_softirqs] = offsetof(struct emu_task, softirqs),
			[HV_HOLE_hardirq_bits] = 0x000f0000,
			[HV_HOLE_task_stack] = offsetof(struct emu_task, stack),
			[HV_HOLE_params] = emu_gva(EMU_PARAMS_OFF),
			[HV_HOLE_stacks] = emu_gva(EMU_STACKS_OFF),
			[HV_HOLE_stack_mask] = -(uint64_t)EMU_STACK_BYTES,
			[HV_HOLE_home_shift] = 32 - EMU_HOMES_SHIFT,
			[HV_HOLE_count_shift] = 32 - EMU_COUNTS_SHIFT,
			[HV_HOLE_control] = emu_gva(EMU_CONTROL_OFF),
			[HV_HOLE_vcpus] = emu_gva(EMU_VCPUS_OFF),
			[HV_HOLE_pids] = emu_gva(EMU_PIDS_OFF),
			[HV_HOLE_nr_pids] = EMU_NR_PIDS,
			[HV_HOLE_text_base] = EMU_TEXT_BASE,
			[HV_HOLE_ring_mask] = hv_ring_mask(EMU_NR_SLOTS),
			[HV_HOLE_key_shift] = hv_key_shift(EMU_NR_SLOTS),
		}};
}

static size_t trampoline_off(const struct emu_case *c)
{
	const struct hv_trampoline_image *trampolines = &EMU_ARCH.trampolines;

	if (c->has_stack)
		return trampolines->function_stack_off;
	if (c->trace == HV_TRACE_NOTHING && !c->profiled && c->role == HV_ROLE_NONE)
		return trampolines->function_off;
	return hv_call_off(trampolines, c->role, c->trace, c->profiled);
}

static void make_states(const struct emu_world *w)
{
	uint64_t *table = (uint64_t *)(w->host + EMU_VCPUS_OFF);

	for (unsigned cpu = 0; cpu < EMU_NR_CPUS; cpu++) {
		table[cpu] = emu_gva(emu_state_off(cpu));
		*emu_state(w, cpu) = (struct hv_state){.head = hv_ring_head_at(0, EMU_NR_SLOTS)};
		emu_state(w, cpu)->counts_gva =
			emu_gva((uint64_t)((uint8_t *)emu_counts(w, cpu) - w->host));
	}
	for (unsigned i = 0; i < EMU_NR_STACKS; i++)
		emu_stack(w, i)->depth = HV_STACK_DEPTH_0;
	emu_state(w, 0)->last_pid = cat.pid;
}

static void link_trampolines(const struct emu_world *w)
{
	uint8_t *code = w->host + EMU_CODE_OFF;
	const char *bad;

	assert(EMU_CODE_OFF + EMU_ARCH.trampolines.len_bytes <= EMU_TEXT_OFF);
	memcpy(code, EMU_ARCH.trampolines.code, EMU_ARCH.trampolines.len_bytes);
	bad = EMU_ARCH.link(&EMU_ARCH.trampolines, &w->values, hv_gva(emu_gva(EMU_CODE_OFF)), code);
	if (bad)
		printf("the value of %s does not fit into an instruction\n", bad);
	assert(!bad);
}

/* Makes the CPU translate the code again. */
static void forget_code(struct emu_world *w)
{
	uc_ctl_remove_cache(w->cpu, EMU_GVA, emu_gva(EMU_VCPUS_OFF));
}

void emu_call_action(struct emu_world *w, unsigned nr, uint32_t does, bool records)
{
	const struct hv_trampoline_image *trampolines = &EMU_ARCH.trampolines;
	struct hv_action_group *groups =
		(struct hv_action_group *)(w->host + EMU_PARAMS_OFF + HV_ACTION_GROUPS_OFF);

	groups[nr] = (struct hv_action_group){
		.does = does,
		.goes_on = records ? (uint32_t)(HV_TRAMPOLINES_CODE_OFF + trampolines->function_off)
				   : 0,
	};
	emu_cpu_make_function(w, EMU_TRACED_OFF,
			      trampolines->actions_off + nr * trampolines->action_len_bytes);
	forget_code(w);
}

void emu_set_up(struct emu_world *w, const struct emu_case *c)
{
	struct emu_tasks *tasks = emu_tasks(w);
	struct hv_params *params = emu_params(w);
	struct emu_case other = *c;

	memset(w->host, 0, BLOCK_LEN);
	w->values = values_of_world();
	emu_cpu_add_values(&w->values);
	w->fp = 0;
	w->irqs = EMU_IRQS_OFF;
	emu_cpu_make_function(w, EMU_TRACED_OFF, trampoline_off(c));
	/* Interrupts call the other function. None arrives inside the scheduler. */
	other.role = HV_ROLE_NONE;
	emu_cpu_make_function(w, EMU_TRACED_OTHER_OFF, trampoline_off(&other));
	tasks->cat = cat;
	tasks->dd = dd;
	tasks->cat.stack = emu_stack_end(0) - EMU_STACK_BYTES;
	tasks->dd.stack = emu_stack_end(1) - EMU_STACK_BYTES;
	make_states(w);
	emu_set_current(w, &tasks->cat);
	emu_cpu_set_up(w);
	*params = (struct hv_params){.graph_flags = HV_GRAPH_RETURNS, .max_depth = UINT32_MAX};
	c->prepare(w);
	emu_control(w)->graph_mode = !hv_graph_is_plain(params);
	params->profile_mode = hv_profile_is_plain(params) ? HV_PROFILE_PLAIN : 0;
	link_trampolines(w);
	forget_code(w);
}

uint64_t emu_key(unsigned nr)
{
	return emu_stack_end(nr) - EMU_STACK_BYTES;
}

struct hv_stack *emu_home(const struct emu_world *w, unsigned nr)
{
	return emu_stack(w, hv_stack_home(emu_key(nr), EMU_HOMES_SHIFT));
}

struct hv_stack *emu_open(const struct emu_world *w, unsigned nr, unsigned nr_frames)
{
	struct hv_stack *stack = emu_home(w, nr);

	stack->word = emu_key(nr) | nr_frames * sizeof(struct hv_frame);
	for (unsigned i = 0; i < nr_frames; i++)
		stack->frames[i].retp_gva = emu_stack_end(nr) - 16 * i;
	return stack;
}

void emu_enter(struct emu_world *w, uint64_t function_off, uint64_t caller_off, uint64_t sp)
{
	struct emu_regs regs = {.pc = emu_gva(function_off)};

	for (unsigned i = 0; i < EMU_NR_REGS; i++)
		regs.x[i] = UINT64_C(0x1111111111111111) * (i % 13) + i;
	regs.x[EMU_RA] = emu_gva(caller_off);
	regs.x[EMU_SP] = sp;
	if (w->fp)
		regs.x[EMU_FP] = w->fp;
	emu_cpu_enter(w, &regs);
	emu_set(w, &regs);
}

/* Executes at most NR instructions, and stops at the address UNTIL. (unicorn's own end address is
 * part of the translated code, so cached code would stop at the end address of an earlier call.) */
static bool execute(struct emu_world *w, uint64_t until, uint64_t nr)
{
	uc_err err;

	w->until = until;
	w->nr_left = nr;
	do {
		w->lacks = false;
		err = uc_emu_start(w->cpu, get_pc(w), 0, 0, 0);
		if (w->lacks)
			emu_cpu_execute(w);
	} while (err == UC_ERR_OK && w->lacks);
	if (err != UC_ERR_OK)
		printf("at %#llx: %s\n", (unsigned long long)(get_pc(w) - EMU_GVA),
		       uc_strerror(err));
	return err == UC_ERR_OK;
}

bool emu_step(struct emu_world *w, uint64_t nr)
{
	return nr == 0 || execute(w, 0, nr);
}

bool emu_run(struct emu_world *w, uint64_t off)
{
	uint64_t until = emu_gva(off);

	return execute(w, until, STEPS_MAX) && get_pc(w) == until;
}

void emu_save(struct emu_world *w, struct emu_moment *ret)
{
	emu_get(w, &ret->regs);
	ret->current = emu_cpu_get_current(w);
	memcpy(ret->memory, w->host, sizeof(ret->memory));
}

/* The code has not changed, so the CPU's translations stay valid. */
void emu_come_back(struct emu_world *w, const struct emu_moment *moment)
{
	emu_set(w, &moment->regs);
	emu_cpu_set_current(w, moment->current);
	memcpy(w->host + EMU_VCPUS_OFF, moment->memory + EMU_VCPUS_OFF,
	       sizeof(moment->memory) - EMU_VCPUS_OFF);
}

/* -- cases ------------------------------------------------------------------------------------- */

static void plain(struct emu_world *w)
{
	(void)w;
}

static void other_task(struct emu_world *w)
{
	emu_state(w, 0)->last_pid = 0;
}

/* The site calls an action entry that changes nothing and then continues to the trampoline. */
static void action(struct emu_world *w)
{
	emu_call_action(w, HV_NR_ACTION_GROUPS - 1,
			HV_DOES_ON | HV_DOES_ON_COUNTED | HV_DOES_OFF_COUNTED, true);
}

static void second_cpu(struct emu_world *w)
{
	emu_tasks(w)->cat.cpu_number = 1;
}

static void no_migration_counts(struct emu_world *w)
{
	w->values.alternatives |= 1u << HV_ALT_NO_MIGRATE;
}

static void lazy_counts(struct emu_world *w)
{
	w->values.alternatives |= 1u << HV_ALT_LAZY;
}

static void task_softirqs(struct emu_world *w)
{
	w->values.alternatives |= 1u << HV_ALT_TASK_SOFTIRQS;
}

static void pid_hit(struct emu_world *w)
{
	emu_control(w)->mode = HV_MODE_PID_FILTER;
	w->host[EMU_PIDS_OFF + 71 / 8] = 1 << 71 % 8;
}

static void pid_hit_other_task(struct emu_world *w)
{
	pid_hit(w);
	other_task(w);
}

static void pid_miss(struct emu_world *w)
{
	emu_control(w)->mode = HV_MODE_PID_FILTER;
	memset(w->host + EMU_PIDS_OFF, 0xff, EMU_NR_PIDS / 8);
	w->host[EMU_PIDS_OFF + 71 / 8] = (uint8_t) ~(1 << 71 % 8);
}

static void pid_beyond(struct emu_world *w)
{
	pid_hit(w);
	memset(w->host + EMU_PIDS_OFF, 0xff, PAGE_LEN);
	emu_tasks(w)->cat.pid = EMU_NR_PIDS;
}

static void off(struct emu_world *w)
{
	emu_control(w)->mode = HV_MODE_OFF;
}

static void paused(struct emu_world *w)
{
	pid_hit(w);
	emu_control(w)->mode = HV_MODE_PAUSED;
}

static void off_with_filter(struct emu_world *w)
{
	pid_hit(w);
	emu_control(w)->mode |= HV_MODE_OFF;
}

static void cpus_chosen(struct emu_world *w)
{
	emu_control(w)->mode = HV_MODE_CPUS;
}

static void cpu_muted(struct emu_world *w)
{
	emu_control(w)->mode = HV_MODE_CPUS;
	emu_state(w, 0)->muted = 1;
}

static void cpus_and_pid(struct emu_world *w)
{
	pid_hit(w);
	emu_control(w)->mode |= HV_MODE_CPUS;
}

static void cpus_not_pid(struct emu_world *w)
{
	pid_miss(w);
	emu_control(w)->mode |= HV_MODE_CPUS;
}

const struct emu_case emu_cases[] = {
	{"record", 0, 1, plain},
	{"record, after another task's", 1, 1, other_task},
	{"record, second vCPU's first", 1, 1, second_cpu},
	{"record, kernel without migration counts", 0, 1, no_migration_counts},
	{"record, kernel with lazy preemption counts", 0, 1, lazy_counts},
	{"record, kernel whose tasks count soft interrupts", 0, 1, task_softirqs},
	{"record, pid filter", 0, 1, pid_hit},
	{"record, pid filter, after another task's", 1, 1, pid_hit_other_task},
	{"pid not in the filter", 0, 0, pid_miss},
	{"pid beyond the filter", 0, 0, pid_beyond},
	{"tracing off", 0, 0, off},
	{"tracing off, pid filter", 0, 0, off_with_filter},
	{"tracing paused", 0, 0, paused},
	{"record, vCPU not muted", 0, 1, cpus_chosen},
	{"vCPU muted", 0, 0, cpu_muted},
	{"record, vCPU chosen and pid filter", 0, 1, cpus_and_pid},
	{"vCPU chosen, pid not in the filter", 0, 0, cpus_not_pid},
	{"record, of a function with a command", 0, 1, action},
};
const unsigned emu_nr_cases = HV_ARRAY_LEN(emu_cases);
