/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of x86-64 kernels. */
#include "kernel/arch/x86_64/x86_64.h"

const struct hv_kernel_arch hv_kernel_arch_x86_64 = {
	.arch = &hv_arch_x86_64,
	.find_percpu = x86_64_find_percpu,
	.find_irq_stack = x86_64_find_irq_stack,
	.check_exception_stacks = x86_64_check_exception_stacks,
	.read_stacks = x86_64_read_stacks,
	.entry =
		{
			.bounds = {"__entry_text_start", "__entry_text_end"},
			.returns = {"error_return", "swapgs_restore_regs_and_return_to_usermode"},
			.own_stacks = "paranoid_exit",
			.syscall = "do_syscall_64",
			.nmi = "exc_nmi",
			/* Since 6.6 (3aec4ecb3d1f) the assembly code has a separate symbol. */
			.new_task = {"ret_from_fork", "ret_from_fork_asm"},
		},
	.indirect_thunk = "__x86_indirect_",
	.skips_exceptions = x86_64_skips_exceptions,
	.enters_elsewhere = x86_64_enters_elsewhere,
	.saved_sp = "thread.sp",
	.switch_frame = "inactive_task_frame",
	.syscall_tracepoint_bit = 28,
	.has_kpti = x86_64_has_kpti,
	.jumps_bare = x86_64_jumps_bare,
	.find_clock = x86_64_find_clock,
};
