/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/core/reach.h"

#include "kernel/core/core.h"

struct hv_reach hv_reach_of(const struct hv_kernel_core *core)
{
	const struct hv_arch *arch = core->as.arch;

	if (!arch->text_base.v)
		return core->reach;
	return (struct hv_reach){
		.text_base = arch->text_base,
		.free_window = arch->free_window,
		.code = arch->chosen_window,
	};
}
