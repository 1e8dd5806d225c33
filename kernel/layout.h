/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the kernel has what stubs and readers need: offsets, from BTF, symbols and the per-CPU
 * area. */
#pragma once

#include "kernel/core.h"

struct hv_layout {
	/* The current task is in a register: cpu_number_percpu and preempt_count_percpu are offsets
	 * in its struct task_struct, and current_percpu is not used. */
	bool in_task;
	uint64_t cpu_number_percpu; /* per-CPU offset (or kernel address) of the u32 CPU number */
	uint64_t current_percpu;    /* of the current task's pointer */
	uint64_t preempt_count_percpu; /* of the preempt count: a u32, or a u64 (has_wide_count) */
	uint32_t task_pid_off;
	uint32_t task_tgid_off;
	uint32_t task_comm_off;
	uint32_t task_flags_off; /* thread_info.flags */
	uint32_t task_stack_off; /* of the pointer to its stack's lowest byte; valid when
				    has_task_stack */
	bool has_task_stack;
	uint32_t task_pf_off;	   /* flags (PF_*) */
	uint32_t task_migrate_off; /* migration_disabled; valid when has_migrate */
	bool has_migrate;
	/* What the header of a latency trace says of a task; valid when has_task_line. */
	uint32_t task_prio_off; /* static_prio */
	uint32_t task_policy_off;
	uint32_t task_rt_prio_off;
	uint32_t task_cred_off; /* of the pointer to its struct cred */
	uint32_t cred_uid_off;	/* of the u32 there */
	bool has_task_line;
	/* PREEMPT_RT's own lazy preemption, before 6.12; valid when has_lazy. A trace has a column
	 * for it then. */
	uint32_t task_lazy_off; /* thread_info.preempt_lazy_count */
	uint32_t lazy_mask;	/* of thread flags; 0: not known */
	bool has_lazy;
	/* Where PREEMPT_RT counts soft interrupts, which the preempt count has elsewhere; valid
	 * when has_task_softirqs. */
	uint32_t task_softirqs_off; /* softirq_disable_cnt */
	bool has_task_softirqs;
	struct hv_context_bits context_bits;
	bool has_wide_count;  /* the preempt count has 64 bits, the top one for need_resched */
	unsigned nr_cpus;     /* nr_cpu_ids */
	uint32_t stack_bytes; /* of a task's stack: a power of two, and aligned to it */
	uint64_t steal_time_percpu;    /* of the u64 of ns in which the host did not run the CPU, as
					  KVM writes it; valid when has_steal_time */
	uint64_t steal_version_percpu; /* likewise of the u32 that KVM raises when it writes */
	bool has_steal_time;
	/* A CPU's offset is in the register that a hypervisor has for it (HV_ALT_HYPERVISOR). */
	bool by_hypervisor;
	/* A vCPU may execute guests of the kernel's own, which the monitor's registers do not show.
	 */
	bool may_host;
	uint64_t irq_stack_percpu; /* of the pointer to the interrupt stack's end or last word; 0:
				      there is none, and hv_kernel_need_irq_stack() tells why */
};

/* Fails with ENOENT; the message names what the kernel lacks. */
struct hv_err *hv_layout_read(const struct hv_kernel_core *core, struct hv_layout *ret) hv_must_use;
