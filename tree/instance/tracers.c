/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracers by their names, and the tracers function and function_graph. */
#include <stddef.h>

#include "base/guard.h"
#include "kernel/kernel.h"
#include "tracer/events/host_buffer.h"
#include "tracer/guest/trampolines.h"
#include "tree/instance/core/instance.h"
#include "tree/instance/core/tracer.h"
#include "tree/instance/events/match.h"

/* -- lookup ------------------------------------------------------------------------------------ */

#define X(name_, id_, bit_, measures_) extern const struct hv_tracer_ops hv_tracer_##name_;
HV_TRACERS(X)
#undef X

static const struct hv_tracer_ops *const tracers[] = {
#define X(name_, id_, bit_, measures_) [HV_TRACER_##id_] = &hv_tracer_##name_,
	HV_TRACERS(X)
#undef X
};

const struct hv_tracer_ops *hv_tracer_ops(enum hv_tracer tracer)
{
	return tracers[tracer];
}

unsigned hv_tracers_missing(const struct hv_instance *in)
{
	unsigned missing = 0;

	for (size_t i = 0; i < HV_ARRAY_LEN(tracers); i++)
		if (tracers[i]->exists && !tracers[i]->exists(in, tracers[i]))
			missing |= 1u << i;
	return missing;
}

/* -- function and function_graph --------------------------------------------------------------- */

/* The tracers function and function_graph. events/match.h selects the calls of an instance. */

static void take(struct hv_instance *in, const struct hv_cursor *cursor,
		 const struct hv_event *event)
{
	uint16_t depth = event->depth;
	struct hv_event own;

	if (!hv_match_traced(in, event, &depth))
		return;
	own = *event;
	own.depth = depth;
	hv_buffer_put(hv_instance_buffers(in)->host, cursor, &own);
}

static uint8_t function_trampoline(const struct hv_instance *in, const struct hv_site *site)
{
	(void)site;
	return hv_options_on(hv_instance_options(in), HV_OPT_FUNC_STACK_TRACE)
		       ? HV_TRAMPOLINE_FUNCTION_STACK
		       : HV_TRAMPOLINE_FUNCTION;
}

const struct hv_tracer_ops hv_tracer_function = {
	HV_TRACER_IS(function, FUNCTION),
	.trampoline_of = function_trampoline,
	.take = take,
	.records_calls = 1,
	.starts_empty = 1,
};

/* -- function_graph ---------------------------------------------------------------------------- */

static bool graph_exists(const struct hv_instance *in, const struct hv_tracer_ops *ops)
{
	(void)ops;
	return hv_trampolines_have(hv_instance_session(in)->kernel, HV_TRAMPOLINE_GRAPH);
}

/* The guest measures call times in the same way for all instances. */
static struct hv_err *check_sleep_time(const struct hv_instance *in)
{
	bool sleep = hv_options_on(hv_instance_options(in), HV_OPT_SLEEP_TIME);

	for (const struct hv_instance *i = hv_instances_top(hv_instance_all(in)); i;
	     i = hv_instance_next(i)) {
		const char *name = hv_instance_name(i);

		if (i != in && hv_instance_tracer(i)->is_graph &&
		    hv_options_on(hv_instance_options(i), HV_OPT_SLEEP_TIME) != sleep)
			return hv_err_new(EBUSY,
					  "function_graph of %s%s has %ssleep-time: all instances "
					  "that trace function_graph must agree",
					  name ? "instances/" : "", name ? name : "the top",
					  sleep ? "no" : "");
	}
	return NULL;
}

/* set_graph_notrace overrides set_graph_function (trace_graph_entry). For several instances the
 * guest records every call, and the host determines subtrees (match.h). */
static uint8_t graph_trampoline(const struct hv_instance *in, const struct hv_site *site)
{
	const struct hv_filter *lists = hv_instance_selection(in)->lists;

	if (!hv_instances_single(hv_instance_all(in)))
		return HV_TRAMPOLINE_GRAPH;
	if (hv_filter_has(&lists[HV_LIST_GRAPH_NOTRACE], site->ip))
		return HV_TRAMPOLINE_GRAPH_NOTRACE;
	if (hv_filter_has(&lists[HV_LIST_GRAPH], site->ip))
		return HV_TRAMPOLINE_GRAPH_ROOT;
	return HV_TRAMPOLINE_GRAPH;
}

const struct hv_tracer_ops hv_tracer_function_graph = {
	HV_TRACER_IS(function_graph, FUNCTION_GRAPH),
	.exists = graph_exists,
	.check = check_sleep_time,
	.trampoline_of = graph_trampoline,
	.take = take,
	.records_calls = 1,
	.is_graph = 1,
};
