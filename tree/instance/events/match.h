/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Matches drained events with the settings of an instance: tracer, function, task, vCPU,
 * tracing_on, and for function_graph the open calls (open_calls.h). demux.h handles matching
 * events; section and wakeup tracers match their own events. */
#pragma once

#include "tree/instance/core/instance.h"

/* Returns whether IN records on CPU now. */
bool hv_records_on(const struct hv_instance *in, unsigned cpu);

/* Returns whether IN is the only tracing instance (hv_instances_single). Uses the cached result if
 * it is valid. */
bool hv_instance_is_single(const struct hv_instance *in);
/* Call it before an event of KIND is processed. It caches hv_instances_single(), which depends on
 * all settings, for calls and returns because these change no setting. Other events may change
 * settings (commands, triggers, forks). */
void hv_instances_know_single(struct hv_instances *all, enum hv_event_kind kind);

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
