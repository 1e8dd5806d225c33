/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/arch/kernel_arch.h"

#include <assert.h>

const struct hv_kernel_arch *hv_kernel_arch_of(const struct hv_kernel_core *core)
{
	static const struct hv_kernel_arch *const all[] = {
		&hv_kernel_arch_x86_64, &hv_kernel_arch_arm64, &hv_kernel_arch_riscv64};

	for (size_t i = 0; i < HV_ARRAY_LEN(all); i++)
		if (hv_arch_is(all[i]->arch, core->as.arch))
			return all[i];
	assert(!"an architecture of arch/ without its part of kernel/");
	return NULL;
}
