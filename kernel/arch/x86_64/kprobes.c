/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions that kprobes of x86-64 kernels reject. */
#include "kernel/arch/x86_64/x86_64.h"

#include "kernel/types/btf_func.h"

#define BOOL_BITS 8

/* Later kernels reject INT and UD ("x86/kprobes: Prohibit kprobing on INT and UD", can_probe()).
 * The patch before it in the same series changed the return type of can_boost() from int to bool,
 * which is visible in BTF. */
bool x86_64_skips_exceptions(const struct hv_kernel_core *core)
{
	struct hv_btf_func func;
	struct hv_btf_value value;

	return hv_btf_func_find(core->btf, "can_boost", &func) &&
	       hv_btf_value(core->btf, func.return_id, &value) && value.form == HV_BTF_INT &&
	       value.bits == BOOL_BITS;
}
