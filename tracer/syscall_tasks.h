/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The flag of the guest's tasks that makes them pass by the tracepoints of system calls
 * (kernel/events/syscall_work.h). It is set for all while we have a probe there, and taken back
 * when nobody has one. A task that has it although nobody has a probe does nothing more by it than
 * to look at the tracepoint's static key. Leaves to others: the tracepoints and their count
 * (plug.h). One thread. */
#pragma once

#include "base/err.h"

struct hv_tracee;
struct hv_tracepoint_layout;

/* Sets the flag of every task if a tracepoint of system calls is on, as the guest's count says, and
 * takes it back from every task if none is. Tasks that have it right are not touched. A task that
 * changes its other flags all the time, or that is just being made, may be left out; the next call
 * finds it. EBUSY: the guest is changing tracepoints. */
struct hv_err *hv_syscall_tasks_set(struct hv_tracee *t,
				    const struct hv_tracepoint_layout *layout) hv_must_use;
/* Likewise, and tries again for some 40 ms. */
struct hv_err *hv_syscall_tasks_set_soon(struct hv_tracee *t,
					 const struct hv_tracepoint_layout *layout) hv_must_use;
