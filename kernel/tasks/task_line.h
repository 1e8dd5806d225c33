/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The task fields in the header of a latency trace, including the priority, read from current guest
 * memory. Untrusted, and can change during the read. tracer/section_tracer.h reads the guest's own
 * record of them. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct hv_kernel;

struct hv_task_line {
	uint32_t pid;
	int32_t prio; /* below 0: deadline; below 100: realtime; 120: nice 0 */
	uint32_t uid;
	int32_t nice;
	uint32_t policy;
	uint32_t rt_priority;
};

/* Reads the fields of the task that CPU executes. Fails with ENOENT if the CPU is not possible or
 * executes no task, or this kernel's types lack a member. */
struct hv_err *hv_task_line_of_cpu(const struct hv_kernel *k, unsigned cpu,
				   struct hv_task_line *ret) hv_must_use;
/* Reads the fields of the task PID, found in the guest's task lists. Fails with ENOENT if the task
 * does not exist or this kernel's types lack a member. */
struct hv_err *hv_task_line_of(struct hv_kernel *k, uint32_t pid,
			       struct hv_task_line *ret) hv_must_use;
