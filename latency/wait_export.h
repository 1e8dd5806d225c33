/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computes how long tasks waited for a vCPU and vCPUs waited for a CPU of the host, from pages of
 * trace_pipe_raw. It is an export format that writes no file.
 *
 * It needs sched_switch and sched_waking of the guest or the host, and the guest's sched_wakeup_new
 * for the first waits of new tasks. It ignores other events. It recognizes vCPU threads of the host
 * by QEMU's names for them ("CPU 0/KVM").
 *
 * The caller reads the pages; cli/verbs has the settings. One thread. */
#pragma once

#include "export/export.h"
#include "latency/wait_times.h"

extern const struct hv_export_format hv_wait_format;

struct hv_wait_export_times {
	struct hv_wait_times tasks; /* tasks of the guest that wait for a vCPU */
	struct hv_wait_times vcpus; /* vCPUs that wait for a CPU of the host. Pages do not say which
				       events were lost, so both histograms count all losses. */
};

/* Returns the times of X, which must be open and of this format. The caller may change them. */
struct hv_wait_export_times *hv_wait_export_times(struct hv_export *x);
