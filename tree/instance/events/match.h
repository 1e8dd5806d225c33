/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Matches drained events with the settings of an instance: tracer, function, task, vCPU,
 * tracing_on, and for function_graph the open calls (below). demux.h handles matching events;
 * section and wakeup tracers match their own events. Also selects the events of the host that
 * instances want. */
#pragma once

#include "base/addr.h"
#include "tracer/events/event.h"
#include "tree/instance/core/instance.h"

struct hv_open_calls;

extern const struct hv_part hv_match_part;

/* Drops the open calls of IN's function_graph, which has stopped. */
void hv_match_end_graph(struct hv_instance *in);

/* Returns whether IN would have recorded the call in EVENT if it traced alone. */
bool hv_would_record(const struct hv_instance *in, const struct hv_event *event);

/* Returns whether IN, which traces functions, wants EVENT, which is not a call or return of
 * function_graph. An instance that traces alone gets all events, because the guest has already
 * applied its limits. The guest has applied tracing_on, too, unless the host executes function
 * commands. */
bool hv_matches(const struct hv_instance *in, const struct hv_event *event);
/* Returns whether IN, without a section or wakeup tracer, wants EVENT, a call, return or stack.
 * Sets *DEPTH, the depth in IN, for a call or return of function_graph. Call it once per event, in
 * order. */
bool hv_match_traced(struct hv_instance *in, const struct hv_event *event, uint16_t *depth);
/* Which brief calls and returns IN wants until a setting changes. */
enum hv_brief_match { HV_MATCH_NONE, HV_MATCH_ALL, HV_MATCH_SOME };
enum hv_brief_match hv_match_of_briefs(const struct hv_instance *in);
/* hv_match_traced() for NR brief calls and returns of CPU, at most HV_BRIEFS_MAX. Returns one bit
 * for each, and sets their depths. */
uint64_t hv_match_briefs(struct hv_instance *in, unsigned cpu, struct hv_brief *briefs, size_t nr);

/* Returns whether IN wants EVENT, a guest event. */
bool hv_matches_guests(const struct hv_instance *in, const struct hv_event *event);

/* -- open calls -------------------------------------------------------------------------------- */

/* The open function_graph calls of one instance, while the guest records calls for several
 * instances. A return belongs to the instances that its call belongs to.
 *
 *   guest depth 0  do_sys_open {                  not wanted by this instance
 *               1    vfs_open {                   open call, depth 0 in the instance
 *               2      security_file_open {       not wanted
 *               3        kmem_cache_alloc {       open call, depth 1
 *
 * A call at some depth closes all open calls at this depth or deeper: their returns were lost, or
 * the task died. hv_match_traced() decides which calls belong to the instance. */

struct hv_open_call {
	struct hv_gva ip;
	uint16_t guest_depth; /* depth in the guest's events */
	uint16_t depth;	      /* depth in the instance's events */
	uint8_t inside;	      /* is in set_graph_function, or is called by such a function */
	uint8_t muted; /* is in set_graph_notrace: its callees do not belong to the instance */
};

/* SWITCHES is the function that switches between tasks. Its callees still run in the name of the
 * previous task when they are already on the next task's stack. */
struct hv_open_calls *hv_open_calls_new(struct hv_gva_range switches);
void hv_open_calls_free(struct hv_open_calls *o);

/* Call it for every HV_EVENT_GRAPH_ENTRY. Returns the innermost open call around that call, or
 * NULL. Borrowed, valid until the next call of these functions. */
const struct hv_open_call *hv_open_calls_around(struct hv_open_calls *o,
						const struct hv_event *entry);
/* Adds the call ENTRY, the last one passed to hv_open_calls_around(). Sets ip and guest_depth of
 * CALL. */
void hv_open_calls_add(struct hv_open_calls *o, const struct hv_event *entry,
		       struct hv_open_call call);
/* Call it for every HV_EVENT_GRAPH_EXIT. If its call was open, removes it, stores it in *RET and
 * returns true. */
bool hv_open_calls_end(struct hv_open_calls *o, const struct hv_event *exit,
		       struct hv_open_call *ret);

/* -- events of the host ------------------------------------------------------------------------ */

/* Host events (tracer/host_tracer.h) that instances have enabled. While there are any, the rings
 * are drained (demux.h), because the drain merges host events with guest events. publish.h has the
 * code that all events share. */

struct hv_event_type;

bool hv_host_events_is(const struct hv_event_type *type);
/* Publishes the host events that any instance wants. On error none is recorded. */
struct hv_err *hv_host_events_publish(struct hv_instances *all) hv_must_use;
/* Disables all host events in IN. Returns whether any was enabled. */
bool hv_host_events_take_away(struct hv_instance *in);
/* Returns whether IN wants EVENT, a host event. set_event_pid is ignored because its pids are the
 * guest's. */
bool hv_host_events_match(const struct hv_instance *in, const struct hv_event *event);
