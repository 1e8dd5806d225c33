/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Linux's own code for one architecture (arch/NAME): per-CPU variables, CPU stacks, KPTI, the
 * clock. Each architecture has one const table.
 *
 * struct hv_arch (arch/arch.h) describes the CPU and does no I/O. The functions here look up
 * symbols and read guest memory, which is untrusted and can change during a read.
 *
 * kernel/arch/NAME.c contains each table and its functions. The other files of kernel/ are
 * independent of the architecture, with the exceptions that docs/internals/new-arch.md lists. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "kernel/core/core.h"

#define HV_UNNAMED_FUNCTIONS 6

/* A private variable, which a kernel without symbols for data does not name (unnamed.h). */
struct hv_unnamed {
	const char *name;
	/* Functions that use it, if the kernel has them; NULL-terminated. */
	const char *functions[HV_UNNAMED_FUNCTIONS];
	unsigned functions_min; /* at least this number of them must use it */
	/* How they use it: they read LEN_BYTES (HV_DATA_READ), compute its address
	 * (HV_DATA_ADDRESS), or pass the value as ARGUMENT of CALLED (HV_DATA_PASS). */
	unsigned kind;
	unsigned len_bytes;
	unsigned argument;
	const char *called;
	/* Returns whether AT can only be this variable. */
	bool (*is_at)(const struct hv_kernel_core *core, struct hv_gva at);
};

/* Per-CPU offsets, or kernel addresses. */
struct hv_percpu_layout {
	/* The current task is in a register. Then cpu_number and preempt_count are offsets in its
	 * struct task_struct, and current is unused. */
	bool in_task;
	uint64_t cpu_number;	/* u32 CPU number */
	uint64_t current;	/* pointer to the current task */
	uint64_t preempt_count; /* u32 preempt count */
	uint64_t steal_time;	/* u64 steal time in ns (KVM) */
	uint64_t steal_version; /* u32 version that KVM increments with each write */
	bool has_steal_time;	/* the kernel can receive steal time */
	bool by_hypervisor;	/* the hypervisor's register holds a CPU's offset */
	/* The kernel runs, or started, with hypervisor privileges (arm64: then its clock is the
	 * physical counter). */
	bool may_host;
};

/* A stack that belongs to a CPU rather than to a task. */
struct hv_cpu_stack {
	struct hv_gva_range range;
	enum {
		HV_CPU_STACK_INTERRUPT, /* entered only from a task's stack */
		HV_CPU_STACK_EXCEPTION, /* of an exception with a separate stack, or of the entry
					   from user mode */
	} kind;
	const char *name; /* "NMI stack" */
};

#define HV_CPU_STACKS_MAX 9

/* How the guest's kernel converts the counter of a CPU to ns. The code calls the counter tsc on all
 * architectures. kernel/clock/clock.h does the conversion. Private to kernel/, except enum
 * hv_clock_kind. */
enum hv_clock_kind {
	HV_CLOCK_TSC,	  /* the kernel measured the scale itself */
	HV_CLOCK_PVCLOCK, /* the hypervisor provides the scale */
	HV_CLOCK_RAW,	  /* the scale is unknown: times are raw counter values */
	HV_CLOCK_HOST,	  /* not the guest's clock: the user chose the host's, in ns */
};

/* Returns a name of KIND for users and programs. */
static inline const char *hv_clock_kind_name(enum hv_clock_kind kind)
{
	static const char *const names[] = {
		[HV_CLOCK_TSC] = "tsc",
		[HV_CLOCK_PVCLOCK] = "pvclock",
		[HV_CLOCK_RAW] = "raw tsc",
		[HV_CLOCK_HOST] = "host",
	};

	return names[kind];
}

/* ns = base_ns + ((tsc - base_tsc) << up >> down) * mul >> shift. All numbers come from the guest
 * and are untrusted. */
struct hv_clock_scale {
	uint64_t base_tsc;
	uint64_t base_ns;
	uint32_t mul; /* 0: no scale yet */
	uint32_t shift;
	uint8_t up;
	uint8_t down;
};

/* Where a kernel keeps the scales of its CPUs. Base of the struct of each kind of source. */
struct hv_clock_source {
	enum hv_clock_kind kind;
	/* Names of clocksources of the kernel: the one whose cycles are the counter, and the one
	 * whose cycles are this clock's ns plus an offset (or NULL). */
	const char *counter_name, *ns_name;
	/* Returns the offset. NULL if ns_name is NULL. */
	struct hv_err *(*read_offset)(const struct hv_clock_source *source,
				      const struct hv_kernel_core *core, uint64_t *ret_ns);
	/* Returns CPU's current scale. If CPU does not have one yet, *RET is unchanged or its mul
	 * is 0. */
	struct hv_err *(*read)(const struct hv_clock_source *source,
			       const struct hv_kernel_core *core, unsigned cpu,
			       struct hv_clock_scale *ret);
};

/* The symbols at the bounds of a section of the kernel's text. */
struct hv_section_bounds {
	const char *start, *end;
	bool is_needed; /* every supported kernel has them */
};

#define HV_REGS_CODE 3 /* registers that can contain an address in interrupted code */

struct hv_kernel_arch {
	const struct hv_arch *arch;

	/* Fails with ENOENT; the message names the missing variable. */
	struct hv_err *(*find_percpu)(const struct hv_kernel_core *core,
				      struct hv_percpu_layout *ret);
	/* Finds the per-CPU offset of the pointer to the end or last word of the interrupt stack.
	 * Fails with EOPNOTSUPP if the kernel has no such variable. */
	struct hv_err *(*find_irq_stack)(const struct hv_kernel_core *core, uint64_t *ret);
	/* Checks that the exception stacks are in hv_arch's exception_stacks. Fails with EOPNOTSUPP
	 * and the reason if they are not or this is unknown. */
	struct hv_err *(*check_exception_stacks)(const struct hv_kernel_core *core);
	/* Returns the stacks of CPU in RET, which has room for HV_CPU_STACKS_MAX. */
	struct hv_err *(*read_stacks)(const struct hv_kernel_core *core, unsigned cpu,
				      struct hv_cpu_stack *ret, size_t *ret_nr);
	/* The member of struct task_struct that holds the stack pointer of a sleeping task. */
	const char *saved_sp;
	/* The struct that a sleeping task's stack pointer points to. Its members are bp and
	 * ret_addr (the address where the task resumes); stack frames follow the struct. NULL: the
	 * stack pointer points directly to the frames, and struct task_struct holds the rest. */
	const char *switch_frame;
	/* For architectures where all functions keep frame records (a pointer to the next record,
	 * then a return address): the member of struct task_struct that holds a sleeping task's
	 * first record. The last record is in the registers at the end of the stack and contains
	 * zeros. NULL: not all functions keep frame records. */
	const char *saved_fp;
	/* For architectures where the frame pointer is the end of a frame, with the record below
	 * it, and exceptions create no record (sleeper.c): the member of struct task_struct that
	 * holds a sleeping task's frame pointer, and the members of struct pt_regs that hold the
	 * interrupted frame pointer and addresses in interrupted code. hides_return delimits the
	 * exception code. */
	struct {
		const char *saved_fp;
		const char *regs_fp;
		const char *regs_code[HV_REGS_CODE];
	} frame_chain;
	/* With frame records: the 4-byte instruction the idle task uses to wait for an
	 * interrupt. */
	uint32_t waits;
	/* How the idle loop waits for an interrupt, also on a CPU that is offline: with the one-byte
	 * instruction INSN (0: unknown) in one of the functions IDLE, or in one of CALLED, which
	 * other functions call, too. NULL: no more functions. */
	struct {
		uint8_t insn;
		const char *idle[3], *called[2];
	} halts;
	/* The member of struct task_struct that holds the key for a task's return addresses; two
	 * 64-bit words. NULL: return addresses are not signed. */
	const char *signing_key;
	/* For kernels that also keep return addresses on a shadow stack and return to the addresses
	 * there (return_addresses.h). Shadow stacks grow upwards. */
	struct {
		const char *start; /* member of struct task_struct: start of the shadow stack */
		/* Member of struct task_struct: the end of the used part while the task does not
		 * run. NULL: the shadow stack cannot be read or restored. */
		const char *end;
		const char *irqs;    /* per-CPU pointer to the interrupt stack's shadow stack */
		unsigned in_general; /* general register that holds the end of the used part on a
					vCPU */
	} shadow_stack;
	/* The symbols around code where the interrupted address, or the exception's return address,
	 * is only in a register that vCPU state does not show. NULL: there is no such code. */
	const char *hides_return[2];
	/* Whether the sp to which an interrupt stack returns can be only in a general register. */
	bool links_by_register;
	/* The number of the thread flag TIF_SYSCALL_TRACEPOINT, in kernels without
	 * thread_info.syscall_work. */
	int syscall_tracepoint_bit;
	/* Symbols of which a kernel with 32-bit system calls has at least one. All NULL: unknown. */
	const char *compat_entries[3];
	/* The kernel's entry and exit code. */
	struct {
		const char *bounds[2]; /* symbols at its start and end */
		/* Where it continues after an interrupt or exception, and where it returns to user
		 * mode. */
		const char *returns[2];
		const char *own_stacks; /* like returns, after an exception with a separate stack */
		const char *syscall;	/* the function that handles a system call */
		const char *nmi; /* the function that handles an NMI; NMIs are not measured */
		const char *new_task[2]; /* functions outside the entry code that also return to
					    user mode */
	} entry;
	/* Code of a kernel without ftrace that hvtrace must not trace (kernel/entries.h): sections,
	 * ended by one without a start, and prefixes of names, ended by NULL. NULL: functions of
	 * such kernels cannot be traced. */
	const struct hv_section_bounds *untraced_sections;
	const char *const *untraced_prefixes;
	/* The prefix of the names of thunks for indirect jumps. NULL: the kernel has no thunks. */
	const char *indirect_thunk;
	/* Returns whether the kernel's own probes reject an instruction that raises an
	 * exception. */
	bool (*skips_exceptions)(const struct hv_kernel_core *core);
	/* Returns whether interrupts also arrive through code outside `entry`. */
	bool (*enters_elsewhere)(const struct hv_kernel_core *core);
	/* Returns whether user mode uses page tables without the kernel (KPTI). */
	bool (*has_kpti)(const struct hv_kernel_core *core);
	/* Returns whether the kernel uses bare indirect jumps: no thunk, and the CPU does not check
	 * the target. False if unknown. */
	bool (*jumps_bare)(const struct hv_kernel_core *core);
	/* Finds the clock behind sched_clock(). The caller frees *RET with free(). *RET is NULL if
	 * the clock cannot be computed from the CPU's counter. */
	struct hv_err *(*find_clock)(const struct hv_kernel_core *core,
				     struct hv_clock_source **ret);
	/* The range that the kernel's text can call. Fails with ENOTSUP and the reason if unknown.
	 * NULL: the range is the same in every kernel. */
	struct hv_err *(*find_reach)(const struct hv_kernel_core *core, struct hv_reach *ret);
	/* Private variables that are found without their names, searched in this order. */
	const struct hv_unnamed *unnamed;
	size_t nr_unnamed;
};

extern const struct hv_kernel_arch hv_kernel_arch_arm64;
extern const struct hv_kernel_arch hv_kernel_arch_riscv64;
extern const struct hv_kernel_arch hv_kernel_arch_x86_64;

/* Returns the table for CORE's architecture. Every architecture in arch/ has one. */
const struct hv_kernel_arch *hv_kernel_arch_of(const struct hv_kernel_core *core);
