/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks the frames of a sleeping task from the context switch to the kernel entry, to find code
 * that the task will return into, and recognises vCPUs that wait for an interrupt. Words on a stack
 * that belong to no frame are remnants of finished calls and are ignored. stacks.c selects the
 * tasks. Private to kernel/. */
#pragma once

#include "kernel/tasks/tasks.h"
#include "kernel/tasks/unwind.h"

enum hv_sleeper {
	HV_SLEEPER_ELSEWHERE, /* all frames are known, and none is in the range */
	HV_SLEEPER_INSIDE,    /* at least one frame is in the range */
	HV_SLEEPER_UNKNOWN,   /* the frames cannot be walked to the end */
};

/* Returns whether frames can be walked in this kernel. ORC is NULL if it has no ORC tables. */
bool hv_sleeper_can_look(const struct hv_kernel *k, const struct hv_orc *orc);

/* Looks for frames in WANTED's range or, with HV_SCAN_USED and ORC, for frames that use it. A
 * return address in the range can be a replacement for a function's original one: WANTED's
 * find_caller returns the original, and the walk continues there. ORC may be NULL if the kernel has
 * frame records (struct hv_kernel_arch). */
enum hv_sleeper hv_sleeper_look(const struct hv_kernel *k, struct hv_orc *orc,
				const struct hv_scan_for *wanted, const struct hv_task *task);

/* Returns whether a vCPU waits for an interrupt in the idle task, so that it next executes the
 * instruction after the wait. Then its stack contains only frames of calls, as in a sleeping task.
 * REGS are the vCPU's, read in a hold. False if unknown. */
bool hv_sleeper_waits(const struct hv_kernel *k, const struct hv_vcpu_regs *regs);

/* Returns whether the idle loop of a vCPU halts it, so that it next executes the instruction after
 * that. An idle task also halts while it waits for a lock (kvm_wait()) or for a page of the host
 * (kvm_async_pf_task_wait()), such as in a callback of a tracepoint: then this returns false. REGS
 * are the vCPU's, read in a hold. */
bool hv_sleeper_halts(const struct hv_kernel *k, const struct hv_task *task,
		      const struct hv_vcpu_regs *regs);

/* Like hv_sleeper_look(), for a waiting vCPU that executes TASK. */
enum hv_sleeper hv_sleeper_look_waiting(const struct hv_kernel *k, const struct hv_scan_for *wanted,
					const struct hv_task *task,
					const struct hv_vcpu_regs *regs);
