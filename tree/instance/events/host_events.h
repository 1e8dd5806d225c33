/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Host events (tracer/host_tracer.h) that instances have enabled. While there are any, the rings
 * are drained (demux.h), because the drain merges host events with guest events. publish.h has the
 * code that all events share. */
#pragma once

#include "tree/instance/core/instance.h"

extern const struct hv_part hv_host_events_part;

struct hv_event_type;

bool hv_host_events_is(const struct hv_event_type *type);
/* Publishes the host events that any instance wants. On error none is recorded. */
struct hv_err *hv_host_events_publish(struct hv_instances *all) hv_must_use;
/* Disables all host events in IN. Returns whether any was enabled. */
bool hv_host_events_take_away(struct hv_instance *in);
/* Returns whether IN wants EVENT, a host event. set_event_pid is ignored because its pids are the
 * guest's. */
bool hv_host_events_wants(const struct hv_instance *in, const struct hv_event *event);
