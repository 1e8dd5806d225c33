/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The latency format: the header and the columns before each event with the option
 * latency-format (print_trace_header, print_lat_help_header, trace_print_lat_context). format.h
 * prints the events. */
#pragma once

#include "base/text.h"
#include "tracer/events/event.h"
#include "tree/format/style.h"

struct hv_latency {
	uint64_t start_ns; /* when the buffer was cleared; times are relative to it */
	uint64_t next_ns;  /* time of the next event; 0: there is none */
	uint64_t index;	   /* index of this event, from 0 */
};

/* Adds the part of the header after "# tracer: NAME". */
void hv_latency_header(struct hv_text *out, const struct hv_style *style,
		       const struct hv_header *header);
/* Adds the column titles, which all tracers except function_graph share. */
void hv_latency_columns(struct hv_text *out, const struct hv_style *style);
/* Adds the columns before the event itself: task, CPU, flags, time. */
void hv_latency_context(struct hv_text *out, const struct hv_style *style,
			const struct hv_event *event);
/* Returns the mark for a time of NS, or a blank (trace_find_mark). */
char hv_latency_mark(uint64_t ns);
