/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A histogram of how long tasks waited for a vCPU: from a wakeup or preemption until the task runs.
 * Waits of tasks not seen before are not counted; after events were lost, this applies to all
 * tasks.
 *
 * sched.h follows the states of tasks; wait_export.h reads the events. Pure. */
#pragma once

#include "latency/sched.h"

#define HV_WAIT_TIMES_BOUNDS 14
/* Upper bounds of the buckets, inclusive. */
extern const uint64_t hv_wait_times_bounds_ns[HV_WAIT_TIMES_BOUNDS];

struct hv_wait_times {
	/* Per bucket, not cumulative; the last bucket is for longer waits. */
	uint64_t nr[HV_WAIT_TIMES_BOUNDS + 1];
	uint64_t sum_ns;
	uint64_t nr_lost; /* lost events; a lower bound if pages do not count them */
};

/* Processes M. TASKS must not have processed M yet. */
void hv_wait_times_see(struct hv_wait_times *w, const struct hv_sched *tasks,
		       const struct hv_moment *m);
