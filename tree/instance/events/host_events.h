/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of the host (tracer/host_tracer.h) that instances have on. While one has, the rings are
 * shared (demux.h), since the drain puts them into their place between the guest's.
 * Leaves to others: everything that all events have in common (events.h). */
#pragma once

#include "tree/instance/core/instance.h"

extern const struct hv_part hv_host_events_part;

struct hv_event_type;

bool hv_host_events_is(const struct hv_event_type *type);
/* Tells the session which of them all instances want. On errors none is recorded. */
struct hv_err *hv_host_events_publish(struct hv_instances *all) hv_must_use;
/* Takes all of them away from IN. Returns whether it had any. */
bool hv_host_events_take_away(struct hv_instance *in);
/* Whether IN wants EVENT, which is of the host. The tasks of set_event_pid are the guest's, and do
 * not matter here. */
bool hv_host_events_wants(const struct hv_instance *in, const struct hv_event *event);
