/* Events as the text of trace and trace_pipe (print_trace_line, print_trace_context,
 * trace_fn_trace), as trace_options say. Names come out safe for a terminal.
 * Leaves to others: calls of function_graph (graph.h); which events, in what order. */
#pragma once

#include "base/text.h"
#include "kernel/sites.h"
#include "tracer/events/event.h"
#include "tree/format/style.h"

/* "# tracer: NAME" to the column titles, as far as the options have them. */
void hv_format_header(struct hv_text *out, const struct hv_style *style,
		      const struct hv_header *header);
/* One line. With the option bin it is bytes that are no text. */
void hv_format_event(struct hv_text *out, const struct hv_style *style,
		     const struct hv_event *event);
/* A marker as function_graph has it among its calls: without its name and the last newline. OUT is
 * empty. */
void hv_format_comment(struct hv_text *out, const struct hv_event *event);
/* A line about events of CPU that were lost. LOST 0: an unknown number. */
void hv_format_lost(struct hv_text *out, unsigned cpu, uint64_t lost);
/* The line before the first event of CPU in a buffer that ran over. */
void hv_format_started(struct hv_text *out, unsigned cpu);
