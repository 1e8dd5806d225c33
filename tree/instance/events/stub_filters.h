/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the guest itself leaves out by the filters of events: what no instance wants, as far as that
 * is told by filters that compare numbers (tree/settings/filter_program.h). What passes is filtered
 * again by each instance (event_filters.h).
 *
 * The guest leaves out nothing of an event that anything needs besides instances that have it on
 * with a filter: a trigger, a histogram, a probe of it, a tracer of wakeups, lists of tasks that
 * follow forks, or system calls that are made of it.
 * Leaves to others: telling the stubs (tracer/event_tracer.h). */
#pragma once

#include "tree/instance/core/instance.h"

struct hv_event_type;
struct hv_stub_filter;

/* Returns whether the guest may leave out events of TYPE, which it records as such: those that *RET
 * does not let pass. */
bool hv_stub_filter_find(const struct hv_instances *all, const struct hv_event_type *type,
			 struct hv_stub_filter *ret);

/* Tells the session what it may leave out of the events of TYPE, after a filter has changed. Before
 * more of them are wanted for other reasons, all events are published anew (events.h). */
void hv_stub_filter_publish(const struct hv_instances *all, const struct hv_event_type *type);
