/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the header of a latency trace says of a task, and its priority, as they are in the guest's
 * memory now. Hostile, and changes while it is read.
 * Leaves to others: the guest's own record of them (tracer/section_tracer.h). */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct hv_kernel;

struct hv_task_line {
	uint32_t pid;
	int32_t prio; /* below 0: deadline, below 100: realtime; 120: nice 0 */
	uint32_t uid;
	int32_t nice;
	uint32_t policy;
	uint32_t rt_priority;
};

/* Of the task that CPU executes, if that CPU is possible and executes one. ENOENT: it does not, or
 * this kernel's types lack a member. */
struct hv_err *hv_task_line_of_cpu(const struct hv_kernel *k, unsigned cpu,
				   struct hv_task_line *ret) hv_must_use;
/* Of the task PID, which is looked for in the guest's lists. ENOENT: likewise. */
struct hv_err *hv_task_line_of(struct hv_kernel *k, uint32_t pid,
			       struct hv_task_line *ret) hv_must_use;
