/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stacks of a CPU: one for interrupts, and one for exceptions on a stack that is full
 * (arch/arm64/kernel/irq.c, traps.c). Their length is of struct thread's stack
 * (include/asm/memory.h). */
#include "kernel/arm64/arm64.h"

#define IRQ_STACK_BYTES (16u << 10)
#define OVERFLOW_BYTES	4096u

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
	struct hv_gva pointer, overflow, at;
	size_t nr = 0;
	uint64_t start = 0;
	struct hv_err *err = hv_core_need(core, "irq_stack_ptr", &pointer);

	if (!err)
		err = hv_core_percpu(core, pointer.v, cpu, &at);
	if (!err)
		err = hv_read_u64(&core->as, at, &start);
	if (!err && start)
		ret[nr++] = (struct hv_cpu_stack){
			.range = {hv_gva(start), hv_gva(start + IRQ_STACK_BYTES)},
			.kind = HV_CPU_STACK_INTERRUPT,
			.name = "irq stack",
		};
	if (!err && hv_core_symbol(core, "overflow_stack", &overflow)) {
		err = hv_core_percpu(core, overflow.v, cpu, &at);
		ret[nr++] = (struct hv_cpu_stack){
			.range = {at, hv_gva(at.v + OVERFLOW_BYTES)},
			.kind = HV_CPU_STACK_EXCEPTION,
			.name = "overflow stack",
		};
	}
	*ret_nr = nr;
	return err;
}
