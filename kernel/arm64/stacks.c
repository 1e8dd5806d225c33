/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stacks of a CPU (arch/arm64/kernel/irq.c, traps.c). Their length is of struct thread's stack
 * (include/asm/memory.h). */
#include "kernel/arm64/arm64.h"
#include "kernel/irq_stacks.h"

#define IRQ_STACK_BYTES (16u << 10)

/* The stubs tell a stack by the block of its size that it fills. Where the kernel does not map its
 * stacks (VMAP_STACK), those of interrupts are arrays without that alignment. */
struct hv_err *arm64_find_irq_stack(const struct hv_kernel_core *core, uint64_t *ret)
{
	struct hv_gva pointer, at;
	uint64_t start = 0;
	struct hv_err *err = hv_core_need(core, "irq_stack_ptr", &pointer);

	*ret = 0;
	if (!err)
		err = hv_core_percpu(core, pointer.v, 0, &at);
	if (!err)
		err = hv_read_u64(&core->as, at, &start);
	if (!err)
		*ret = pointer.v;
	if (!err && (start % IRQ_STACK_BYTES || hv_core_symbol(core, "irq_stack", &at)))
		err = hv_err_new(EOPNOTSUPP, "stacks of interrupts are not aligned to their size");
	return err;
}

/* Exceptions are on the stack that they interrupt, but for one: the kernel does not go on after a
 * full stack. */
struct hv_err *arm64_check_exception_stacks(const struct hv_kernel_core *core)
{
	(void)core;
	return NULL;
}

struct hv_err *arm64_read_stacks(const struct hv_kernel_core *core, unsigned cpu,
				 struct hv_cpu_stack *ret, size_t *ret_nr)
{
	return hv_irq_stacks_read(core, cpu, IRQ_STACK_BYTES, ret, ret_nr);
}
