/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The current task is in the register sp_el0, and its struct thread_info, at its start, has the
 * CPU's number and the preempt count (arch/arm64/include/asm/current.h, thread_info.h). */
#include "kernel/arm64/arm64.h"
#include "kernel/fields.h"

/* struct pvclock_vcpu_stolen_time is in memory that the guest maps for each CPU; the per-CPU
 * variable only points to it (arch/arm64/kernel/paravirt.c). */
struct hv_err *arm64_find_percpu(const struct hv_kernel_core *core, struct hv_percpu_places *ret)
{
	uint32_t cpu, preempt;
	const struct hv_field fields[] = {
		{"thread_info.cpu", 4, &cpu},
		{"thread_info.preempt.count", 4, &preempt},
	};
	struct hv_err *err = hv_fields_find(core, "task_struct", fields, HV_ARRAY_LEN(fields));

	if (err)
		return err;
	*ret = (struct hv_percpu_places){
		.in_task = true,
		.cpu_number = cpu,
		.preempt_count = preempt,
	};
	return NULL;
}
