/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which stack is of which event. A stack comes behind its event, on the same vCPU, and of the same
 * task; between the two, an interrupt may record events with stacks of their own. Stacks of ends of
 * sections (docs/users/latency-tracers.md) come among them, and are of no event.
 * Leaves to others: what the stacks say. Pure. */
#pragma once

#include "latency/event.h"

#define HV_DUE_STACKS_MAX 4	   /* of a vCPU, one inside the other */
#define HV_DUE_STACK_NS	  10000000 /* one that did not come so long after its event was lost */

struct hv_due_cpu {
	struct hv_moment list[HV_DUE_STACKS_MAX]; /* the oldest first */
	unsigned nr;
};

struct hv_due_stacks {
	struct hv_due_cpu *cpus; /* owned */
	unsigned nr_cpus;
	uint32_t kinds; /* of moments that have stacks: 1 << enum hv_moment_kind */
};

void hv_due_stacks_init(struct hv_due_stacks *d, unsigned nr_cpus);
void hv_due_stacks_deinit(struct hv_due_stacks *d);
/* Whether a stack is recorded with an event like M. */
bool hv_moment_has_stack(const struct hv_moment *m);
/* M has come; if it has a stack, that comes next. */
void hv_due_stacks_see(struct hv_due_stacks *d, const struct hv_moment *m);
/* The event whose stack has come on CPU, of the task PID; valid until the next call. NULL: none. */
const struct hv_moment *hv_due_stacks_take(struct hv_due_stacks *d, unsigned cpu, uint32_t pid,
					   uint64_t time_ns);
/* Events of CPU were lost. */
void hv_due_stacks_lose(struct hv_due_stacks *d, unsigned cpu);
