/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the tracers of sections show calls with the option display-graph (GRAPH_TRACER_FLAGS of
 * kernel/trace/trace_irqsoff.c): as function_graph does, but with columns of their own, and the
 * ends of a section as calls that take no time. */
#pragma once

#include "tree/format/graph.h"

/* Returns OPTIONS with those of the columns. style.h: graph_start_ns is to be set, too. */
struct hv_options hv_section_graph_options(const struct hv_options *options);
/* Adds the line of END, an end of a section. */
void hv_section_graph_end(struct hv_graph *g, struct hv_text *out, const struct hv_style *style,
			  const struct hv_event *end);
