/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/core/running.h"

#include "tree/instance/core/state.h"

uint32_t hv_instance_tracer_need(const struct hv_instance *in, const struct hv_tracer_ops *tracer)
{
	uint32_t need = 1u << tracer->id;

	if (!tracer->measures || !hv_options_on(&in->options, HV_OPT_FUNCTION_TRACE))
		return need;
	if (tracer->measures == HV_MEASURES_SECTIONS &&
	    hv_options_on(&in->options, HV_OPT_DISPLAY_GRAPH))
		return need | HV_RIGHT_GRAPH;
	return need | HV_RIGHT_FUNCTIONS;
}

static uint32_t running(const struct hv_instance *in)
{
	return hv_instance_tracer_need(in, in->selection.tracer) |
	       (in->profiles ? HV_RIGHT_GRAPH : 0);
}

uint32_t hv_instance_end_need(const struct hv_instance *in)
{
	return running(in) | (hv_instance_has_events(in) ? HV_RIGHT_EVENTS : 0) |
	       (in->probes.nr ? HV_RIGHT_FUNCTIONS : 0);
}

uint32_t hv_instance_need(const struct hv_instance *in, uint32_t need)
{
	uint32_t rest = need & ~(HV_NEED_RUNNING | HV_NEED_ALL_RUNNING);

	if (need & HV_NEED_RUNNING)
		rest |= running(in);
	for (const struct hv_instance *i = &in->all->top; i && (need & HV_NEED_ALL_RUNNING);
	     i = i->next)
		rest |= running(i);
	return rest;
}
