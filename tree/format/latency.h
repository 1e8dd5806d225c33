/* The latency format: the header and what is before each event, as trace_options' latency-format
 * has them (print_trace_header, print_lat_help_header, trace_print_lat_context).
 * Leaves to others: events themselves (format.h), when it is chosen. */
#pragma once

#include "base/text.h"
#include "tracer/events/event.h"
#include "tree/format/style.h"

struct hv_latency {
	uint64_t start_ns; /* what times are counted from: when the buffer was emptied */
	uint64_t next_ns;  /* of the event after this one; 0: there is none */
	uint64_t index;	   /* of this event, from 0 on */
};

/* What comes after "# tracer: NAME". */
void hv_latency_header(struct hv_text *out, const struct hv_style *style,
		       const struct hv_header *header);
/* The titles of the columns of all tracers but function_graph. */
void hv_latency_columns(struct hv_text *out, const struct hv_style *style);
/* What is before the event itself: task, CPU, flags, time. */
void hv_latency_context(struct hv_text *out, const struct hv_style *style,
			const struct hv_event *event);
/* The mark of a time as long as NS, or a blank (trace_find_mark). */
char hv_latency_mark(uint64_t ns);
