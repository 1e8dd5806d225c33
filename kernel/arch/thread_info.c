/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/arch/thread_info.h"

#include "kernel/core/fields.h"

struct hv_err *hv_thread_info_percpu(const struct hv_kernel_core *core, const char *preempt_count,
				     struct hv_percpu_places *ret)
{
	uint32_t cpu, preempt;
	const struct hv_field fields[] = {
		{"thread_info.cpu", 4, &cpu},
		{preempt_count, 4, &preempt},
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
