/* The latency format: the header and what is before each event, as trace_options' latency-format
 * has them (print_trace_header, print_lat_help_header, trace_print_lat_context).
 * Leaves to others: events themselves (format.h), when it is chosen. */
#pragma once

#include "tree/format/format.h"

struct hv_latency {
	uint64_t start_ns; /* what times are counted from: when the buffer was emptied */
	uint64_t next_ns;  /* of the event after this one; 0: there is none */
	uint64_t index;	   /* of this event, from 0 on */
};

struct hv_latency_header {
	const char *tracer;
	uint64_t entries;
	uint64_t total; /* with those that were overwritten */
	unsigned nr_cpus;
};

/* Behind "# tracer: NAME": what the buffer is about. */
void hv_latency_header(struct hv_text *out, const struct hv_style *style,
		       const struct hv_latency_header *header);
/* The titles of the columns of all tracers but function_graph. */
void hv_latency_columns(struct hv_text *out, const struct hv_style *style);
void hv_latency_context(struct hv_text *out, const struct hv_style *style,
			const struct hv_event *e);
