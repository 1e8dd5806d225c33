/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names and structures of Linux's own code for one architecture (its folder arch/NAME):
 * per-CPU variables, a CPU's stacks, KPTI, the clock. There is one const table per architecture.
 * struct hv_arch (arch/arch.h) describes the CPU and is pure; the functions here look up symbols
 * and read the guest's memory, which is hostile and changes while it is read.
 * Each table and its functions are in kernel/NAME/. The other files of kernel/ serve every
 * architecture, with the exceptions that docs/internals/new-arch.md lists. */
#pragma once

#include "kernel/clock_source.h"
#include "kernel/core.h"

struct hv_unnamed;

/* Per-CPU offsets, or kernel addresses. */
struct hv_percpu_places {
	/* The current task is in a register; cpu_number and preempt_count are offsets in its struct
	 * task_struct then, and current is not used. */
	bool in_task;
	uint64_t cpu_number;	/* of the u32 CPU number */
	uint64_t current;	/* of the current task's pointer */
	uint64_t preempt_count; /* of the u32 preempt count */
	uint64_t steal_time;	/* of the u64 of ns in which the host did not run the CPU (KVM) */
	uint64_t steal_version; /* of the u32 that KVM raises when it writes there */
	bool has_steal_time;	/* the kernel can be told */
	bool by_hypervisor;	/* a CPU's offset is in the register that a hypervisor has for it */
	/* The kernel has a hypervisor's privileges, or had them when it started (arm64: then its
	 * clock is the physical counter). */
	bool may_host;
};

/* A stack that belongs to a CPU, not to a task. */
struct hv_cpu_stack {
	struct hv_gva_range range;
	enum {
		HV_CPU_STACK_INTERRUPT, /* entered from a task's stack only */
		HV_CPU_STACK_EXCEPTION, /* of an exception that has its own, or of the entry from
					   user code */
	} kind;
	const char *name; /* "NMI stack" */
};

#define HV_CPU_STACKS_MAX 8

#define HV_REGS_CODE 3 /* registers that may have an address of code that was interrupted */

struct hv_kernel_arch {
	const struct hv_arch *arch;

	/* Fails with ENOENT; the message names the variable that the kernel lacks. */
	struct hv_err *(*find_percpu)(const struct hv_kernel_core *core,
				      struct hv_percpu_places *ret);
	/* Finds the per-CPU offset of the pointer to the interrupt stack's end or last word.
	 * EOPNOTSUPP: the kernel has no such variable. */
	struct hv_err *(*find_irq_stack)(const struct hv_kernel_core *core, uint64_t *ret);
	/* Checks that the stacks of exceptions are in hv_arch's exception_stacks. EOPNOTSUPP with
	 * the reason when they are not, or when that cannot be told. */
	struct hv_err *(*check_exception_stacks)(const struct hv_kernel_core *core);
	/* Finds the stacks of CPU that this kernel has. RET has room for HV_CPU_STACKS_MAX. */
	struct hv_err *(*read_stacks)(const struct hv_kernel_core *core, unsigned cpu,
				      struct hv_cpu_stack *ret, size_t *ret_nr);
	/* The member of struct task_struct with the sp of a task that sleeps. */
	const char *saved_sp;
	/* What such a task's sp points to: a struct with the members bp and ret_addr, the address
	 * that it goes on at. Its frames begin behind that struct. NULL: it points to its frames,
	 * and what else there is is in its struct task_struct. */
	const char *switch_frame;
	/* Of an architecture on which all functions keep frame records (a pointer to the next one,
	 * then a return address): the member of struct task_struct with a sleeping task's first
	 * one. The last one is in the registers at the end of the stack, and zeros. NULL: there are
	 * none, or not in all functions. */
	const char *saved_fp;
	/* Of an architecture whose frame pointer is the end of a frame, with its record below it,
	 * and whose exceptions make none (frame_chain.h): the member of struct task_struct with a
	 * sleeping task's, and the members of struct pt_regs with that of what was interrupted, and
	 * with addresses of its code. The code of exceptions is that of hides_return. */
	struct {
		const char *saved_fp;
		const char *regs_fp;
		const char *regs_code[HV_REGS_CODE];
	} frame_chain;
	/* Where there are frame records: the instruction by which the idle task waits for an
	 * interrupt. It is 4 bytes long. */
	uint32_t waits;
	/* The member of struct task_struct with the key by which a task's return addresses are
	 * signed; two words of 64 bits. NULL: none are. */
	const char *signing_key;
	/* Of kernels that keep return addresses on a second stack, too, and return to what is there
	 * (shadow_stacks.h). Such a stack grows upwards. */
	struct {
		const char *start; /* the member of struct task_struct with a task's */
		/* Likewise what is behind the last address of a task that does not run. NULL: what
		 * is there cannot be read, or be put back. */
		const char *end;
		const char *irqs;    /* the per-CPU pointer to that of the interrupt stack */
		unsigned in_general; /* the register with the end of the one that a vCPU is on */
	} shadow_stack;
	/* The symbols around code in which the address that an exception interrupted, or that it
	 * returns to, is only in a register that no vCPU shows. NULL: there is none. */
	const char *hides_return[2];
	/* Whether the way back from an interrupt stack can be only in a register. */
	bool links_by_register;
	/* The number of the thread flag that makes a task pass by the tracepoints of system calls,
	 * in kernels that have no thread_info.syscall_work (TIF_SYSCALL_TRACEPOINT). */
	int syscall_tracepoint_bit;
	/* The code by which the kernel is entered and left. */
	struct {
		const char *bounds[2]; /* the symbols at its start and end */
		/* Where it goes after an interrupt or exception, and where it goes back to user
		 * mode. */
		const char *returns[2];
		const char *own_stacks; /* likewise after an exception with its own stack */
		const char *syscall;	/* the function that handles a system call */
		const char *nmi; /* the function that handles an NMI, which is not measured */
		const char *new_task[2]; /* functions elsewhere that go to user mode likewise */
	} entry;
	/* How the names of functions begin that jump to where a register says. NULL: no function
	 * of the kernel's jumps to one. */
	const char *indirect_thunk;
	/* Whether the kernel's own probes treat an instruction that raises an exception as none. */
	bool (*skips_exceptions)(const struct hv_kernel_core *core);
	/* Whether interrupts arrive elsewhere than by the code above. */
	bool (*enters_elsewhere)(const struct hv_kernel_core *core);
	/* Whether user mode runs on page tables that lack the kernel (KPTI). */
	bool (*has_kpti)(const struct hv_kernel_core *core);
	/* Whether the kernel's code goes to an address in a register by a bare jump: it needs no
	 * thunk, and the CPU does not check what is there. False also when that cannot be told. */
	bool (*jumps_bare)(const struct hv_kernel_core *core);
	/* The clock behind sched_clock(). The caller frees *RET with free(). NULL: the clock cannot
	 * be computed from the CPU's counter. */
	struct hv_err *(*find_clock)(const struct hv_kernel_core *core,
				     struct hv_clock_source **ret);
	/* What the kernel's text can call. ENOTSUP with the reason when that cannot be told. NULL:
	 * it is the same in every kernel. */
	struct hv_err *(*find_reach)(const struct hv_kernel_core *core, struct hv_reach *ret);
	/* Private variables that are found without their names, in this order. */
	const struct hv_unnamed *unnamed;
	size_t nr_unnamed;
};

extern const struct hv_kernel_arch hv_kernel_arch_arm64;
extern const struct hv_kernel_arch hv_kernel_arch_riscv64;
extern const struct hv_kernel_arch hv_kernel_arch_x86_64;

/* Of CORE's architecture; there is one for each in arch/. */
const struct hv_kernel_arch *hv_kernel_arch_of(const struct hv_kernel_core *core);
