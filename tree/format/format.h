/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Renders events as the text of trace and trace_pipe (print_trace_line, print_trace_context,
 * trace_fn_trace), according to trace_options. Makes names safe for a terminal. graph.h renders
 * function_graph calls; the caller selects and orders events. */
#pragma once

#include "base/text.h"
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

/* -- line starts ------------------------------------------------------------------------------- */

/* Cache for the start of recent lines: the text of task, CPU and flags, and the text of the time's
 * full seconds. A task has few different states, and a trace has many lines per second. format.c
 * makes the texts; symbol.h caches symbols. */

/* Maximum length of a part. Every part is copied with this length; bytes after its end are
 * ignored. */
#define HV_LINE_PART_MAX 56

struct hv_line_texts;

struct hv_line_texts *hv_line_texts_new(void) hv_must_use;
void hv_line_texts_free(struct hv_line_texts *t);
/* Clears the cache if OPTIONS differ from the previous call. OPTIONS are any bits that the texts
 * depend on. */
void hv_line_texts_of(struct hv_line_texts *t, uint64_t options);

/* Writes the text before the time in a line of E to AT, which has room for HV_LINE_PART_MAX.
 * Returns its end, or NULL if it is not cached. */
char *hv_line_texts_put_context(const struct hv_line_texts *t, const struct hv_event *e, char *at);
/* Caches that text: the part of OUT from START on. */
void hv_line_texts_keep_context(struct hv_line_texts *t, const struct hv_text *out, size_t start,
				const struct hv_event *e);

/* Writes TIME_NS in seconds, "%5u.%06u", to AT, which has room for HV_LINE_PART_MAX. Returns its
 * end. */
char *hv_line_texts_put_time(struct hv_line_texts *t, uint64_t time_ns, char *at);
