/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parameters that all event formats share, and the contents of a header. */
#pragma once

#include <stdint.h>

#include "kernel/clock/clock.h"
#include "tree/settings/options.h"

struct hv_event_texts;
struct hv_kernel;
struct hv_latency;
struct hv_line_texts;
struct hv_names;
struct hv_section;
struct hv_symbol_texts;

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
};

struct hv_header {
	const char *tracer;
	uint64_t entries; /* events in the buffer */
	uint64_t written; /* these plus the overwritten events */
	unsigned nr_cpus;
	const struct hv_section *section; /* NULL: no latency tracer; a wait's ends have ip 0 */
};

static inline bool hv_style_is_on(const struct hv_style *style, enum hv_option option)
{
	return hv_options_on(style->options, option);
}
