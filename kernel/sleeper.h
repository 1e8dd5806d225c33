/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows the frames of a sleeping task, from where it was switched out up to where the kernel was
 * entered, to find code that it will return into. Words of its stack that belong to no frame are
 * left over from calls that have ended, and do not count.
 * Private to kernel/. Leaves to others: which tasks are looked at (stacks.c), ORC tables (orc.h).
 */
#pragma once

#include "kernel/orc.h"
#include "kernel/tasks.h"

enum hv_sleeper {
	HV_SLEEPER_ELSEWHERE, /* all of its frames are known, and none is in the range */
	HV_SLEEPER_INSIDE,    /* at least one of its frames is in the range */
	HV_SLEEPER_UNKNOWN,   /* its frames cannot be followed to the end */
};

/* Whether the return address *RET, at AT, which is in WANTED's range, is a call of that code, and
 * not only in the place of another one, which *RET becomes. */
static inline bool hv_sleeper_is_call(const struct hv_scan_for *wanted, struct hv_gva at,
				      struct hv_gva *ret)
{
	return hv_gva_in(*ret, wanted->calling) || !wanted->find_caller ||
	       !wanted->find_caller(wanted->ctx, at, ret) || hv_scan_wants(wanted, *ret);
}

/* Whether frames can be followed in this kernel. ORC NULL: it has no such tables. */
bool hv_sleeper_can_look(const struct hv_kernel *k, const struct hv_orc *orc);

/* Looks for frames in WANTED's range, or with ORC, for those that it uses (HV_SCAN_USED). A return
 * address in that range may only replace the one of a function: WANTED's find_caller finds the
 * replaced one, and the function's frame is followed to it. ORC may be NULL where frame records
 * lead (struct hv_kernel_arch). */
enum hv_sleeper hv_sleeper_look(const struct hv_kernel *k, struct hv_orc *orc,
				const struct hv_scan_for *wanted, const struct hv_task *task);

/* Whether a vCPU waits for an interrupt, in the idle task: what follows the instruction by which it
 * waits comes next. As in a sleeping task, nothing is on its stack then but the frames of calls.
 * REGS: the vCPU's, in a hold. False where that cannot be told. */
bool hv_sleeper_waits(const struct hv_kernel *k, const struct hv_vcpu_regs *regs);
/* The same as hv_sleeper_look() of such a vCPU, which executes TASK. */
enum hv_sleeper hv_sleeper_look_waiting(const struct hv_kernel *k, const struct hv_scan_for *wanted,
					const struct hv_task *task,
					const struct hv_vcpu_regs *regs);
