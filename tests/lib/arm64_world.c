/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/lib/arm64_world.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicorn/unicorn.h>

#include "ringbuf/ring.h"

#define BLOCK_LEN (ARM64_WORLD_LEN + ARM64_WORLD_NR_KSTACKS * ARM64_WORLD_STACK_BYTES)
#define STEPS_MAX 10000
#define PAGE_LEN  0x1000
#define EL1H	  5
#define PERCPU_BASE                                                                                \
	UINT64_C(0x123456780000) /* what a CPU adds to the addresses of its variables              \
				  */
#define MASKED_I 0x80

_Static_assert(ARM64_WORLD_LEN >= ARM64_WORLD_STATES_OFF +
					  ARM64_WORLD_NR_CPUS *
						  (sizeof(struct hv_state) +
						   ARM64_WORLD_NR_SLOTS * sizeof(struct hv_record)),
	       "rings");
_Static_assert((ARM64_WORLD_GVA + ARM64_WORLD_LEN) % ARM64_WORLD_STACK_BYTES == 0, "stacks");

static const int general[] = {
	UC_ARM64_REG_X0,  UC_ARM64_REG_X1,  UC_ARM64_REG_X2,  UC_ARM64_REG_X3,	UC_ARM64_REG_X4,
	UC_ARM64_REG_X5,  UC_ARM64_REG_X6,  UC_ARM64_REG_X7,  UC_ARM64_REG_X8,	UC_ARM64_REG_X9,
	UC_ARM64_REG_X10, UC_ARM64_REG_X11, UC_ARM64_REG_X12, UC_ARM64_REG_X13, UC_ARM64_REG_X14,
	UC_ARM64_REG_X15, UC_ARM64_REG_X16, UC_ARM64_REG_X17, UC_ARM64_REG_X18, UC_ARM64_REG_X19,
	UC_ARM64_REG_X20, UC_ARM64_REG_X21, UC_ARM64_REG_X22, UC_ARM64_REG_X23, UC_ARM64_REG_X24,
	UC_ARM64_REG_X25, UC_ARM64_REG_X26, UC_ARM64_REG_X27, UC_ARM64_REG_X28, UC_ARM64_REG_X29,
	UC_ARM64_REG_X30};

static const struct arm64_task cat = {
	.flags = 0x18008,
	.preempt_count = 0x100000102,
	.lazy_count = 0x12,
	.pid = 71,
	.tgid = 70,
	.migration_disabled = 0x0102,
	.comm = "cat",
};
static const struct arm64_task dd = {
	.flags = 0xfff3,
	.preempt_count = 0x203,
	.pid = 40000,
	.tgid = 0x2aaaaa,
	.comm = "d\xc3\xa9"
		"d-co\xff-last",
};

static void get(struct arm64_world *w, int number, uint64_t *ret)
{
	uc_err err = uc_reg_read(w->cpu, number, ret);

	assert(err == UC_ERR_OK);
	(void)err;
}

static void set(struct arm64_world *w, int number, uint64_t value)
{
	uc_err err = uc_reg_write(w->cpu, number, &value);

	assert(err == UC_ERR_OK);
	(void)err;
}

void arm64_world_get(struct arm64_world *w, struct arm64_regs *ret)
{
	for (unsigned i = 0; i < HV_ARRAY_LEN(general); i++)
		get(w, general[i], &ret->x[i]);
	get(w, UC_ARM64_REG_SP, &ret->sp);
	get(w, UC_ARM64_REG_PC, &ret->pc);
	get(w, UC_ARM64_REG_PSTATE, &ret->pstate);
}

void arm64_world_set(struct arm64_world *w, const struct arm64_regs *regs)
{
	for (unsigned i = 0; i < HV_ARRAY_LEN(general); i++)
		set(w, general[i], regs->x[i]);
	set(w, UC_ARM64_REG_SP, regs->sp);
	set(w, UC_ARM64_REG_PC, regs->pc);
	set(w, UC_ARM64_REG_PSTATE, regs->pstate);
}

/* Is called before each instruction. */
static void count(uc_engine *cpu, uint64_t pc, uint32_t len_bytes, void *ctx)
{
	struct arm64_world *w = ctx;

	(void)len_bytes;
	if (pc == w->until || w->nr_left-- == 0) {
		uc_emu_stop(cpu);
		return;
	}
	w->nr_done++;
	if (pc - arm64_world_gva(ARM64_WORLD_CODE_OFF) < hv_arch_arm64.stubs.len_bytes)
		w->nr_in_stubs++;
}

/* The CPU removes signatures only while it makes some: EnIA of SCTLR_EL1. */
static void let_sign(struct arm64_world *w)
{
	/* mrs x0, sctlr_el1; orr x0, x0, #1 << 31; msr sctlr_el1, x0 */
	static const uint32_t insns[] = {0xd5381000, 0xb2610000, 0xd5181000};
	const struct arm64_regs regs = {.pc = arm64_world_gva(ARM64_WORLD_TEXT_OFF),
					.pstate = EL1H};
	bool done;

	memcpy(w->host + ARM64_WORLD_TEXT_OFF, insns, sizeof(insns));
	arm64_world_set(w, &regs);
	done = arm64_world_step(w, HV_ARRAY_LEN(insns));
	assert(done);
	(void)done;
}

/* What the guest may do with each part is as in a region. */
struct arm64_world *arm64_world_new(void)
{
	struct arm64_world *w = calloc(1, sizeof(*w));
	uc_engine *cpu;
	uc_hook hook;
	uc_err err = uc_open(UC_ARCH_ARM64, UC_MODE_ARM, &cpu);

	assert(w && err == UC_ERR_OK);
	w->cpu = cpu;
	w->host = aligned_alloc(PAGE_LEN, BLOCK_LEN);
	assert(w->host);
	err = uc_ctl_set_cpu_model(cpu, UC_CPU_ARM64_MAX);
	assert(err == UC_ERR_OK);
	err = uc_mem_map_ptr(cpu, ARM64_WORLD_GVA, ARM64_WORLD_VCPUS_OFF,
			     UC_PROT_READ | UC_PROT_EXEC, w->host);
	assert(err == UC_ERR_OK);
	err = uc_mem_map_ptr(cpu, arm64_world_gva(ARM64_WORLD_VCPUS_OFF),
			     ARM64_WORLD_PIDS_OFF - ARM64_WORLD_VCPUS_OFF, UC_PROT_READ,
			     w->host + ARM64_WORLD_VCPUS_OFF);
	assert(err == UC_ERR_OK);
	err = uc_mem_map_ptr(cpu, arm64_world_gva(ARM64_WORLD_PIDS_OFF),
			     BLOCK_LEN - ARM64_WORLD_PIDS_OFF, UC_PROT_READ | UC_PROT_WRITE,
			     w->host + ARM64_WORLD_PIDS_OFF);
	assert(err == UC_ERR_OK);
	err = uc_hook_add(cpu, &hook, UC_HOOK_CODE, (void *)count, w, 1, 0);
	assert(err == UC_ERR_OK);
	(void)err;
	let_sign(w);
	return w;
}

void arm64_world_free(struct arm64_world *w)
{
	if (!w)
		return;
	uc_close(w->cpu);
	free(w->host);
	free(w);
}

void arm64_world_set_current(struct arm64_world *w, const struct arm64_task *task)
{
	set(w, UC_ARM64_REG_SP_EL0, arm64_world_gva((uint64_t)((const uint8_t *)task - w->host)));
}

static struct hv_stub_values values_of_world(void)
{
	return (struct hv_stub_values){
		.hole = {
			[HV_HOLE_cpu_number] = offsetof(struct arm64_task, cpu_number),
			[HV_HOLE_preempt_count] = offsetof(struct arm64_task, preempt_count),
			[HV_HOLE_task_pid] = offsetof(struct arm64_task, pid),
			[HV_HOLE_task_tgid] = offsetof(struct arm64_task, tgid),
			[HV_HOLE_task_comm] = offsetof(struct arm64_task, comm),
			[HV_HOLE_task_flags] = offsetof(struct arm64_task, flags),
			[HV_HOLE_task_migrate] = offsetof(struct arm64_task, migration_disabled),
			[HV_HOLE_task_lazy] = offsetof(struct arm64_task, lazy_count),
			[HV_HOLE_task_lazy_flags] = offsetof(struct arm64_task, flags),
			[HV_HOLE_task_stack] = offsetof(struct arm64_task, stack),
			[HV_HOLE_lazy_mask] = 0x10000,
			[HV_HOLE_params] = arm64_world_gva(ARM64_WORLD_PARAMS_OFF),
			[HV_HOLE_control] = arm64_world_gva(ARM64_WORLD_CONTROL_OFF),
			[HV_HOLE_vcpus] = arm64_world_gva(ARM64_WORLD_VCPUS_OFF),
			[HV_HOLE_pids] = arm64_world_gva(ARM64_WORLD_PIDS_OFF),
			[HV_HOLE_nr_pids] = ARM64_WORLD_NR_PIDS,
			[HV_HOLE_stacks] = arm64_world_gva(ARM64_WORLD_STACKS_OFF),
			[HV_HOLE_stack_mask] = -(uint64_t)ARM64_WORLD_STACK_BYTES,
			[HV_HOLE_irq_stack] = arm64_world_gva(ARM64_WORLD_TASKS_OFF) +
					      offsetof(struct arm64_tasks, irq_stack) - PERCPU_BASE,
			[HV_HOLE_home_shift] = 32 - ARM64_WORLD_HOMES_SHIFT,
			[HV_HOLE_count_shift] = 32 - ARM64_WORLD_COUNTS_SHIFT,
			[HV_HOLE_text_base] = ARM64_WORLD_TEXT_BASE,
			[HV_HOLE_ring_mask] = hv_ring_mask(ARM64_WORLD_NR_SLOTS),
			[HV_HOLE_key_shift] = hv_key_shift(ARM64_WORLD_NR_SLOTS),
		}};
}

static size_t stub_off(const struct arm64_case *c)
{
	const struct hv_stub_image *stubs = &hv_arch_arm64.stubs;

	if (c->has_stack)
		return stubs->function_stack_off;
	if (c->trace == HV_TRACE_NOTHING && !c->profiled && c->role == HV_ROLE_NONE)
		return stubs->function_off;
	return hv_call_off(stubs, c->role, c->trace, c->profiled);
}

static void make_function(const struct arm64_world *w, uint64_t off, uint64_t to)
{
	/* mov x9, x30; bl; mov x0, x1; ret */
	static const uint32_t insns[] = {0xaa1e03e9, 0, 0xaa0103e0, 0xd65f03c0};
	uint64_t site = off + ARM64_WORLD_SITE;
	bool reaches;

	memcpy(w->host + off, insns, sizeof(insns));
	reaches = hv_arch_arm64.encode_call(hv_gva(arm64_world_gva(site)),
					    hv_gva(arm64_world_gva(ARM64_WORLD_CODE_OFF + to)),
					    w->host + site);
	assert(reaches);
	(void)reaches;
}

/* The CPU translates the code anew. */
static void forget_code(struct arm64_world *w)
{
	uc_ctl_remove_cache(w->cpu, ARM64_WORLD_GVA, arm64_world_gva(ARM64_WORLD_VCPUS_OFF));
}

static void make_states(const struct arm64_world *w)
{
	uint64_t *table = (uint64_t *)(w->host + ARM64_WORLD_VCPUS_OFF);

	for (unsigned cpu = 0; cpu < ARM64_WORLD_NR_CPUS; cpu++) {
		table[cpu] = arm64_world_gva(arm64_world_state_off(cpu));
		*arm64_world_state(w, cpu) =
			(struct hv_state){.head = hv_ring_head_at(0, ARM64_WORLD_NR_SLOTS)};
		arm64_world_state(w, cpu)->counts_gva = arm64_world_gva(
			(uint64_t)((uint8_t *)arm64_world_counts(w, cpu) - w->host));
	}
	for (unsigned i = 0; i < ARM64_WORLD_NR_STACKS; i++)
		arm64_world_stack(w, i)->depth = HV_STACK_DEPTH_0;
	arm64_world_state(w, 0)->last_pid = cat.pid;
}

static void link_stubs(const struct arm64_world *w)
{
	const struct hv_stub_image *stubs = &hv_arch_arm64.stubs;
	uint8_t *code = w->host + ARM64_WORLD_CODE_OFF;
	const char *bad;

	assert(ARM64_WORLD_CODE_OFF + stubs->len_bytes <= ARM64_WORLD_TEXT_OFF);
	memcpy(code, stubs->code, stubs->len_bytes);
	bad = hv_arch_arm64.link(stubs, &w->values, hv_gva(arm64_world_gva(ARM64_WORLD_CODE_OFF)),
				 code);
	if (bad)
		printf("%s does not fit\n", bad);
	assert(!bad);
}

void arm64_world_set_up(struct arm64_world *w, const struct arm64_case *c)
{
	struct arm64_tasks *tasks = arm64_world_tasks(w);
	struct hv_params *params = arm64_world_params(w);
	struct arm64_case other = *c;

	memset(w->host, 0, BLOCK_LEN);
	w->values = values_of_world();
	w->fp = 0;
	make_function(w, ARM64_WORLD_TRACED_OFF, stub_off(c));
	/* No interrupt is in the middle of the scheduler. */
	other.role = HV_ROLE_NONE;
	make_function(w, ARM64_WORLD_TRACED_OTHER_OFF, stub_off(&other));
	tasks->cat = cat;
	tasks->dd = dd;
	tasks->cat.stack = arm64_world_stack_end(0) - ARM64_WORLD_STACK_BYTES;
	tasks->dd.stack = arm64_world_stack_end(1) - ARM64_WORLD_STACK_BYTES;
	tasks->irq_stack = arm64_world_stack_end(2) - ARM64_WORLD_STACK_BYTES;
	make_states(w);
	arm64_world_set_current(w, &tasks->cat);
	set(w, UC_ARM64_REG_TPIDR_EL1, PERCPU_BASE);
	*params = (struct hv_params){.graph_flags = HV_GRAPH_RETURNS, .max_depth = UINT32_MAX};
	c->prepare(w);
	arm64_world_control(w)->graph_mode = !hv_graph_is_plain(params);
	params->profile_mode = hv_profile_is_plain(params) ? HV_PROFILE_PLAIN : 0;
	link_stubs(w);
	forget_code(w);
}

uint64_t arm64_world_key(unsigned nr)
{
	return arm64_world_stack_end(nr) - ARM64_WORLD_STACK_BYTES;
}

struct hv_stack *arm64_world_home(const struct arm64_world *w, unsigned nr)
{
	return arm64_world_stack(w, hv_stack_home(arm64_world_key(nr), ARM64_WORLD_HOMES_SHIFT));
}

struct hv_stack *arm64_world_open(const struct arm64_world *w, unsigned nr, unsigned nr_frames)
{
	struct hv_stack *stack = arm64_world_home(w, nr);

	stack->word = arm64_world_key(nr) | nr_frames * sizeof(struct hv_frame);
	for (unsigned i = 0; i < nr_frames; i++)
		stack->frames[i].slot_gva = arm64_world_stack_end(nr) - 16 * i;
	return stack;
}

void arm64_world_call_action(struct arm64_world *w, unsigned nr, uint32_t does, bool records)
{
	const struct hv_stub_image *stubs = &hv_arch_arm64.stubs;
	struct hv_slot *slots = (struct hv_slot *)(w->host + ARM64_WORLD_PARAMS_OFF + HV_SLOTS_OFF);

	slots[nr] = (struct hv_slot){
		.does = does,
		.goes_on = records ? (uint32_t)(HV_STUBS_CODE_OFF + stubs->function_off) : 0,
	};
	make_function(w, ARM64_WORLD_TRACED_OFF, stubs->actions_off + nr * stubs->action_len_bytes);
	forget_code(w);
}

void arm64_world_make_tail_call(const struct arm64_world *w)
{
	uint64_t at = ARM64_WORLD_TRACED_OFF + 3 * sizeof(uint32_t);
	bool reaches = hv_arch_arm64.encode_jump(
		hv_gva(arm64_world_gva(at)), hv_gva(arm64_world_gva(ARM64_WORLD_TRACED_OTHER_OFF)),
		w->host + at);

	assert(reaches);
	(void)reaches;
}

void arm64_world_enter(struct arm64_world *w, uint64_t function_off, uint64_t caller_off,
		       uint64_t sp)
{
	struct arm64_regs regs = {
		.sp = sp, .pc = arm64_world_gva(function_off), .pstate = EL1H | MASKED_I};

	for (unsigned i = 0; i < HV_ARRAY_LEN(regs.x); i++)
		regs.x[i] = UINT64_C(0x1111111111111111) * (i % 13) + i;
	regs.x[30] = arm64_world_gva(caller_off);
	if (w->fp)
		regs.x[29] = w->fp;
	arm64_world_set(w, &regs);
}

/* Executes up to the address UNTIL, and no more than NR instructions. (The end that unicorn takes
 * is part of the code that it has translated, and so that of an earlier call.) */
static bool execute(struct arm64_world *w, uint64_t until, uint64_t nr)
{
	uint64_t pc;
	uc_err err;

	w->until = until;
	w->nr_left = nr;
	get(w, UC_ARM64_REG_PC, &pc);
	err = uc_emu_start(w->cpu, pc, 0, 0, 0);
	if (err == UC_ERR_OK)
		return true;
	get(w, UC_ARM64_REG_PC, &pc);
	printf("at %#llx: %s\n", (unsigned long long)(pc - ARM64_WORLD_GVA), uc_strerror(err));
	return false;
}

bool arm64_world_step(struct arm64_world *w, uint64_t nr)
{
	return nr == 0 || execute(w, 0, nr);
}

bool arm64_world_run(struct arm64_world *w, uint64_t off)
{
	uint64_t until = arm64_world_gva(off), pc;

	if (!execute(w, until, STEPS_MAX))
		return false;
	get(w, UC_ARM64_REG_PC, &pc);
	return pc == until;
}

void arm64_world_save(struct arm64_world *w, struct arm64_moment *ret)
{
	arm64_world_get(w, &ret->regs);
	get(w, UC_ARM64_REG_SP_EL0, &ret->current);
	memcpy(ret->memory, w->host, sizeof(ret->memory));
}

/* The code is the same, so that the CPU need not translate it again. */
void arm64_world_come_back(struct arm64_world *w, const struct arm64_moment *moment)
{
	arm64_world_set(w, &moment->regs);
	set(w, UC_ARM64_REG_SP_EL0, moment->current);
	memcpy(w->host + ARM64_WORLD_VCPUS_OFF, moment->memory + ARM64_WORLD_VCPUS_OFF,
	       sizeof(moment->memory) - ARM64_WORLD_VCPUS_OFF);
}

/* -- cases -------------------------------------------------------------------------------------
 */

static void plain(struct arm64_world *w)
{
	(void)w;
}

static void other_task(struct arm64_world *w)
{
	arm64_world_state(w, 0)->last_pid = 0;
}

/* The site calls an entry that has nothing to change and goes on to the stub. */
static void action(struct arm64_world *w)
{
	arm64_world_call_action(w, HV_NR_SLOTS - 1,
				HV_SLOT_ON | HV_SLOT_ON_COUNTED | HV_SLOT_OFF_COUNTED, true);
}

static void second_cpu(struct arm64_world *w)
{
	arm64_world_tasks(w)->cat.cpu_number = 1;
}

static void no_migration_counts(struct arm64_world *w)
{
	w->values.alternatives |= 1u << HV_ALT_NO_MIGRATE;
}

static void lazy_counts(struct arm64_world *w)
{
	w->values.alternatives |= 1u << HV_ALT_LAZY;
}

static void pid_hit(struct arm64_world *w)
{
	arm64_world_control(w)->mode = HV_MODE_PID_FILTER;
	w->host[ARM64_WORLD_PIDS_OFF + 71 / 8] = 1 << 71 % 8;
}

static void pid_hit_other_task(struct arm64_world *w)
{
	pid_hit(w);
	other_task(w);
}

static void pid_miss(struct arm64_world *w)
{
	arm64_world_control(w)->mode = HV_MODE_PID_FILTER;
	memset(w->host + ARM64_WORLD_PIDS_OFF, 0xff, ARM64_WORLD_NR_PIDS / 8);
	w->host[ARM64_WORLD_PIDS_OFF + 71 / 8] = (uint8_t) ~(1 << 71 % 8);
}

static void pid_beyond(struct arm64_world *w)
{
	pid_hit(w);
	memset(w->host + ARM64_WORLD_PIDS_OFF, 0xff, PAGE_LEN);
	arm64_world_tasks(w)->cat.pid = ARM64_WORLD_NR_PIDS;
}

static void off(struct arm64_world *w)
{
	arm64_world_control(w)->mode = HV_MODE_OFF;
}

static void paused(struct arm64_world *w)
{
	pid_hit(w);
	arm64_world_control(w)->mode = HV_MODE_PAUSED;
}

static void off_with_filter(struct arm64_world *w)
{
	pid_hit(w);
	arm64_world_control(w)->mode |= HV_MODE_OFF;
}

static void cpus_chosen(struct arm64_world *w)
{
	arm64_world_control(w)->mode = HV_MODE_CPUS;
}

static void cpu_muted(struct arm64_world *w)
{
	arm64_world_control(w)->mode = HV_MODE_CPUS;
	arm64_world_state(w, 0)->muted = 1;
}

static void cpus_and_pid(struct arm64_world *w)
{
	pid_hit(w);
	arm64_world_control(w)->mode |= HV_MODE_CPUS;
}

static void cpus_not_pid(struct arm64_world *w)
{
	pid_miss(w);
	arm64_world_control(w)->mode |= HV_MODE_CPUS;
}

const struct arm64_case arm64_cases[] = {
	{"record", 0, 1, plain},
	{"record, after another task's", 1, 1, other_task},
	{"record, second vCPU's first", 1, 1, second_cpu},
	{"record, kernel without migration counts", 0, 1, no_migration_counts},
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
};
const unsigned arm64_nr_cases = HV_ARRAY_LEN(arm64_cases);
