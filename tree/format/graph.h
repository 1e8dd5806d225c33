/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Renders calls and returns as function_graph text: a tree for each CPU, according to
 * trace_options. Makes names safe for a terminal. The caller selects and orders events. */
#pragma once

#include "base/text.h"
#include "tracer/events/event.h"
#include "tree/format/style.h"

/* State of one reader: for each CPU, the last task and the open calls. */
struct hv_graph;

/* KERNEL is borrowed. NR_CPUS determines the width of the CPU column. */
struct hv_graph *hv_graph_new(const struct hv_kernel *kernel, unsigned nr_cpus) hv_must_use;
void hv_graph_free(struct hv_graph *g);

/* Adds "# tracer: NAME" and the titles of the columns that the options select. HEADER is shown only
 * in latency format. */
void hv_graph_header(struct hv_text *out, const struct hv_style *style,
		     const struct hv_header *header);

/* Adds the line of an entry or an exit, with the lines around it, unless options hide it. NEXT is
 * the next event on the same CPU, or NULL if unknown. Returns whether NEXT was shown too because it
 * is E's return; the caller then skips it. */
bool hv_graph_event(struct hv_graph *g, struct hv_text *out, const struct hv_style *style,
		    const struct hv_event *e, const struct hv_event *next);

/* Adds NS as microseconds with up to three decimals (trace_print_graph_duration). */
void hv_graph_duration(struct hv_text *out, uint64_t ns);

/* Adds TEXT, which has no newline, as a comment among the calls. E is the commented event, not a
 * call. */
void hv_graph_comment(struct hv_graph *g, struct hv_text *out, const struct hv_style *style,
		      const struct hv_event *e, const char *text);

/* -- sections ---------------------------------------------------------------------------------- */

/* How section tracers show calls with the option display-graph (GRAPH_TRACER_FLAGS in
 * kernel/trace/trace_irqsoff.c): like function_graph, but with different columns, and with section
 * ends as calls without a duration. */

/* Returns OPTIONS with the column options replaced. The caller also sets graph_start_ns of struct
 * hv_style. */
struct hv_options hv_section_graph_options(const struct hv_options *options);
/* Adds the line of END, a section end. */
void hv_section_graph_end(struct hv_graph *g, struct hv_text *out, const struct hv_style *style,
			  const struct hv_event *end);
