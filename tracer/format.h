/* Events as the text of `trace` and `trace_pipe` (print_trace_line, trace_print_context,
 * trace_fn_trace), with the default trace_options. Names come out safe for a terminal.
 * Leaves to others: which events, in what order. */
#pragma once

#include "base/text.h"
#include "kernel/clock.h"
#include "tracer/event.h"

struct hv_kernel;

/* "# tracer: NAME" to the column titles. */
void hv_format_header(struct hv_text *out, const char *tracer, uint64_t in_buffer, uint64_t written,
		      unsigned nr_cpus);
/* LOST 0: an unknown number. */
void hv_format_lost(struct hv_text *out, unsigned cpu, uint64_t lost);
/* What is before the first line of a CPU in a buffer that ran over. */
void hv_format_started(struct hv_text *out, unsigned cpu);
/* One line. KERNEL gives names to addresses. */
void hv_format_event(struct hv_text *out, const struct hv_kernel *kernel, enum hv_clock_kind clock,
		     const struct hv_event *event);
