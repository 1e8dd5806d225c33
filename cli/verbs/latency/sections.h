/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sections with interrupts or preemption off, for `hvtrace latency`. The tracer of its instance
 * keeps the longest section above the threshold. latency_sections_take() reads that section and
 * resets the tracer. latency/latency.h finds the ends of sections from stacks. */
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
