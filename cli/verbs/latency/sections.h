/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sections with interrupts or preemption off, for `hvtrace latency`. The tracer of its instance
 * keeps one section longer than the threshold; each time, this takes it and looks for the next one.
 * latency/latency.h finds their ends from stacks. */
#pragma once

#include "cli/client.h"
#include "latency/latency.h"

struct latency_sections {
	const char *tracer; /* NULL: no tracer is available */
	uint64_t threshold_us;
};

/* Selects the tracer for the instance DIR that covers most sections, as far as this guest and its
 * other users allow. *RET_WHY, which the caller frees, explains a failure; NULL on success. */
struct hv_err *latency_sections_begin(struct latency_sections *s, struct client *c, const char *dir,
				      uint64_t threshold_ns, char **ret_why) hv_must_use;
/* Passes to L the section kept since the last call, if any. */
struct hv_err *latency_sections_take(struct latency_sections *s, struct client *c, const char *dir,
				     struct hv_latency *l) hv_must_use;
