/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of the guest's own events the instances record. An event is on in the guest while any
 * instance wants it, and the host gives each instance its own (demux.h).
 *
 * The guest has one list of tasks, which set_ftrace_pid fills. It is for functions and not for
 * events, and set_event_pid the other way round. So if an instance with events has either, the
 * guest records all tasks and the host decides, as it does for several instances
 * (hv_instances_single).
 * Leaves to others: what switches an event on in the guest (tracer/event_tracer.h), the files
 * (tree/files/event_enable.c, set_event.c). */
#pragma once

#include "tree/instance/core/instance.h"
#include "tree/instance/publish.h"

struct hv_event_type;

/* Switches events of IN. If some can be switched on and others cannot, those that can are on. The
 * error is that of the first that cannot, as in the kernel (__ftrace_set_clr_event_nolock), but
 * left out are, unless there are no others, types that never can and, of several, those that cannot
 * now: the guest is in the way (EBUSY), or has removed what a probe is for (ENODEV). */
struct hv_err *hv_instance_switch_events(struct hv_instance *in,
					 struct hv_event_switch *change) hv_must_use;
/* Switches all events of IN off. */
struct hv_err *hv_instance_end_events(struct hv_instance *in) hv_must_use;

/* Modules were loaded or removed: forgets the events of those that are gone. */
void hv_instances_forget_events(struct hv_instances *all);
