/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the formats of events have in common: how events are shown, and the contents of a header. */
#pragma once

#include <stdint.h>

#include "kernel/clock.h"
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
	const struct hv_kernel *kernel; /* gives names to addresses */
	enum hv_clock_kind clock;
	const struct hv_options *options;
	const struct hv_latency *latency; /* NULL: not in latency format */
	uint64_t graph_start_ns;	  /* calls have the time since then; 0: they have not */
	struct hv_symbol_texts *symbols;  /* kept texts; NULL: none are kept */
	struct hv_line_texts *line_texts; /* likewise, of the first parts of lines */
	struct hv_names *names;		  /* of tasks; NULL: only those of events are known */
	const struct hv_section *section; /* has names of its own; NULL: the kernel's are shown */
	struct hv_event_texts *events;	  /* NULL: no types of the guest's own events are known */
};

struct hv_header {
	const char *tracer;
	uint64_t entries; /* events in the buffer */
	uint64_t written; /* those and the events that were overwritten */
	unsigned nr_cpus;
	const struct hv_section *section; /* of a latency tracer; NULL: of no other tracer. A wait
					   * has no ends: their ip is 0 */
};

static inline bool hv_style_is_on(const struct hv_style *style, enum hv_option option)
{
	return hv_options_on(style->options, option);
}
