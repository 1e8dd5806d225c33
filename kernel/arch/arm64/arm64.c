/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of arm64 kernels. */
#include "kernel/arch/arm64/arm64.h"

#include "kernel/arch/clock_data.h"
#include "kernel/arch/thread_info.h"

/* arch/arm64/include/asm/thread_info.h. struct pvclock_vcpu_stolen_time is in memory that the guest
 * maps for each CPU; the per-CPU variable only points to it (arch/arm64/kernel/paravirt.c). */
static struct hv_err *find_percpu(const struct hv_kernel_core *core, struct hv_percpu_places *ret)
{
	struct hv_err *err = hv_thread_info_percpu(core, "thread_info.preempt.count", ret);
	enum arm64_level level = ARM64_IN_EL1;

	if (err)
		return err;
	/* An error makes arm64_find_reach() fail, too, and the kernel cannot be traced. */
	hv_err_free(arm64_find_level(core, &level));
	ret->by_hypervisor = level == ARM64_IN_EL2;
	ret->may_host = level != ARM64_IN_EL1;
	return NULL;
}

/* Returns whether user mode uses page tables that contain only a trampoline. Then kernel mappings
 * are not global (arch/arm64/include/asm/pgtable-prot.h, since e046eb0c9bf2, v4.16). */
static bool has_kpti(const struct hv_kernel_core *core)
{
	struct hv_gva at;
	uint8_t on = 0;

	return hv_core_symbol(core, "arm64_use_ng_mappings", &at) &&
	       hv_span_u8(hv_image_at(&core->image, at), 0, &on) && on;
}

static bool jumps_bare(const struct hv_kernel_core *core)
{
	(void)core;
	return false;
}

static bool enters_elsewhere(const struct hv_kernel_core *core)
{
	(void)core;
	return true;
}

/* A kernel that was started in EL2 uses the physical counter, and so do its stubs
 * (HV_ALT_HOST_CLOCK). All others use the virtual counter, provided that firmware set it up
 * (drivers/clocksource/arm_arch_timer.c). */
static struct hv_err *find_clock(const struct hv_kernel_core *core, struct hv_clock_source **ret)
{
	enum arm64_level level = ARM64_IN_EL1;

	hv_err_free(arm64_find_level(core, &level)); /* see find_percpu() */
	return hv_clock_data_find(core, level == ARM64_IN_EL1 ? "cntvct" : "cntpct",
				  "arch_sys_counter", ret);
}

const struct hv_kernel_arch hv_kernel_arch_arm64 = {
	.arch = &hv_arch_arm64,
	.find_percpu = find_percpu,
	.find_irq_stack = arm64_find_irq_stack,
	.check_exception_stacks = arm64_check_exception_stacks,
	.read_stacks = arm64_read_stacks,
	.enters_elsewhere = enters_elsewhere,
	.saved_sp = "thread.cpu_context.sp",
	.saved_fp = "thread.cpu_context.fp",
	.waits = 0xd503207f, /* wfi */
	.signing_key = "thread.keys_kernel.apia",
	/* arch/arm64/include/asm/scs.h, arch/arm64/kernel/irq.c */
	.shadow_stack = {"thread_info.scs_base", "thread_info.scs_sp", "irq_shadow_call_stack_ptr",
			 18},
	/* kernel_entry and kernel_exit, arch/arm64/kernel/entry.S */
	.hides_return = {"__entry_text_start", "__entry_text_end"},
	.links_by_register = true, /* call_on_irq_stack() there */
	/* TIF_SYSCALL_TRACEPOINT, arch/arm64/include/asm/thread_info.h */
	.syscall_tracepoint_bit = 10,
	.has_kpti = has_kpti,
	.jumps_bare = jumps_bare,
	.find_clock = find_clock,
	.find_reach = arm64_find_reach,
	.unnamed = arm64_unnamed,
	.nr_unnamed = ARM64_NR_UNNAMED,
};
