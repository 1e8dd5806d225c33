/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How section tracers show calls with the option display-graph (GRAPH_TRACER_FLAGS in
 * kernel/trace/trace_irqsoff.c): like function_graph, but with different columns, and with section
 * ends as calls without a duration. */
#pragma once

#include "tree/format/graph.h"

/* Returns OPTIONS with the column options replaced. The caller also
 * sets graph_start_ns of struct hv_style. */
struct hv_options hv_section_graph_options(const struct hv_options *options);
/* Adds the line of END, a section end. */
void hv_section_graph_end(struct hv_graph *g, struct hv_text *out, const struct hv_style *style,
			  const struct hv_event *end);
