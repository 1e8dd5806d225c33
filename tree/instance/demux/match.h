/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of the events that the drain takes out of the guest's rings an instance wants: by its
 * tracer, function, task, vCPU and tracing_on, and of function_graph by the calls that are open
 * (open_calls.h). Leaves to others: what becomes of the event (demux.h), tracers of sections and of
 * wakeups. */
#pragma once

#include "tree/instance/core/instance.h"

/* Whether IN records on CPU now. */
bool hv_records_on(const struct hv_instance *in, unsigned cpu);

/* Whether IN traces alone (hv_instances_single). Asked anew each time, unless it is known. */
bool hv_instance_is_single(const struct hv_instance *in);
/* To be called before an event of KIND is taken. Which instance traces alone depends on the
 * settings of all, which calls and returns do not change. Other events may (commands, triggers,
 * forks). */
void hv_instances_know_single(struct hv_instances *all, enum hv_event_kind kind);

/* Whether IN, if it were alone, would have recorded the call in EVENT. */
bool hv_would_record(const struct hv_instance *in, const struct hv_event *event);

/* Whether IN, which traces functions, wants EVENT, which is no call or return of function_graph. An
 * instance that traces alone gets all events: the guest has already left out what it does not want,
 * and has switched recording itself unless the host does that. */
bool hv_wants(const struct hv_instance *in, const struct hv_event *event);
/* Whether IN, whose tracer has neither sections nor wakeups, wants EVENT, a call, a return or a
 * stack. Sets the DEPTH that a call or return of function_graph has there. To be called once for
 * each event, in their order. */
bool hv_wants_traced(struct hv_instance *in, const struct hv_event *event, uint16_t *depth);
/* Which of the calls and returns in brief IN wants that come until a setting changes. */
enum hv_brief_wants { HV_WANTS_NONE, HV_WANTS_ALL, HV_WANTS_SOME };
enum hv_brief_wants hv_wants_of_briefs(const struct hv_instance *in);
/* hv_wants_traced() of NR calls and returns of CPU in brief, at most HV_BRIEFS_MAX: which of them,
 * a bit for each. Sets their depths. */
uint64_t hv_wants_briefs(struct hv_instance *in, unsigned cpu, struct hv_brief *briefs, size_t nr);

/* Whether IN wants EVENT, one of the guest's own. */
bool hv_wants_guests(const struct hv_instance *in, const struct hv_event *event);
