/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "arch/arch.h"

#include <string.h>

const struct hv_arch *hv_arch_find(const char *name)
{
	static const struct hv_arch *const all[] = {&hv_arch_x86_64, &hv_arch_arm64,
						    &hv_arch_riscv64};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(all[i]->name, name) == 0)
			return all[i];
	return NULL;
}
