/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Matches drained events with the settings of an instance: tracer, function, task, vCPU,
 * tracing_on, and for function_graph the open calls (open_calls.h). demux.h handles matching
 * events; section and wakeup tracers match their own events. */
#pragma once

#include "tree/instance/core/instance.h"

extern const struct hv_part hv_match_part;

/* Drops the open calls of IN's function_graph, which has stopped. */
void hv_match_end_graph(struct hv_instance *in);

/* Returns whether IN would have recorded the call in EVENT if it traced alone. */
bool hv_would_record(const struct hv_instance *in, const struct hv_event *event);

/* Returns whether IN, which traces functions, wants EVENT, which is not a call or return of
 * function_graph. An instance that traces alone gets all events, because the guest has already
 * applied its limits, and has switched recording itself unless the host does that. */
bool hv_wants(const struct hv_instance *in, const struct hv_event *event);
/* Returns whether IN, without a section or wakeup tracer, wants EVENT, a call, return or stack.
 * Sets *DEPTH, the depth in IN, for a call or return of function_graph. Call it once per event, in
 * order. */
bool hv_wants_traced(struct hv_instance *in, const struct hv_event *event, uint16_t *depth);
/* Which brief calls and returns IN wants until a setting changes. */
enum hv_brief_wants { HV_WANTS_NONE, HV_WANTS_ALL, HV_WANTS_SOME };
enum hv_brief_wants hv_wants_of_briefs(const struct hv_instance *in);
/* hv_wants_traced() for NR brief calls and returns of CPU, at most HV_BRIEFS_MAX. Returns one bit
 * for each, and sets their depths. */
uint64_t hv_wants_briefs(struct hv_instance *in, unsigned cpu, struct hv_brief *briefs, size_t nr);

/* Returns whether IN wants EVENT, a guest event. */
bool hv_wants_guests(const struct hv_instance *in, const struct hv_event *event);
