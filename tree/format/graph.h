/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Renders calls and returns as the text of function_graph: a tree for each CPU, according to
 * trace_options. Names are made safe for a terminal.
 * Leaves to others: which events, in what order. */
#pragma once

#include "base/text.h"
#include "tracer/events/event.h"
#include "tree/format/style.h"

/* The state of one reader's text: for each CPU, which task ran last and which calls are open. */
struct hv_graph;

/* KERNEL is borrowed. NR_CPUS determines the width of the column for the CPU. */
struct hv_graph *hv_graph_new(const struct hv_kernel *kernel, unsigned nr_cpus) hv_must_use;
void hv_graph_free(struct hv_graph *g);

/* Adds "# tracer: NAME" and the titles of the columns that the options select. HEADER is
 * shown only in latency format. */
void hv_graph_header(struct hv_text *out, const struct hv_style *style,
		     const struct hv_header *header);

/* Adds the line of an entry or an exit and the lines that belong around it, unless options hide it.
 * NEXT is the event after E on the same CPU, or NULL if it is not known. Returns whether NEXT was
 * shown with E because it is E's return; the caller then does not show NEXT again. */
bool hv_graph_event(struct hv_graph *g, struct hv_text *out, const struct hv_style *style,
		    const struct hv_event *e, const struct hv_event *next);

/* Adds NS as microseconds with three decimals, or as many as fit (trace_print_graph_duration). */
void hv_graph_duration(struct hv_text *out, uint64_t ns);

/* Adds TEXT, which has no newline, as a comment among the calls. E is an event of another kind. */
void hv_graph_comment(struct hv_graph *g, struct hv_text *out, const struct hv_style *style,
		      const struct hv_event *e, const char *text);
