/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stacks of a CPU (arch/arm64/kernel/irq.c, traps.c). The interrupt stack has the size of a
 * task's stack (include/asm/memory.h). */
#include "kernel/arch/arm64/arm64.h"
#include "kernel/arch/irq_stacks.h"
#include "kernel/arch/stack_bytes.h"

struct hv_err *arm64_find_irq_stack(const struct hv_kernel_core *core, uint64_t *ret)
{
	return hv_irq_stacks_find(core, hv_stack_bytes(core), ret);
}

/* Exceptions run on the interrupted stack. The only exception with a separate stack is a stack
 * overflow, after which the kernel does not continue. */
struct hv_err *arm64_check_exception_stacks(const struct hv_kernel_core *core)
{
	(void)core;
	return NULL;
}

struct hv_err *arm64_read_stacks(const struct hv_kernel_core *core, unsigned cpu,
				 struct hv_cpu_stack *ret, size_t *ret_nr)
{
	return hv_irq_stacks_read(core, cpu, hv_stack_bytes(core), ret, ret_nr);
}
