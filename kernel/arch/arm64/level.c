/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Determines the exception level in which the kernel executes. A kernel that is started in EL2
 * stays there if the CPU has VHE, unless its command line forbids it
 * (arch/arm64/kernel/hyp-stub.S), and then patches its own instructions. This code looks at those
 * instructions rather than at CPU features and the command line. */
#include "kernel/arch/arm64/arm64.h"

#define CODE_BYTES 64u

/* call_on_irq_stack() reads a per-CPU variable at its start (arch/arm64/kernel/entry.S,
 * since 5.14).
 */
static bool reads_by_el2(const struct hv_kernel_core *core, bool *ret)
{
	struct hv_gva at;
	struct hv_span code;

	if (!hv_core_symbol(core, "call_on_irq_stack", &at))
		return false;
	code = hv_image_at(&core->image, at);
	if (code.len_bytes > CODE_BYTES)
		code.len_bytes = CODE_BYTES;
	return core->as.arch->classify_percpu(code, ret);
}

struct hv_err *arm64_find_level(const struct hv_kernel_core *core, enum arm64_level *ret)
{
	struct hv_gva at;
	uint32_t mode = 0;
	bool in_el2 = false;
	struct hv_err *err = hv_core_need(core, "__boot_cpu_mode", &at);

	if (!err)
		err = hv_read_u32(&core->as, at, &mode);
	if (err)
		return err;
	if (mode != ARM64_BOOTED_IN_EL1 && !reads_by_el2(core, &in_el2))
		return hv_err_new(ENOTSUP, "the kernel was started in EL2: whether it stayed there "
					   "is not known");
	*ret = mode == ARM64_BOOTED_IN_EL1 ? ARM64_IN_EL1
	       : in_el2			   ? ARM64_IN_EL2
					   : ARM64_IN_EL1_ABOVE;
	return NULL;
}
