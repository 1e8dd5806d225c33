/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/events/match.h"

#include "kernel/kernel.h"
#include "tracer/session.h"
#include "tree/instance/core/recording.h"
#include "tree/instance/events/event_filters.h"
#include "tree/instance/events/event_pids.h"
#include "tree/instance/events/open_calls.h"

/* IN's open calls, or NULL. */
static struct hv_open_calls *open_calls_of(const struct hv_instance *in)
{
	return hv_instance_state(in, HV_PART_MATCH);
}

void hv_match_end_graph(struct hv_instance *in)
{
	hv_open_calls_free(open_calls_of(in));
	hv_instance_set_state(in, HV_PART_MATCH, NULL);
}

const struct hv_part hv_match_part = {
	.deinit = hv_match_end_graph,
	.returns_rings = hv_match_end_graph,
};

bool hv_would_record(const struct hv_instance *in, const struct hv_event *event)
{
	const struct hv_selection *sel = hv_instance_selection(in);

	return hv_instance_takes_on(in, event->cpu) && hv_selection_has_function(sel, event->ip) &&
	       hv_selection_has_task(sel, event->pid);
}

/* Returns whether IN wants EVENT while several instances trace. */
static bool wants_of_several(const struct hv_instance *in, const struct hv_event *event)
{
	bool stacks = hv_options_on(hv_instance_options(in), HV_OPT_FUNC_STACK_TRACE);

	return (event->kind != HV_EVENT_STACK || stacks) && hv_would_record(in, event);
}

/* Returns whether IN wants events while it traces alone. */
static bool wants_alone(const struct hv_instance *in)
{
	return !hv_recording_host_has_commands(hv_instance_all(in)) || hv_instance_takes(in);
}

bool hv_wants(const struct hv_instance *in, const struct hv_event *event)
{
	return hv_instance_is_single(in) ? wants_alone(in) : wants_of_several(in, event);
}

bool hv_wants_guests(const struct hv_instance *in, const struct hv_event *event)
{
	if (!hv_event_set_has_id(hv_instance_events(in), event->id))
		return false;
	if (hv_instance_is_single(in)
		    ? hv_recording_host_has_commands(hv_instance_all(in)) && !hv_instance_takes(in)
		    : !hv_instance_takes_on(in, event->cpu) ||
			      !hv_instance_has_event_task(in, event))
		return false;
	return hv_instance_filters_pass(in, event);
}

/* -- calls of function_graph ------------------------------------------------------------------- */

/* Returns whether options of IN exclude CALL, recorded as ENTRY. AROUND is IN's open call around
 * it, or NULL. The stubs do the same for an instance that traces alone (arch/x86_64/graph.S). */
static bool is_left_out(const struct hv_instance *in, const struct hv_open_call *around,
			const struct hv_event *entry, const struct hv_open_call *call)
{
	bool subtree = hv_instance_selection(in)->lists[HV_LIST_GRAPH].nr;
	bool irqs = hv_options_on(hv_instance_options(in), HV_OPT_FUNCGRAPH_IRQS);
	bool was_inside = around && around->inside;
	uint32_t max_depth = hv_instances_top_settings(hv_instance_all(in))->max_graph_depth;

	if (!irqs && (entry->flags & HV_TRACE_HARDIRQ) && !was_inside && !(subtree && call->inside))
		return true;
	if (subtree && !call->inside && !call->muted)
		return true;
	return max_depth && call->depth >= max_depth;
}

/* Returns whether IN wants ENTRY, and sets *DEPTH, its depth in IN. */
static bool takes_entry(const struct hv_instance *in, struct hv_open_calls *open,
			const struct hv_event *entry, uint16_t *depth)
{
	const struct hv_filter *lists = hv_instance_selection(in)->lists;
	const struct hv_open_call *around = hv_open_calls_around(open, entry);
	struct hv_open_call call = {
		.muted = hv_filter_has(&lists[HV_LIST_GRAPH_NOTRACE], entry->ip),
		.depth = around ? around->depth + 1 : 0,
	};

	call.inside = (around && around->inside) ||
		      (!call.muted && hv_filter_has(&lists[HV_LIST_GRAPH], entry->ip));
	if (hv_instance_is_single(in)) {
		call.depth = entry->depth;
	} else if ((around && around->muted) || !hv_would_record(in, entry) ||
		   is_left_out(in, around, entry, &call)) {
		return false;
	}
	hv_open_calls_add(open, entry, call);
	*depth = call.depth;
	return !call.muted && !hv_instances_top_settings(hv_instance_all(in))->thresh_ns;
}

/* A return belongs to the instances that its call belongs to. For an instance that traces alone,
 * the call may have started before its calls were tracked here. */
static bool takes_exit(const struct hv_instance *in, struct hv_open_calls *open,
		       const struct hv_event *exit, uint16_t *depth)
{
	bool without_host = hv_options_on(hv_instance_options(in), HV_OPT_FUNCGRAPH_HOST);
	uint64_t ns = exit->time_ns - exit->call_ns - (without_host ? exit->host_ns : 0);
	struct hv_open_call call;
	bool found = hv_open_calls_end(open, exit, &call);

	if (hv_instance_is_single(in))
		return found || hv_selection_has_function(hv_instance_selection(in), exit->ip);
	if (!found || call.muted || !hv_instance_takes_on(in, exit->cpu) ||
	    ns < hv_instances_top_settings(hv_instance_all(in))->thresh_ns)
		return false;
	*depth = call.depth;
	return true;
}

static struct hv_open_calls *new_open_calls(const struct hv_kernel *k)
{
	struct hv_gva_range switches = {0};

	if (hv_kernel_symbol(k, "__switch_to", &switches.start))
		switches.end = hv_gva_add(switches.start, hv_kernel_symbol_size(k, switches.start));
	return hv_open_calls_new(switches);
}

/* Returns whether IN, which traces function_graph, wants EVENT, and sets *DEPTH. */
static bool wants_call(struct hv_instance *in, const struct hv_event *event, uint16_t *depth)
{
	struct hv_open_calls *open = open_calls_of(in);

	if (!open) {
		open = new_open_calls(hv_instance_session(in)->kernel);
		hv_instance_set_state(in, HV_PART_MATCH, open);
	}
	if (event->kind == HV_EVENT_GRAPH_ENTRY)
		return takes_entry(in, open, event, depth) &&
		       (!hv_instance_is_single(in) || hv_wants(in, event));
	return takes_exit(in, open, event, depth) &&
	       (!hv_instance_is_single(in) || hv_wants(in, event));
}

bool hv_wants_traced(struct hv_instance *in, const struct hv_event *event, uint16_t *depth)
{
	bool is_call = event->kind == HV_EVENT_GRAPH_ENTRY || event->kind == HV_EVENT_GRAPH_EXIT;
	bool is_graph = hv_instance_tracer(in)->is_graph;

	if (!hv_instance_tracer(in)->records_calls ||
	    (is_call != is_graph && !hv_instance_is_single(in)))
		return false;
	return is_call && is_graph ? wants_call(in, event, depth) : hv_wants(in, event);
}

enum hv_brief_wants hv_wants_of_briefs(const struct hv_instance *in)
{
	if (!hv_instance_tracer(in)->records_calls)
		return HV_WANTS_NONE;
	if (hv_instance_tracer(in)->is_graph || !hv_instance_is_single(in))
		return HV_WANTS_SOME;
	return wants_alone(in) ? HV_WANTS_ALL : HV_WANTS_NONE;
}

uint64_t hv_wants_briefs(struct hv_instance *in, unsigned cpu, struct hv_brief *briefs, size_t nr)
{
	struct hv_event event = {.cpu = cpu};
	uint64_t which = 0;

	for (size_t i = 0; i < nr; i++) {
		event.kind = briefs[i].kind;
		event.time_ns = briefs[i].time_ns;
		event.pid = briefs[i].pid;
		event.flags = briefs[i].flags;
		event.ip = briefs[i].ip;
		event.parent_ip = briefs[i].parent_ip;
		event.depth = briefs[i].depth;
		event.call_ns = briefs[i].call_ns;
		if (hv_wants_traced(in, &event, &briefs[i].depth))
			which |= UINT64_C(1) << i;
	}
	return which;
}
