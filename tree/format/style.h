/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code that all event formats share: their parameters, the contents of a header, the flags of an
 * event, and the columns of the latency format. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "kernel/clock/clock.h"
#include "tracer/events/event.h"
#include "tree/settings/options.h"

struct hv_event_texts;
struct hv_kernel;
struct hv_latency;
struct hv_line_texts;
struct hv_names;
struct hv_section;
struct hv_symbol_texts;
struct hv_user_objects;

/* All pointers are borrowed. */
struct hv_style {
	const struct hv_kernel *kernel; /* for symbols */
	enum hv_clock_kind clock;
	const struct hv_options *options;
	const struct hv_latency *latency; /* NULL: not in latency format */
	uint64_t graph_start_ns;	  /* calls show the time relative to this; 0: not shown */
	struct hv_symbol_texts *symbols;  /* cache; NULL: no cache */
	struct hv_line_texts *line_texts; /* cache of line starts; NULL: no cache */
	struct hv_names *names;		  /* task names; NULL: only those in events */
	const struct hv_section *section; /* has its own symbols; NULL: use the kernel's */
	struct hv_event_texts *events;	  /* NULL: guest event types are unknown */
	struct hv_user_objects *user_objects; /* files of programs; NULL: unknown */
};

struct hv_header {
	const char *tracer;
	uint64_t entries; /* events in the buffer */
	uint64_t written; /* ENTRIES plus the overwritten events */
	unsigned nr_cpus;
	const struct hv_section *section; /* NULL: no latency tracer; a wait's ends have ip 0 */
};

static inline bool hv_style_is_on(const struct hv_style *style, enum hv_option option)
{
	return hv_options_on(style->options, option);
}

/* -- flags ------------------------------------------------------------------------------------- */

/* The flags of an event, one letter each for interrupts, rescheduling, context and depths, and the
 * slanted titles above the letters:
 *
 *     _--=> irqs-off
 *    / _-=> need-resched
 *   | /     delay
 *
 * PREEMPT_RT before 6.12 has two more letters, for its own lazy preemption (layout.has_lazy). */

struct hv_flag_columns {
	bool has_cpu;	 /* the CPU's number comes first */
	bool has_lazy;	 /* has letters for lazy preemption */
	int indent;	 /* blanks between # and the first column */
	int title_width; /* minimum width of a title */
};

void hv_flags_titles(struct hv_text *out, const struct hv_flag_columns *columns);
void hv_flags_letters(struct hv_text *out, const struct hv_style *style,
		      const struct hv_event *event);

/* -- the latency format ------------------------------------------------------------------------ */

/* The latency format: the header and the columns before each event with the option
 * latency-format (print_trace_header, print_lat_help_header, trace_print_lat_context). format.h
 * prints the events. */

struct hv_latency {
	uint64_t start_ns; /* when the buffer was cleared; times are relative to it */
	uint64_t next_ns;  /* time of the next event; 0: this is the last one */
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
