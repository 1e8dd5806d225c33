/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stacks of a CPU (arch/arm64/kernel/irq.c, traps.c). Their length is of struct thread's stack
 * (include/asm/memory.h). */
#include "kernel/arm64/arm64.h"
#include "kernel/irq_stacks.h"

#define IRQ_STACK_BYTES (16u << 10)

struct hv_err *arm64_find_irq_stack(const struct hv_kernel_core *core, uint64_t *ret)
{
	(void)core;
	(void)ret;
	return hv_err_new(EOPNOTSUPP, "stacks of interrupts cannot be recognised on arm64 yet");
}

struct hv_err *arm64_check_exception_stacks(const struct hv_kernel_core *core)
{
	(void)core;
	return hv_err_new(EOPNOTSUPP, "stacks of exceptions cannot be recognised on arm64 yet");
}

struct hv_err *arm64_read_stacks(const struct hv_kernel_core *core, unsigned cpu,
				 struct hv_cpu_stack *ret, size_t *ret_nr)
{
	return hv_irq_stacks_read(core, cpu, IRQ_STACK_BYTES, ret, ret_nr);
}
