/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The latency format: the header and the columns before each event when the option latency-format
 * is on (print_trace_header, print_lat_help_header, trace_print_lat_context).
 * Leaves to others: events themselves (format.h), when this format is used. */
#pragma once

#include "base/text.h"
#include "tracer/events/event.h"
#include "tree/format/style.h"

struct hv_latency {
	uint64_t start_ns; /* when the buffer was emptied; times are shown relative to it */
	uint64_t next_ns;  /* time of the event after this one; 0: there is none */
	uint64_t index;	   /* of this event; the first has 0 */
};

/* Adds the part of the header after "# tracer: NAME". */
void hv_latency_header(struct hv_text *out, const struct hv_style *style,
		       const struct hv_header *header);
/* Adds the titles of the columns, which all tracers but function_graph share. */
void hv_latency_columns(struct hv_text *out, const struct hv_style *style);
/* Adds the columns before the event itself: task, CPU, flags, time. */
void hv_latency_context(struct hv_text *out, const struct hv_style *style,
			const struct hv_event *event);
/* Returns the mark for a time of NS, or a blank (trace_find_mark). */
char hv_latency_mark(uint64_t ns);
