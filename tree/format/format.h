/* Events as the text of `trace` and `trace_pipe` (print_trace_line, trace_print_context,
 * trace_fn_trace), as trace_options say. Names come out safe for a terminal.
 * Leaves to others: which events, in what order. */
#pragma once

#include "base/text.h"
#include "kernel/clock.h"
#include "tracer/event.h"
#include "tree/settings/options.h"

struct hv_kernel;
struct hv_latency;

/* How events are shown. All borrowed. */
struct hv_style {
	const struct hv_kernel *kernel; /* gives names to addresses */
	enum hv_clock_kind clock;
	const struct hv_options *options;
	const struct hv_latency *latency; /* NULL: not in latency format */
};

/* "# tracer: NAME" to the column titles, as far as the options have them. */
void hv_format_header(struct hv_text *out, const struct hv_style *style, const char *tracer,
		      uint64_t in_buffer, uint64_t written, unsigned nr_cpus);
/* LOST 0: an unknown number. */
void hv_format_lost(struct hv_text *out, unsigned cpu, uint64_t lost);
/* What is before the first line of a CPU in a buffer that ran over. */
void hv_format_started(struct hv_text *out, unsigned cpu);
/* What is before the event itself: task, CPU, flags, time. */
void hv_format_context(struct hv_text *out, const struct hv_style *style,
		       const struct hv_event *event);
/* Interrupts, rescheduling, context, depths: five characters; seven of a kernel with lazy
 * preemption of its own (layout.has_lazy). */
void hv_format_flags(struct hv_text *out, const struct hv_style *style,
		     const struct hv_event *event);
/* What is marked about a time that long (trace_find_mark). */
char hv_format_delay(uint64_t ns);
/* NAME, NAME+0xOFF/0xSIZE, and its address behind, as the options say. */
void hv_format_symbol(struct hv_text *out, const struct hv_style *style, struct hv_gva addr);
/* A marker as function_graph has it among its calls: without its name and the last newline. OUT is
 * empty. */
void hv_format_comment(struct hv_text *out, const struct hv_event *event);
/* One line; with `bin` bytes that are no text. */
void hv_format_event(struct hv_text *out, const struct hv_style *style,
		     const struct hv_event *event);
