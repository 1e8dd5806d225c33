/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Renders events as the text of trace and trace_pipe (print_trace_line, print_trace_context,
 * trace_fn_trace), according to trace_options. Makes names safe for a terminal. graph.h renders
 * function_graph calls; the caller selects and orders events. */
#pragma once

#include "base/text.h"
#include "kernel/sites/sites.h"
#include "tracer/events/event.h"
#include "tree/format/style.h"

/* Adds the header, from "# tracer: NAME" to the titles of the columns that the options select. */
void hv_format_header(struct hv_text *out, const struct hv_style *style,
		      const struct hv_header *header);
/* Adds one line. With the option bin, adds binary data. */
void hv_format_event(struct hv_text *out, const struct hv_style *style,
		     const struct hv_event *event);
/* Adds a marker, without its name, or a guest event, in the form that function_graph shows among
 * its calls: without the last newline. OUT must be empty. */
void hv_format_comment(struct hv_text *out, const struct hv_style *style,
		       const struct hv_event *event);
/* Adds a line about lost events of CPU. LOST 0: unknown number. */
void hv_format_lost(struct hv_text *out, unsigned cpu, uint64_t lost);
/* Adds the line before the first event of CPU in a buffer whose oldest events were overwritten. */
void hv_format_started(struct hv_text *out, unsigned cpu);
