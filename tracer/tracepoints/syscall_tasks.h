/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The flag in the guest's tasks that makes system calls reach their tracepoints
 * (kernel/events/tracepoint_state.h). It is set in all tasks while we have a probe there, and
 * cleared when there is no probe left. A task that keeps the flag without need only checks the
 * tracepoint's static key.
 *
 * plug.h changes the tracepoints and their count. One thread. */
#pragma once

#include "base/err.h"

struct hv_tracee;
struct hv_tracepoint_layout;

/* Sets the flag of every task if a system call tracepoint is on according to the guest's count, and
 * clears it otherwise. Does not write to tasks whose flag is right. May miss a task that constantly
 * changes its other flags or is just being created; the next call finds it. EBUSY: the guest is
 * changing tracepoints. */
struct hv_err *hv_syscall_tasks_set(struct hv_tracee *t,
				    const struct hv_tracepoint_layout *layout) hv_must_use;
/* Like hv_syscall_tasks_set(), but retries for about 40 ms. */
struct hv_err *hv_syscall_tasks_set_soon(struct hv_tracee *t,
					 const struct hv_tracepoint_layout *layout) hv_must_use;
