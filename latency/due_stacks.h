/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Matches stack records with the events they belong to.
 *
 * The guest records an event first and its stack later, on the same vCPU and for the same task. An
 * interrupt between the two can record events with their own stacks, so pending events form a stack
 * per vCPU. Stacks recorded at the end of a section (docs/users/latency-tracers.md) match no event.
 *
 * Does not interpret the stacks. Pure. */
#pragma once

#include "latency/event.h"

#define HV_DUE_STACKS_MAX 4	   /* per vCPU, nested */
#define HV_DUE_STACK_NS	  10000000 /* later stacks count as lost */

struct hv_due_cpu {
	struct hv_moment list[HV_DUE_STACKS_MAX]; /* the oldest first */
	unsigned nr;
};

struct hv_due_stacks {
	struct hv_due_cpu *cpus; /* owned */
	unsigned nr_cpus;
	uint32_t kinds; /* events with stacks: 1 << enum hv_moment_kind */
};

void hv_due_stacks_init(struct hv_due_stacks *d, unsigned nr_cpus);
void hv_due_stacks_deinit(struct hv_due_stacks *d);
/* Returns whether the guest records a stack with an event like M. */
bool hv_moment_has_stack(const struct hv_moment *m);
/* Adds M if its stack will follow. */
void hv_due_stacks_see(struct hv_due_stacks *d, const struct hv_moment *m);
/* Returns the event that a stack of PID on CPU belongs to, or NULL. Valid until the next call. */
const struct hv_moment *hv_due_stacks_take(struct hv_due_stacks *d, unsigned cpu, uint32_t pid,
					   uint64_t time_ns);
/* Forgets the pending events of CPU. Call it when events of CPU were lost. */
void hv_due_stacks_lose(struct hv_due_stacks *d, unsigned cpu);
