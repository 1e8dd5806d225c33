/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Selects the guest events that instances record. An event is enabled in the guest while any
 * instance wants it, and the host gives each instance its own events (demux.h).
 *
 * The guest has only one list of tasks, which contains set_ftrace_pid. But set_ftrace_pid limits
 * only functions, and set_event_pid only events. So if an instance with events uses either, the
 * guest records all tasks and the host filters, as for several instances (hv_instances_single).
 * tracer/event_tracer.h enables events in the guest; tree/files/event_enable.c and set_event.c have
 * the files. */
#pragma once

#include "tree/instance/core/instance.h"
#include "tree/instance/publish.h"

struct hv_event_type;

/* Switches events of IN. Enables those that can be enabled, and returns the error of the first that
 * cannot, as in the kernel (__ftrace_set_clr_event_nolock). If other events remain, CHANGE skips
 * without an error: types that can never be recorded, and, if several events are named, those that
 * cannot be recorded now because the guest uses them (EBUSY) or has removed what a probe is for
 * (ENODEV). */
struct hv_err *hv_instance_switch_events(struct hv_instance *in,
					 struct hv_event_switch *change) hv_must_use;
/* Disables all events of IN. */
struct hv_err *hv_instance_end_events(struct hv_instance *in) hv_must_use;

/* Call it after modules were loaded or removed: drops the events of removed modules. */
void hv_instances_forget_events(struct hv_instances *all);
