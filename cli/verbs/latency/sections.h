/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sections with interrupts or preemption off, for `hvtrace latency`: the tracer of its instance
 * keeps one that is longer than the threshold; it is taken, and the next one looked for. Leaves to
 * others: when they ended, by their stacks (latency/latency.h). */
#pragma once

#include "cli/client.h"
#include "latency/latency.h"

struct latency_sections {
	const char *tracer; /* NULL: none can be had */
	uint64_t threshold_us;
};

/* Sets the tracer of the instance DIR that sees most of those that this guest and its other
 * users allow. *RET_WHY, which the caller frees, says why there is none, or NULL. */
struct hv_err *latency_sections_begin(struct latency_sections *s, struct client *c, const char *dir,
				      uint64_t threshold_ns, char **ret_why) hv_must_use;
/* Gives L the section that was kept since the last call, if there is one. */
struct hv_err *latency_sections_take(struct latency_sections *s, struct client *c, const char *dir,
				     struct hv_latency *l) hv_must_use;
