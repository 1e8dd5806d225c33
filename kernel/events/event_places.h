/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel functions and structure members that hvtrace's code in the guest needs for trace events:
 * the functions it replaces, and the members it shares with probes. probe_calls.h finds the calls
 * of these functions. */
#pragma once

#include "base/addr.h"
#include "base/err.h"

struct hv_kernel;

struct hv_event_places {
	struct hv_gva reserve; /* trace_event_buffer_reserve() */
	struct hv_gva commit;  /* trace_event_buffer_commit() */
	struct hv_gva release; /* frees the array of a tracepoint's probes later */
	struct hv_gva
		release_other; /* like release, for probes that may sleep; 0: the same function */
	/* Offsets in struct trace_event_buffer, which a probe has on its stack. */
	uint32_t buffer_file, buffer_event, buffer_entry;
	/* In struct task_struct: a u32 with architecture-specific flags for system calls of another
	 * ABI. */
	uint32_t task_status;
};

/* RELEASE and RELEASE_OTHER come from hv_release_calls. Fails with ENOENT and the reason if events
 * of this kernel cannot be recorded. */
struct hv_err *hv_event_places_find(const struct hv_kernel *k, struct hv_gva release,
				    struct hv_gva release_other,
				    struct hv_event_places *ret) hv_must_use;
