/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Offsets that trampolines and readers need, from BTF, symbols and the per-CPU area. */
#pragma once

#include "kernel/core/core.h"

struct hv_layout {
	/* The current task is in a register. Then cpu_number_percpu and preempt_count_percpu are
	 * offsets in its struct task_struct, and current_percpu is unused. */
	bool in_task;
	uint64_t cpu_number_percpu; /* per-CPU offset (or kernel address) of the u32 CPU number */
	uint64_t current_percpu;    /* pointer to the current task */
	uint64_t preempt_count_percpu; /* preempt count: a u32, or a u64 (has_wide_count) */
	uint32_t task_pid_off;
	uint32_t task_tgid_off;
	uint32_t task_comm_off;
	uint32_t task_flags_off; /* thread_info.flags */
	uint32_t task_stack_off; /* pointer to the lowest byte of the task's stack; valid if
				    has_task_stack */
	bool has_task_stack;
	uint32_t task_pf_off;	   /* flags (PF_*) */
	uint32_t task_migrate_off; /* migration_disabled; valid if has_migrate */
	bool has_migrate;
	/* Task fields in the header of a latency trace; valid if has_task_line. */
	uint32_t task_prio_off; /* static_prio */
	uint32_t task_policy_off;
	uint32_t task_rt_prio_off;
	uint32_t task_cred_off; /* pointer to struct cred */
	uint32_t cred_uid_off;	/* u32 in struct cred */
	bool has_task_line;
	/* Lazy preemption of PREEMPT_RT before 6.12; valid if has_lazy. Traces then have a column
	 * for it. */
	uint32_t task_lazy_off; /* thread_info.preempt_lazy_count */
	uint32_t lazy_mask;	/* of thread flags; 0: unknown */
	bool has_lazy;
	/* PREEMPT_RT's counter for soft interrupts, which other kernels keep in the preempt count;
	 * valid if has_task_softirqs. */
	uint32_t task_softirqs_off; /* softirq_disable_cnt */
	bool has_task_softirqs;
	struct hv_context_bits context_bits;
	bool has_wide_count; /* the preempt count has 64 bits; the top bit is need_resched */
	unsigned nr_cpus;    /* nr_cpu_ids */
	uint32_t
		stack_bytes; /* size of a task's stack: a power of two, and the stack's alignment */
	uint64_t steal_time_percpu; /* u64 steal time in ns that KVM writes; valid if has_steal_time
				     */
	uint64_t steal_version_percpu; /* u32 version that KVM increments with each write */
	bool has_steal_time;
	/* The hypervisor's register holds a CPU's offset (HV_ALT_HYPERVISOR). */
	bool by_hypervisor;
	/* A vCPU may execute the kernel's nested guests, which the monitor's registers do not
	 * show. */
	bool may_host;
	uint64_t irq_stack_percpu; /* pointer to the end or last word of the interrupt stack; 0:
				      none, and hv_kernel_need_irq_stack() reports why */
};

/* Fails with ENOENT; the message names the missing item. */
struct hv_err *hv_layout_read(const struct hv_kernel_core *core, struct hv_layout *ret) hv_must_use;
