/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/arch/irq_stacks.h"

#define OVERFLOW_BYTES 4096u /* OVERFLOW_STACK_SIZE */

/* irq_stack_ptr points to the start of a stack, not to its end. */
struct hv_err *hv_irq_stacks_read(const struct hv_kernel_core *core, unsigned cpu,
				  uint64_t irq_stack_bytes, struct hv_cpu_stack *ret,
				  size_t *ret_nr)
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
			.range = {hv_gva(start), hv_gva(start + irq_stack_bytes)},
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

/* Stubs recognise a stack by the aligned block that it fills. In kernels that do not map their
 * stacks (no VMAP_STACK), interrupt stacks are arrays without that alignment. */
struct hv_err *hv_irq_stacks_find(const struct hv_kernel_core *core, uint64_t irq_stack_bytes,
				  uint64_t *ret)
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
	if (!err &&
	    (!irq_stack_bytes || start % irq_stack_bytes || hv_core_symbol(core, "irq_stack", &at)))
		err = hv_err_new(EOPNOTSUPP, "stacks of interrupts are not aligned to their size");
	return err;
}
