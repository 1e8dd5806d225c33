/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/section_graph.h"

#include "base/guard.h"

struct hv_options hv_section_graph_options(const struct hv_options *options)
{
	static const struct {
		enum hv_option option;
		unsigned on;
	} columns[] = {
		{HV_OPT_FUNCGRAPH_CPU, 1},	{HV_OPT_FUNCGRAPH_PROC, 1},
		{HV_OPT_FUNCGRAPH_DURATION, 1}, {HV_OPT_FUNCGRAPH_ABSTIME, 0},
		{HV_OPT_FUNCGRAPH_OVERHEAD, 0}, {HV_OPT_FUNCGRAPH_OVERRUN, 0},
		{HV_OPT_FUNCGRAPH_IRQS, 0},	{HV_OPT_FUNCGRAPH_TAIL, 0},
		{HV_OPT_FUNCGRAPH_RETVAL, 0},
	};
	struct hv_options shown = *options;

	for (size_t i = 0; i < HV_ARRAY_LEN(columns); i++)
		hv_options_set(&shown, columns[i].option, columns[i].on);
	return shown;
}

/* A section may end in interrupt entry code. This is not a hidden interrupt. */
void hv_section_graph_end(struct hv_graph *g, struct hv_text *out, const struct hv_style *style,
			  const struct hv_event *end)
{
	struct hv_options options = *style->options;
	struct hv_event entry = *end, exit = *end;
	struct hv_style shown = *style;

	hv_options_set(&options, HV_OPT_FUNCGRAPH_IRQS, 1);
	shown.options = &options;
	entry.kind = HV_EVENT_GRAPH_ENTRY;
	entry.depth = 0;
	exit.kind = HV_EVENT_GRAPH_EXIT;
	exit.call_ns = exit.time_ns;
	hv_graph_event(g, out, &shown, &entry, &exit);
}
