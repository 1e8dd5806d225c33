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
#include "tree/instance/events/skipped.h"

struct hv_event_type;

struct hv_event_ref hv_event_ref_of(const struct hv_event_type *type);

struct hv_event_switch {
	const struct hv_event_type **types; /* of the catalogue; borrowed */
	size_t nr;
	unsigned on; /* 0: they are switched off */
	/* The result, owned by the caller: which of them could not be switched on, and do not make
	 * the change fail. */
	struct hv_skipped left_out;
};

/* Switches events of IN. If some can be switched on and others cannot, those that can are on. The
 * error is that of the first that cannot, as in the kernel (__ftrace_set_clr_event_nolock), but
 * left out are, unless there are no others, types that never can and, of several, those that cannot
 * now: the guest is in the way (EBUSY), or has removed what a probe is for (ENODEV). */
struct hv_err *hv_instance_switch_events(struct hv_instance *in,
					 struct hv_event_switch *change) hv_must_use;
/* Returns whether the guest records REF for IN: it is on, or a trigger needs it, or a probe of it
 * does. Files show all of these (EVENT_FILE_FL_ENABLED). */
bool hv_instance_needs_event(const struct hv_instance *in, struct hv_event_ref ref);
/* Whether the guest records events of TYPE for any instance. */
bool hv_instances_want_event(const struct hv_instances *all, const struct hv_event_type *type);
/* Tells the session what all instances want after a change of IN's triggers. The error may be that
 * an event cannot be recorded. */
struct hv_err *hv_instance_publish_events(struct hv_instance *in) hv_must_use;
/* Switches all events of IN off. */
struct hv_err *hv_instance_end_events(struct hv_instance *in) hv_must_use;

/* Limits the events of IN to LIST, or to all tasks but those of LIST. On success IN owns what was
 * in *LIST, and *LIST is empty. */
struct hv_err *hv_instance_set_event_pids(struct hv_instance *in, enum hv_filter_list which,
					  struct hv_pidlist *list) hv_must_use;

/* Whether IN, if it were alone, would have recorded EVENT, an HV_EVENT_GUESTS, by its tasks. */
bool hv_instance_has_event_task(const struct hv_instance *in, const struct hv_event *event);

/* Modules were loaded or removed: forgets the events of those that are gone. */
void hv_instances_forget_events(struct hv_instances *all);
