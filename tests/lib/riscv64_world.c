/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/lib/riscv64_world.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicorn/unicorn.h>

#include "arch/riscv64/riscv64.h"
#include "ringbuf/ring.h"

#define BLOCK_LEN   (RISCV64_WORLD_LEN + RISCV64_WORLD_NR_KSTACKS * RISCV64_WORLD_STACK_BYTES)
#define STEPS_MAX   10000
#define PAGE_LEN    0x1000
#define X_RA	    1
#define X_SP	    2
#define X_TP	    4
#define X_S0	    8
#define SSTATUS_SIE 2
#define FIRST_TIME  1000
#define INSN_LEN    4
/* rdtime without its register */
#define RDTIME	    0xc0102073u
#define RDTIME_MASK 0xfffff07fu
#define RD_SHIFT    7
#define RD_MASK	    0x1f

_Static_assert(RISCV64_WORLD_LEN >=
		       RISCV64_WORLD_STATES_OFF +
			       RISCV64_WORLD_NR_CPUS *
				       (sizeof(struct hv_state) +
					RISCV64_WORLD_NR_SLOTS * sizeof(struct hv_record)),
	       "rings");
_Static_assert(RISCV64_WORLD_TASKS_OFF + sizeof(struct riscv64_tasks) <= RISCV64_WORLD_STACKS_OFF,
	       "tasks");
_Static_assert(RISCV64_WORLD_STACKS_OFF + RISCV64_WORLD_NR_STACKS * sizeof(struct hv_stack) <=
		       RISCV64_WORLD_COUNTS_OFF,
	       "return stacks");
_Static_assert((RISCV64_WORLD_GVA + RISCV64_WORLD_LEN) % RISCV64_WORLD_STACK_BYTES == 0, "stacks");

static const struct riscv64_task cat = {
	.flags = 0x18008,
	.preempt_count = 0x102,
	.lazy_count = 0x12,
	.pid = 71,
	.tgid = 70,
	.migration_disabled = 0x0102,
	.comm = "cat",
};
static const struct riscv64_task dd = {
	.flags = 0xfff3,
	.preempt_count = 0x203,
	.pid = 40000,
	.tgid = 0x2aaaaa,
	.comm = "d\xc3\xa9"
		"d-co\xff-last",
};

static void get(struct riscv64_world *w, int number, uint64_t *ret)
{
	uc_err err = uc_reg_read(w->cpu, number, ret);

	assert(err == UC_ERR_OK);
	(void)err;
}

static void set(struct riscv64_world *w, int number, uint64_t value)
{
	uc_err err = uc_reg_write(w->cpu, number, &value);

	assert(err == UC_ERR_OK);
	(void)err;
}

void riscv64_world_get(struct riscv64_world *w, struct riscv64_regs *ret)
{
	for (int i = 0; i < 32; i++)
		get(w, UC_RISCV_REG_X0 + i, &ret->x[i]);
	get(w, UC_RISCV_REG_PC, &ret->pc);
}

void riscv64_world_set(struct riscv64_world *w, const struct riscv64_regs *regs)
{
	for (int i = 1; i < 32; i++)
		set(w, UC_RISCV_REG_X0 + i, regs->x[i]);
	set(w, UC_RISCV_REG_PC, regs->pc);
}

static uint32_t insn_at(const struct riscv64_world *w, uint64_t pc)
{
	uint64_t off = pc - RISCV64_WORLD_GVA;
	uint32_t insn = 0;

	if (off <= RISCV64_WORLD_LEN - sizeof(insn))
		memcpy(&insn, w->host + off, sizeof(insn));
	return insn;
}

/* Is called before each instruction. The emulated CPU has no clock. */
static void count(uc_engine *cpu, uint64_t pc, uint32_t len_bytes, void *ctx)
{
	struct riscv64_world *w = ctx;

	(void)len_bytes;
	if (pc == w->until || w->nr_left == 0) {
		uc_emu_stop(cpu);
		return;
	}
	w->nr_left--;
	w->nr_done++;
	if (pc - riscv64_world_gva(RISCV64_WORLD_CODE_OFF) < hv_arch_riscv64.stubs.len_bytes)
		w->nr_in_stubs++;
	w->reads_time = (insn_at(w, pc) & RDTIME_MASK) == RDTIME;
	if (w->reads_time)
		uc_emu_stop(cpu);
}

/* What the guest may do with each part is as in a region. */
struct riscv64_world *riscv64_world_new(void)
{
	struct riscv64_world *w = calloc(1, sizeof(*w));
	uc_engine *cpu;
	uc_hook hook;
	uc_err err = uc_open(UC_ARCH_RISCV, UC_MODE_RISCV64, &cpu);

	assert(w && err == UC_ERR_OK);
	w->cpu = cpu;
	w->host = aligned_alloc(PAGE_LEN, BLOCK_LEN);
	assert(w->host);
	err = uc_mem_map_ptr(cpu, RISCV64_WORLD_GVA, RISCV64_WORLD_VCPUS_OFF,
			     UC_PROT_READ | UC_PROT_EXEC, w->host);
	assert(err == UC_ERR_OK);
	err = uc_mem_map_ptr(cpu, riscv64_world_gva(RISCV64_WORLD_VCPUS_OFF),
			     RISCV64_WORLD_PIDS_OFF - RISCV64_WORLD_VCPUS_OFF, UC_PROT_READ,
			     w->host + RISCV64_WORLD_VCPUS_OFF);
	assert(err == UC_ERR_OK);
	err = uc_mem_map_ptr(cpu, riscv64_world_gva(RISCV64_WORLD_PIDS_OFF),
			     BLOCK_LEN - RISCV64_WORLD_PIDS_OFF, UC_PROT_READ | UC_PROT_WRITE,
			     w->host + RISCV64_WORLD_PIDS_OFF);
	assert(err == UC_ERR_OK);
	err = uc_hook_add(cpu, &hook, UC_HOOK_CODE, (void *)count, w, 1, 0);
	assert(err == UC_ERR_OK);
	(void)err;
	return w;
}

void riscv64_world_free(struct riscv64_world *w)
{
	if (!w)
		return;
	uc_close(w->cpu);
	free(w->host);
	free(w);
}

void riscv64_world_set_current(struct riscv64_world *w, const struct riscv64_task *task)
{
	set(w, UC_RISCV_REG_X0 + X_TP,
	    riscv64_world_gva((uint64_t)((const uint8_t *)task - w->host)));
}

void riscv64_world_set_irqs(struct riscv64_world *w, enum riscv64_irqs irqs)
{
	set(w, UC_RISCV_REG_SSTATUS, irqs == RISCV64_IRQS_ON ? SSTATUS_SIE : 0);
}

static struct hv_stub_values values_of_world(void)
{
	return (struct hv_stub_values){
		.hole = {
			[HV_HOLE_cpu_number] = offsetof(struct riscv64_task, cpu_number),
			[HV_HOLE_preempt_count] = offsetof(struct riscv64_task, preempt_count),
			[HV_HOLE_task_pid] = offsetof(struct riscv64_task, pid),
			[HV_HOLE_task_tgid] = offsetof(struct riscv64_task, tgid),
			[HV_HOLE_task_comm] = offsetof(struct riscv64_task, comm),
			[HV_HOLE_task_flags] = offsetof(struct riscv64_task, flags),
			[HV_HOLE_task_migrate] = offsetof(struct riscv64_task, migration_disabled),
			[HV_HOLE_task_lazy] = offsetof(struct riscv64_task, lazy_count),
			[HV_HOLE_task_lazy_flags] = offsetof(struct riscv64_task, flags),
			[HV_HOLE_lazy_mask] = 0x10000,
			[HV_HOLE_task_stack] = offsetof(struct riscv64_task, stack),
			[HV_HOLE_params] = riscv64_world_gva(RISCV64_WORLD_PARAMS_OFF),
			[HV_HOLE_stacks] = riscv64_world_gva(RISCV64_WORLD_STACKS_OFF),
			[HV_HOLE_stack_mask] = -(uint64_t)RISCV64_WORLD_STACK_BYTES,
			[HV_HOLE_home_shift] = 32 - RISCV64_WORLD_HOMES_SHIFT,
			[HV_HOLE_count_shift] = 32 - RISCV64_WORLD_COUNTS_SHIFT,
			[HV_HOLE_control] = riscv64_world_gva(RISCV64_WORLD_CONTROL_OFF),
			[HV_HOLE_vcpus] = riscv64_world_gva(RISCV64_WORLD_VCPUS_OFF),
			[HV_HOLE_pids] = riscv64_world_gva(RISCV64_WORLD_PIDS_OFF),
			[HV_HOLE_nr_pids] = RISCV64_WORLD_NR_PIDS,
			[HV_HOLE_text_base] = RISCV64_WORLD_TEXT_BASE,
			[HV_HOLE_ring_mask] = hv_ring_mask(RISCV64_WORLD_NR_SLOTS),
			[HV_HOLE_key_shift] = hv_key_shift(RISCV64_WORLD_NR_SLOTS),
			[HV_HOLE_entry_code] = riscv64_world_gva(RISCV64_WORLD_ENTRY_OFF),
			[HV_HOLE_entry_code_len] = RISCV64_WORLD_ENTRY_LEN,
			[HV_HOLE_regs_bytes] = RISCV64_WORLD_REGS_BYTES,
		}};
}

static size_t stub_off(const struct riscv64_case *c)
{
	const struct hv_stub_image *stubs = &hv_arch_riscv64.stubs;

	if (c->has_stack)
		return stubs->function_stack_off;
	if (c->trace == HV_TRACE_NOTHING && !c->profiled && c->role == HV_ROLE_NONE)
		return stubs->function_off;
	return hv_call_off(stubs, c->role, c->trace, c->profiled);
}

static void make_function(const struct riscv64_world *w, uint64_t off, uint64_t to)
{
	static const uint32_t insns[] = {0x00058513, 0x00008067}; /* mv a0, a1; ret */
	struct hv_gva stub = {riscv64_world_gva(RISCV64_WORLD_CODE_OFF + to)};
	bool reaches =
		hv_arch_riscv64.encode_call(hv_gva(riscv64_world_gva(off)), stub, w->host + off);

	assert(reaches);
	(void)reaches;
	memcpy(w->host + off + RISCV64_SITE_LEN, insns, sizeof(insns));
}

static void make_states(const struct riscv64_world *w)
{
	uint64_t *table = (uint64_t *)(w->host + RISCV64_WORLD_VCPUS_OFF);

	for (unsigned cpu = 0; cpu < RISCV64_WORLD_NR_CPUS; cpu++) {
		table[cpu] = riscv64_world_gva(riscv64_world_state_off(cpu));
		*riscv64_world_state(w, cpu) =
			(struct hv_state){.head = hv_ring_head_at(0, RISCV64_WORLD_NR_SLOTS)};
		riscv64_world_state(w, cpu)->counts_gva = riscv64_world_gva(
			(uint64_t)((uint8_t *)riscv64_world_counts(w, cpu) - w->host));
	}
	for (unsigned i = 0; i < RISCV64_WORLD_NR_STACKS; i++)
		riscv64_world_stack(w, i)->depth = HV_STACK_DEPTH_0;
	riscv64_world_state(w, 0)->last_pid = cat.pid;
}

static void link_stubs(const struct riscv64_world *w)
{
	uint8_t *code = w->host + RISCV64_WORLD_CODE_OFF;
	const char *bad;

	assert(RISCV64_WORLD_CODE_OFF + hv_arch_riscv64.stubs.len_bytes <= RISCV64_WORLD_TEXT_OFF);
	memcpy(code, hv_arch_riscv64.stubs.code, hv_arch_riscv64.stubs.len_bytes);
	bad = hv_arch_riscv64.link(&hv_arch_riscv64.stubs, &w->values,
				   hv_gva(riscv64_world_gva(RISCV64_WORLD_CODE_OFF)), code);
	if (bad)
		printf("%s does not fit\n", bad);
	assert(!bad);
}

/* The CPU translates the code anew. */
static void forget_code(struct riscv64_world *w)
{
	uc_ctl_remove_cache(w->cpu, RISCV64_WORLD_GVA, riscv64_world_gva(RISCV64_WORLD_VCPUS_OFF));
}

void riscv64_world_call_action(struct riscv64_world *w, unsigned nr, uint32_t does, bool records)
{
	const struct hv_stub_image *stubs = &hv_arch_riscv64.stubs;
	struct hv_slot *slots =
		(struct hv_slot *)(w->host + RISCV64_WORLD_PARAMS_OFF + HV_SLOTS_OFF);

	slots[nr] = (struct hv_slot){
		.does = does,
		.goes_on = records ? (uint32_t)(HV_STUBS_CODE_OFF + stubs->function_off) : 0,
	};
	make_function(w, RISCV64_WORLD_TRACED_OFF,
		      stubs->actions_off + nr * stubs->action_len_bytes);
	forget_code(w);
}

void riscv64_world_set_up(struct riscv64_world *w, const struct riscv64_case *c)
{
	struct riscv64_tasks *tasks = riscv64_world_tasks(w);
	struct hv_params *params = riscv64_world_params(w);
	struct riscv64_case other = *c;

	memset(w->host, 0, BLOCK_LEN);
	w->values = values_of_world();
	w->time = FIRST_TIME;
	w->fp = 0;
	make_function(w, RISCV64_WORLD_TRACED_OFF, stub_off(c));
	/* No interrupt is in the middle of the scheduler. */
	other.role = HV_ROLE_NONE;
	make_function(w, RISCV64_WORLD_TRACED_OTHER_OFF, stub_off(&other));
	tasks->cat = cat;
	tasks->dd = dd;
	tasks->cat.stack = riscv64_world_stack_end(0) - RISCV64_WORLD_STACK_BYTES;
	tasks->dd.stack = riscv64_world_stack_end(1) - RISCV64_WORLD_STACK_BYTES;
	make_states(w);
	riscv64_world_set_current(w, &tasks->cat);
	riscv64_world_set_irqs(w, RISCV64_IRQS_OFF);
	*params = (struct hv_params){.graph_flags = HV_GRAPH_RETURNS, .max_depth = UINT32_MAX};
	c->prepare(w);
	riscv64_world_control(w)->graph_mode = !hv_graph_is_plain(params);
	params->profile_mode = hv_profile_is_plain(params) ? HV_PROFILE_PLAIN : 0;
	link_stubs(w);
	forget_code(w);
}

uint64_t riscv64_world_key(unsigned nr)
{
	return riscv64_world_stack_end(nr) - RISCV64_WORLD_STACK_BYTES;
}

struct hv_stack *riscv64_world_home(const struct riscv64_world *w, unsigned nr)
{
	return riscv64_world_stack(w,
				   hv_stack_home(riscv64_world_key(nr), RISCV64_WORLD_HOMES_SHIFT));
}

struct hv_stack *riscv64_world_open(const struct riscv64_world *w, unsigned nr, unsigned nr_frames)
{
	struct hv_stack *stack = riscv64_world_home(w, nr);

	stack->word = riscv64_world_key(nr) | nr_frames * sizeof(struct hv_frame);
	for (unsigned i = 0; i < nr_frames; i++)
		stack->frames[i].slot_gva = riscv64_world_stack_end(nr) - 16 * i;
	return stack;
}

void riscv64_world_make_tail_call(const struct riscv64_world *w)
{
	uint64_t at = RISCV64_WORLD_TRACED_OFF + RISCV64_SITE_LEN + INSN_LEN;
	bool reaches = riscv64_encode_jump_site(
		hv_gva(riscv64_world_gva(at)),
		hv_gva(riscv64_world_gva(RISCV64_WORLD_TRACED_OTHER_OFF)), INSN_LEN, w->host + at);

	assert(reaches);
	(void)reaches;
}

void riscv64_world_enter(struct riscv64_world *w, uint64_t function_off, uint64_t caller_off,
			 uint64_t sp)
{
	struct riscv64_regs regs = {.pc = riscv64_world_gva(function_off)};

	for (unsigned i = 1; i < HV_ARRAY_LEN(regs.x); i++)
		regs.x[i] = UINT64_C(0x1111111111111111) * (i % 13) + i;
	regs.x[X_RA] = riscv64_world_gva(caller_off);
	regs.x[X_SP] = sp;
	if (w->fp)
		regs.x[X_S0] = w->fp;
	get(w, UC_RISCV_REG_X0 + X_TP, &regs.x[X_TP]);
	riscv64_world_set(w, &regs);
}

static void read_time(struct riscv64_world *w, uint64_t pc)
{
	unsigned rd = insn_at(w, pc) >> RD_SHIFT & RD_MASK;

	set(w, UC_RISCV_REG_X0 + (int)rd, w->time++);
	set(w, UC_RISCV_REG_PC, pc + INSN_LEN);
}

/* Executes up to the address UNTIL, and no more than NR instructions. (The end that unicorn takes
 * is part of the code that it has translated, and so that of an earlier call.) */
static bool execute(struct riscv64_world *w, uint64_t until, uint64_t nr)
{
	uint64_t pc;
	uc_err err;

	w->until = until;
	w->nr_left = nr;
	do {
		w->reads_time = false;
		get(w, UC_RISCV_REG_PC, &pc);
		err = uc_emu_start(w->cpu, pc, 0, 0, 0);
		get(w, UC_RISCV_REG_PC, &pc);
		if (w->reads_time)
			read_time(w, pc);
	} while (err == UC_ERR_OK && w->reads_time);
	if (err != UC_ERR_OK)
		printf("at %#llx: %s\n", (unsigned long long)(pc - RISCV64_WORLD_GVA),
		       uc_strerror(err));
	return err == UC_ERR_OK;
}

bool riscv64_world_step(struct riscv64_world *w, uint64_t nr)
{
	return nr == 0 || execute(w, 0, nr);
}

bool riscv64_world_run(struct riscv64_world *w, uint64_t off)
{
	uint64_t until = riscv64_world_gva(off), pc;

	if (!execute(w, until, STEPS_MAX))
		return false;
	get(w, UC_RISCV_REG_PC, &pc);
	return pc == until;
}

void riscv64_world_save(struct riscv64_world *w, struct riscv64_moment *ret)
{
	riscv64_world_get(w, &ret->regs);
	memcpy(ret->memory, w->host, sizeof(ret->memory));
}

/* The code is the same, so that the CPU need not translate it again. */
void riscv64_world_come_back(struct riscv64_world *w, const struct riscv64_moment *moment)
{
	riscv64_world_set(w, &moment->regs);
	memcpy(w->host + RISCV64_WORLD_VCPUS_OFF, moment->memory + RISCV64_WORLD_VCPUS_OFF,
	       sizeof(moment->memory) - RISCV64_WORLD_VCPUS_OFF);
}

/* -- cases -------------------------------------------------------------------------------------
 */

static void plain(struct riscv64_world *w)
{
	(void)w;
}

static void other_task(struct riscv64_world *w)
{
	riscv64_world_state(w, 0)->last_pid = 0;
}

/* The site calls an entry that has nothing to change and goes on to the stub. */
static void action(struct riscv64_world *w)
{
	riscv64_world_call_action(w, HV_NR_SLOTS - 1,
				  HV_SLOT_ON | HV_SLOT_ON_COUNTED | HV_SLOT_OFF_COUNTED, true);
}

static void second_cpu(struct riscv64_world *w)
{
	riscv64_world_tasks(w)->cat.cpu_number = 1;
}

static void no_migration_counts(struct riscv64_world *w)
{
	w->values.alternatives |= 1u << HV_ALT_NO_MIGRATE;
}

static void lazy_counts(struct riscv64_world *w)
{
	w->values.alternatives |= 1u << HV_ALT_LAZY;
}

static void pid_hit(struct riscv64_world *w)
{
	riscv64_world_control(w)->mode = HV_MODE_PID_FILTER;
	w->host[RISCV64_WORLD_PIDS_OFF + 71 / 8] = 1 << 71 % 8;
}

static void pid_hit_other_task(struct riscv64_world *w)
{
	pid_hit(w);
	other_task(w);
}

static void pid_miss(struct riscv64_world *w)
{
	riscv64_world_control(w)->mode = HV_MODE_PID_FILTER;
	memset(w->host + RISCV64_WORLD_PIDS_OFF, 0xff, RISCV64_WORLD_NR_PIDS / 8);
	w->host[RISCV64_WORLD_PIDS_OFF + 71 / 8] = (uint8_t) ~(1 << 71 % 8);
}

static void pid_beyond(struct riscv64_world *w)
{
	pid_hit(w);
	memset(w->host + RISCV64_WORLD_PIDS_OFF, 0xff, PAGE_LEN);
	riscv64_world_tasks(w)->cat.pid = RISCV64_WORLD_NR_PIDS;
}

static void off(struct riscv64_world *w)
{
	riscv64_world_control(w)->mode = HV_MODE_OFF;
}

static void paused(struct riscv64_world *w)
{
	pid_hit(w);
	riscv64_world_control(w)->mode = HV_MODE_PAUSED;
}

static void off_with_filter(struct riscv64_world *w)
{
	pid_hit(w);
	riscv64_world_control(w)->mode |= HV_MODE_OFF;
}

static void cpus_chosen(struct riscv64_world *w)
{
	riscv64_world_control(w)->mode = HV_MODE_CPUS;
}

static void cpu_muted(struct riscv64_world *w)
{
	riscv64_world_control(w)->mode = HV_MODE_CPUS;
	riscv64_world_state(w, 0)->muted = 1;
}

static void cpus_and_pid(struct riscv64_world *w)
{
	pid_hit(w);
	riscv64_world_control(w)->mode |= HV_MODE_CPUS;
}

static void cpus_not_pid(struct riscv64_world *w)
{
	pid_miss(w);
	riscv64_world_control(w)->mode |= HV_MODE_CPUS;
}

const struct riscv64_case riscv64_cases[] = {
	{"record", 0, 1, plain},
	{"record, after another task's", 1, 1, other_task},
	{"record, second vCPU's first", 1, 1, second_cpu},
	{"record, kernel without migration counts", 0, 1, no_migration_counts},
	{"record, kernel with lazy preemption counts", 0, 1, lazy_counts},
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
const unsigned riscv64_nr_cases = HV_ARRAY_LEN(riscv64_cases);
