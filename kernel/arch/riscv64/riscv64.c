/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of riscv64 kernels. */
#include "kernel/arch/clock_data.h"
#include "kernel/arch/irq_stacks.h"
#include "kernel/arch/stack_bytes.h"
#include "kernel/arch/riscv64/riscv64.h"
#include "kernel/arch/thread_info.h"

/* arch/riscv/include/asm/thread_info.h */
static struct hv_err *find_percpu(const struct hv_kernel_core *core, struct hv_percpu_places *ret)
{
	return hv_thread_info_percpu(core, "thread_info.preempt_count", ret);
}

static struct hv_err *find_irq_stack(const struct hv_kernel_core *core, uint64_t *ret)
{
	return hv_irq_stacks_find(core, hv_stack_bytes(core), ret);
}

/* Exceptions run on the interrupted stack. The only exception with a separate stack is a stack
 * overflow, after which the kernel does not continue. */
static struct hv_err *check_exception_stacks(const struct hv_kernel_core *core)
{
	(void)core;
	return NULL;
}

/* arch/riscv/kernel/irq.c, traps.c. All stacks except the overflow stack have THREAD_SIZE. */
static struct hv_err *read_stacks(const struct hv_kernel_core *core, unsigned cpu,
				  struct hv_cpu_stack *ret, size_t *ret_nr)
{
	return hv_irq_stacks_read(core, cpu, hv_stack_bytes(core), ret, ret_nr);
}

/* User mode uses the kernel's page tables. */
static bool has_kpti(const struct hv_kernel_core *core)
{
	(void)core;
	return false;
}

static bool jumps_bare(const struct hv_kernel_core *core)
{
	(void)core;
	return false;
}

static bool enters_elsewhere(const struct hv_kernel_core *core)
{
	(void)core;
	return true;
}

/* drivers/clocksource/timer-riscv.c: the CSR time. */
static struct hv_err *find_clock(const struct hv_kernel_core *core, struct hv_clock_source **ret)
{
	return hv_clock_data_find(core, "riscv_sched_clock", "riscv_clocksource", ret);
}

const struct hv_kernel_arch hv_kernel_arch_riscv64 = {
	.arch = &hv_arch_riscv64,
	.find_percpu = find_percpu,
	.find_irq_stack = find_irq_stack,
	.check_exception_stacks = check_exception_stacks,
	.read_stacks = read_stacks,
	.enters_elsewhere = enters_elsewhere,
	.saved_sp = "thread.sp",
	.frame_chain = {"thread.s", "s0", {"epc", "ra", "t0"}},
	.waits = 0x10500073, /* wfi */
	.shadow_stack = {.start = "thread_info.scs_base"},
	/* arch/riscv/kernel/entry.S */
	.hides_return = {"handle_exception", "ret_from_exception_end"},
	.links_by_register = true, /* call_on_irq_stack() there */
	/* TIF_SYSCALL_TRACEPOINT, arch/riscv/include/asm/thread_info.h, before 6.5 */
	.syscall_tracepoint_bit = 6,
	.has_kpti = has_kpti,
	.jumps_bare = jumps_bare,
	.find_clock = find_clock,
	.find_reach = riscv64_find_reach,
};
