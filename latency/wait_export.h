/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages of trace_pipe_raw to times that tasks waited for a vCPU, and vCPUs for a CPU of the host: a
 * format of export/ that writes no file. It needs the events sched_switch and sched_waking, of the
 * guest, and sched_wakeup_new for the first waits of new tasks, or of the host; others are ignored.
 * A thread of the host is a vCPU's if it is named as QEMU names them ("CPU 0/KVM").
 * Leaves to others: the pages, the settings (cli/verbs). One thread. */
#pragma once

#include "export/export.h"
#include "latency/wait_times.h"

extern const struct hv_export_format hv_wait_format;

struct hv_wait_export_times {
	struct hv_wait_times tasks; /* of the guest, for a vCPU */
	struct hv_wait_times vcpus; /* for a CPU of the host; pages do not say which of the two was
				       lost, so both count all that was */
};

/* The times of X, which is of this format and open. The caller may set them. */
struct hv_wait_export_times *hv_wait_export_times(struct hv_export *x);
