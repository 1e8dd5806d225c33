/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long tasks waited for a vCPU, as a histogram: from when a task is woken, or loses the vCPU
 * while it could go on, until it runs. Waits of tasks that were not seen before, and of all tasks
 * after events were lost, are not counted.
 * Leaves to others: who waits since when (sched.h), pages of events (wait_export.h). Pure. */
#pragma once

#include "latency/sched.h"

#define HV_WAIT_TIMES_BOUNDS 14
/* A wait of exactly so long is in the bucket of that bound. */
extern const uint64_t hv_wait_times_bounds_ns[HV_WAIT_TIMES_BOUNDS];

struct hv_wait_times {
	uint64_t nr[HV_WAIT_TIMES_BOUNDS + 1]; /* of each bucket alone; the last: longer waits */
	uint64_t sum_ns;
	uint64_t nr_lost; /* events; more, if the pages do not say how many */
};

/* TASKS are as they were before the event M. */
void hv_wait_times_see(struct hv_wait_times *w, const struct hv_sched *tasks,
		       const struct hv_moment *m);
