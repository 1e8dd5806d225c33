/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fake kernel with tasks, stacks and clocks, for unit tests and the fuzzer. */
#pragma once

#include "tests/unit/kernel/fake_kernel.h"

#define FT_STACK  0x8000u /* THREAD_SIZE, deliberately unusual */
#define FT_IRQ	  0x4000u
#define FT_ESTACK 0x2000u /* of each exception stack */
#define FT_NMI	  0x1000u /* offset of the NMI stack in cea_exception_stacks */

/* struct task_struct */
#define FT_SCS_BASE    8u /* arm64, on request: thread_info.scs_base */
#define FT_SCS_SP      16u
#define FT_STACK_PTR   32u
#define FT_MM	       40u
#define FT_CGROUPS     48u
#define FT_TASKS       64u
#define FT_PID	       80u
#define FT_TGID	       84u
#define FT_THREAD_NODE 96u
#define FT_COMM	       112u
#define FT_SIGNAL      128u
#define FT_SP	       144u
#define FT_GROUP_NODE  152u
/* arm64: thread.cpu_context */
#define FT_FP	       176u
#define FT_CONTEXT_SP  184u
#define FT_KEY	       192u /* thread.keys_kernel.apia */
#define FT_TASK_BYTES  208u
#define FT_REGS_BYTES  336u /* struct pt_regs, with regs at its start */
#define FT_REGS_PC     256u
#define FT_REGS_RECORD 304u
#define FT_LAST_RECORD (FT_STACK - FT_REGS_BYTES + FT_REGS_RECORD) /* of a stack */

#define FT_RQ_CLOCK 16u /* of struct rq */

#define FT_TK_BASE_BYTES 56u			       /* struct tk_read_base */
#define FT_TK_CORE_BYTES (8u + FT_TK_BASE_BYTES + 16u) /* a seqcount, struct timekeeper */
#define FT_TK_BYTES	 (8 + 2 * FT_TK_BASE_BYTES)

#define FT_AREA_ESTACKS 0x2000u /* of struct cpu_entry_area */
#define FT_AREA_ENTRY	0x1000u

enum {
	FT_CURRENT = 1,
	FT_IDLE,
	FT_IRQ_PTR,
	FT_CEA,
	FT_CYC2NS,
	FT_PVCLOCK,
	FT_RQ,
	FT_IRQ_START,
	FT_IRQ_SCS
};

#define FT_TICKS (FK_PERCPU(FT_RQ) + 0x800) /* struct sched_clock_data */

#define FT_PREEMPTING (FK_BASE + 0x500)
#define FT_TRAMPOLINE (FK_BASE + 0x600) /* of the guest's ftrace, 0x80 bytes */

struct ft {
	struct fk f;
	uint64_t init_task;
	uint64_t last_process;
	uint64_t irq_stacks[FK_NR_CPUS];
	uint64_t estacks[FK_NR_CPUS]; /* struct cea_exception_stacks */
	uint64_t use_tsc, pv_sched_clock, clock_offset, sched_offset, klp;
	uint64_t tk_fast;
	uint64_t tk_core;
	uint64_t clock_stable;
};

static inline void ft_percpu(struct ft *t, unsigned var, unsigned cpu, uint64_t v)
{
	fk_u64(&t->f, t->f.areas[cpu] + FK_PERCPU(var), v);
}

/* Whether the kernels have shadow call stacks. */
static bool ft_has_shadow_stacks;

/* Name of the member of struct rq that is the list of its tasks. */
static const char *ft_queue_member = "cfs_tasks";

static inline uint32_t ft_thread_info(void)
{
	if (ft_has_shadow_stacks)
		return FK_STRUCT("thread_info", 24, {"status", 4, 4}, {"scs_base", FT_SCS_BASE, 8},
				 {"scs_sp", FT_SCS_SP, 8});
	return FK_STRUCT("thread_info", 8, {"status", 4, 4});
}

static inline void ft_types(void)
{
	uint32_t list = FK_STRUCT("list_head", 16, {"next", 0, 8}, {"prev", 8, 8});
	uint32_t context = FK_STRUCT("cpu_context", 16, {"fp", 0, 8}, {"sp", 8, 8});
	uint32_t keys = FK_STRUCT("ptrauth_keys_kernel", 16, {"apia", 0, 16});
	uint32_t thread = FK_STRUCT("thread_struct", FT_TASK_BYTES - FT_SP, {"sp", 0, 8},
				    {"s", FT_FP - FT_SP, 8}, /* riscv64's fp is s[0] */
				    {"cpu_context", FT_FP - FT_SP, 0, context},
				    {"keys_kernel", FT_KEY - FT_SP, 0, keys});
	uint32_t info = ft_thread_info();
	uint32_t entity = FK_STRUCT("sched_entity", 16, {"group_node", 0, 0, list});
	uint32_t data = FK_STRUCT("cyc2ns_data", 16, {"cyc2ns_mul", 0, 4}, {"cyc2ns_shift", 4, 4},
				  {"cyc2ns_offset", 8, 8});

	FK_STRUCT("pt_regs", FT_REGS_BYTES, {"regs", 0, 8}, {"pc", FT_REGS_PC, 8},
		  {"stackframe", FT_REGS_RECORD, 16},
		  /* as in riscv64 */
		  {"epc", 0, 8}, {"ra", 8, 8}, {"t0", 40, 8}, {"s0", 64, 8});
	FK_STRUCT("task_struct", FT_TASK_BYTES, {"thread_info", 0, 0, info},
		  {"stack", FT_STACK_PTR, 8}, {"mm", FT_MM, 8}, {"cgroups", FT_CGROUPS, 8},
		  {"tasks", FT_TASKS, 0, list}, {"pid", FT_PID, 4}, {"tgid", FT_TGID, 4},
		  {"thread_node", FT_THREAD_NODE, 0, list}, {"comm", FT_COMM, 16},
		  {"signal", FT_SIGNAL, 8}, {"thread", FT_SP, 0, thread},
		  {"se", FT_GROUP_NODE, 0, entity});
	FK_STRUCT("rq", 24, {ft_queue_member, 0, 0, list}, {"clock", FT_RQ_CLOCK, 8});
	FK_STRUCT("signal_struct", 32, {"thread_head", 16, 0, list});
	FK_STRUCT("inactive_task_frame", 56, {"bp", 40, 8}, {"ret_addr", 48, 8});
	FK_STRUCT("irq_stack", FT_IRQ, {"stack", 0, FT_IRQ});
	FK_STRUCT("cea_exception_stacks", 0x6000, {"NMI_stack", FT_NMI, FT_ESTACK},
		  {"DB_stack", FT_NMI + FT_ESTACK + 0x1000, FT_ESTACK});
	FK_STRUCT("cpu_entry_area", 0x8000, {"entry_stack_page", FT_AREA_ENTRY, 4096},
		  {"estacks", FT_AREA_ESTACKS, 0x6000});
	FK_STRUCT("cyc2ns", 40, {"data", 0, 0, array(data, 2)}, {"seq", 32, 4});
	FK_STRUCT("clocksource", 24, {"name", 16, 8});
	FK_STRUCT("tk_fast", FT_TK_BYTES, {"seq", 0, 4},
		  {"base", 8, 0,
		   array(FK_STRUCT("tk_read_base", FT_TK_BASE_BYTES, {"clock", 0, 8},
				   {"cycle_last", 16, 8}, {"mult", 24, 4}, {"shift", 28, 4},
				   {"xtime_nsec", 32, 8}, {"base", 40, 8}, {"base_real", 48, 8}),
			 2)});
	FK_STRUCT("timekeeper", FT_TK_CORE_BYTES - 8, {"tkr_mono", 0, FT_TK_BASE_BYTES},
		  {"offs_boot", FT_TK_BASE_BYTES, 8}, {"offs_tai", FT_TK_BASE_BYTES + 8, 8});
	FK_STRUCT("sched_clock_data", 24, {"tick_raw", 0, 8}, {"tick_gtod", 8, 8});
	FK_STRUCT("pvclock_vcpu_time_info", 32, {"version", 0, 4}, {"tsc_timestamp", 8, 8},
		  {"system_time", 16, 8}, {"tsc_to_system_mul", 24, 4}, {"tsc_shift", 28, 1});
}

static inline uint64_t ft_stack(struct ft *t, uint64_t task)
{
	uint64_t stack;

	memcpy(&stack, fk_host(&t->f, task + FT_STACK_PTR), 8);
	return stack;
}

static inline void ft_push(struct ft *t, uint64_t task, uint64_t at, uint64_t word)
{
	fk_u64(&t->f, ft_stack(t, task) + at, word);
}

/* Makes a sleeping task that is in no list, with its sp at SP_OFF of its stack. */
static inline uint64_t ft_task_on(struct ft *t, uint32_t pid, uint32_t tgid, const char *comm,
				  uint64_t stack, uint64_t sp_off)
{
	uint64_t task = fk_alloc(&t->f, FT_TASK_BYTES), signal = fk_alloc(&t->f, 32);

	fk_u64(&t->f, task + FT_STACK_PTR, stack);
	fk_u32(&t->f, task + FT_PID, pid);
	fk_u32(&t->f, task + FT_TGID, tgid);
	fk_str(&t->f, task + FT_COMM, comm);
	fk_u64(&t->f, task + FT_SP, stack + sp_off);
	fk_u64(&t->f, task + FT_CONTEXT_SP, stack + sp_off);
	fk_u64(&t->f, task + FT_SIGNAL, signal);
	fk_u64(&t->f, signal + 16, task + FT_THREAD_NODE);
	fk_u64(&t->f, task + FT_THREAD_NODE, signal + 16);
	fk_u64(&t->f, task + FT_TASKS, task + FT_TASKS);
	return task;
}

static inline uint64_t ft_task(struct ft *t, uint32_t pid, uint32_t tgid, const char *comm,
			       uint64_t sp_off)
{
	return ft_task_on(t, pid, tgid, comm, fk_alloc(&t->f, FT_STACK), sp_off);
}

static inline uint64_t ft_process(struct ft *t, uint32_t pid, const char *comm, uint64_t sp_off)
{
	uint64_t task = ft_task(t, pid, pid, comm, sp_off);

	fk_u64(&t->f, t->last_process + FT_TASKS, task + FT_TASKS);
	fk_u64(&t->f, task + FT_TASKS, t->init_task + FT_TASKS);
	t->last_process = task;
	return task;
}

static inline uint64_t ft_thread(struct ft *t, uint64_t leader, uint32_t pid, const char *comm,
				 uint64_t sp_off)
{
	uint64_t signal, task;
	uint32_t tgid;

	memcpy(&signal, fk_host(&t->f, leader + FT_SIGNAL), 8);
	memcpy(&tgid, fk_host(&t->f, leader + FT_TGID), 4);
	task = ft_task(t, pid, tgid, comm, sp_off);
	fk_u64(&t->f, task + FT_SIGNAL, signal);
	fk_u64(&t->f, leader + FT_THREAD_NODE, task + FT_THREAD_NODE);
	fk_u64(&t->f, task + FT_THREAD_NODE, signal + 16);
	return task;
}

static inline void ft_current(struct ft *t, unsigned cpu, uint64_t task)
{
	ft_percpu(t, FT_CURRENT, cpu, task);
}

static inline void ft_queue(struct ft *t, unsigned cpu, uint64_t task)
{
	uint64_t head = t->f.areas[cpu] + FK_PERCPU(FT_RQ), first;

	memcpy(&first, fk_host(&t->f, head), 8);
	fk_u64(&t->f, task + FT_GROUP_NODE, first);
	fk_u64(&t->f, head, task + FT_GROUP_NODE);
}

static inline void ft_symbols(struct ft *t, uint64_t init_stack)
{
	struct fk *f = &t->f;

	fk_symbol(f, "idle_threads", FK_PERCPU(FT_IDLE));
	fk_symbol(f, "hardirq_stack_ptr", FK_PERCPU(FT_IRQ_PTR));
	fk_symbol(f, "irq_stack_ptr", FK_PERCPU(FT_IRQ_START));
	if (ft_has_shadow_stacks)
		fk_symbol(f, "irq_shadow_call_stack_ptr", FK_PERCPU(FT_IRQ_SCS));
	fk_symbol(f, "cea_exception_stacks", FK_PERCPU(FT_CEA));
	fk_symbol(f, "cyc2ns", FK_PERCPU(FT_CYC2NS));
	fk_symbol(f, "hv_clock_per_cpu", FK_PERCPU(FT_PVCLOCK));
	fk_symbol(f, "runqueues", FK_PERCPU(FT_RQ));
	fk_symbol(f, "native_sched_clock", FK_BASE + 0x300);
	fk_symbol(f, "preempt_schedule_irq", FT_PREEMPTING);
	fk_symbol(f, "preempt_schedule_irq_end", FT_PREEMPTING + 0x100);
	fk_symbol(f, "arch_rethook_trampoline", FT_TRAMPOLINE);
	fk_symbol(f, "arch_rethook_trampoline_end", FT_TRAMPOLINE + 0x80);
	fk_symbol(f, "kvm_sched_clock_read", FK_BASE + 0x400);
	fk_symbol(f, "init_task", t->init_task);
	fk_symbol(f, "__start_init_task", init_stack);
	fk_symbol(f, "__end_init_task", init_stack + FT_STACK);
	fk_symbol(f, "__use_tsc", t->use_tsc);
	fk_symbol(f, "tk_fast_mono", t->tk_fast);
	fk_symbol(f, "tk_core", t->tk_core);
	fk_symbol(f, "__sched_clock_stable", t->clock_stable);
	fk_symbol(f, "sched_clock_data", FT_TICKS);
	fk_symbol(f, "__SCK__pv_sched_clock", t->pv_sched_clock);
	fk_symbol(f, "kvm_sched_clock_offset", t->clock_offset);
	fk_symbol(f, "klp_transition_patch", t->klp);
	fk_symbol(f, "__sched_clock_offset", t->sched_offset);
	f->k.layout.current_percpu = FK_PERCPU(FT_CURRENT);
	f->k.layout.stack_bytes = FT_STACK;
}

/* DECLARE adds types and symbols. It may be NULL. */
static inline void ft_init_with(struct ft *t, void (*declare)(struct fk *f))
{
	uint64_t idle, init_stack;

	*t = (struct ft){0};
	fk_init(&t->f);
	ft_types();
	init_stack = fk_alloc(&t->f, FT_STACK);
	t->init_task = ft_task_on(t, 0, 0, "swapper/0", init_stack, 0x7f00);
	idle = ft_task(t, 0, 0, "swapper/1", 0x7f00);
	t->last_process = t->init_task;
	t->use_tsc = fk_alloc(&t->f, 16);
	t->pv_sched_clock = fk_alloc(&t->f, 16);
	t->clock_offset = fk_alloc(&t->f, 8);
	t->klp = fk_alloc(&t->f, 8);
	t->tk_fast = fk_alloc(&t->f, FT_TK_BYTES);
	t->tk_core = fk_alloc(&t->f, FT_TK_CORE_BYTES);
	t->clock_stable = fk_alloc(&t->f, 16);
	fk_u32(&t->f, t->clock_stable, 1);
	t->sched_offset = fk_alloc(&t->f, 8);
	for (unsigned cpu = 0; cpu < FK_NR_CPUS; cpu++) {
		t->irq_stacks[cpu] = fk_alloc(&t->f, FT_IRQ);
		t->estacks[cpu] = fk_alloc(&t->f, 0x8000) + FT_AREA_ESTACKS;
		ft_percpu(t, FT_RQ, cpu, t->f.areas[cpu] + FK_PERCPU(FT_RQ));
		ft_percpu(t, FT_IRQ_PTR, cpu, t->irq_stacks[cpu] + FT_IRQ - 8);
		ft_percpu(t, FT_IRQ_START, cpu, t->irq_stacks[cpu]);
		ft_percpu(t, FT_CEA, cpu, t->estacks[cpu]);
		ft_percpu(t, FT_IDLE, cpu, cpu ? idle : t->init_task);
		ft_percpu(t, FT_CURRENT, cpu, cpu ? idle : t->init_task);
	}
	ft_symbols(t, init_stack);
	if (declare)
		declare(&t->f);
	fk_done(&t->f);
}

static inline void ft_init(struct ft *t)
{
	ft_init_with(t, NULL);
}

static inline void ft_deinit(struct ft *t)
{
	fk_deinit(&t->f);
}
