/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A histogram of how long tasks waited for a vCPU: from a wakeup or preemption until the task runs.
 * Waits of tasks not seen before are not counted; after events were lost, this applies to all
 * tasks.
 *
 * sched.h follows the states of tasks. One thread. */
#pragma once

#include "export/export.h"
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

/* -- the export format ------------------------------------------------------------------------- */

/* Computes how long tasks waited for a vCPU and vCPUs waited for a CPU of the host, from pages of
 * trace_pipe_raw. It is an export format that writes no file.
 *
 * It needs sched_switch and sched_waking of the guest or the host, and the guest's sched_wakeup_new
 * for the first waits of new tasks. It ignores other events. It recognizes vCPU threads of the host
 * by QEMU's names for them ("CPU 0/KVM").
 *
 * The caller reads the pages; cli/verbs has the settings. */

extern const struct hv_export_format hv_wait_format;

struct hv_wait_export_times {
	struct hv_wait_times tasks; /* tasks of the guest that wait for a vCPU */
	struct hv_wait_times vcpus; /* vCPUs that wait for a CPU of the host. Pages do not show
				       which events were lost, so both histograms count all losses. */
};

/* Returns the times of X, which must be open and of this format. The caller may change them. */
struct hv_wait_export_times *hv_wait_export_times(struct hv_export *x);
