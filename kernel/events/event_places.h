/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What code of ours in the guest has to know of the kernel's trace events: functions that it stands
 * in for, and members of structures that probes share with them.
 * Leaves to others: which places call these functions (probe_calls.h). */
#pragma once

#include "base/addr.h"
#include "base/err.h"

struct hv_kernel;

struct hv_event_places {
	struct hv_gva reserve; /* trace_event_buffer_reserve() */
	struct hv_gva commit;  /* trace_event_buffer_commit() */
	struct hv_gva release; /* by which the array of a tracepoint's probes is freed later */
	struct hv_gva release_other; /* likewise where probes may sleep; 0: by the same */
	/* Offsets in struct trace_event_buffer, which a probe has on its stack. */
	uint32_t buffer_file, buffer_event, buffer_entry;
	/* In struct task_struct: a u32 whose flags, of each architecture's own, say that a task is
	 * in a system call of another ABI. */
	uint32_t task_status;
};

/* RELEASE, RELEASE_OTHER: of hv_release_calls. ENOENT: events of this kernel cannot be recorded;
 * the message says why. */
struct hv_err *hv_event_places_find(const struct hv_kernel *k, struct hv_gva release,
				    struct hv_gva release_other,
				    struct hv_event_places *ret) hv_must_use;
