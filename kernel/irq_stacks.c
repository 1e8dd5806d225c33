/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/irq_stacks.h"

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
