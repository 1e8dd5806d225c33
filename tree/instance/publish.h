/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads which of the guest's own events all parts of all instances need, and tells the session: the
 * types that are on, those with stacks, what the stubs read of memory, and what they leave out by
 * filters that compare numbers (tree/settings/filter_program.h). What passes is filtered again by
 * each instance (event_filters.h).
 *
 * The guest leaves out nothing of an event that anything needs besides instances that have it on
 * with a filter: a trigger, a histogram, a probe of it, a tracer of wakeups, lists of tasks that
 * follow forks, or system calls that are made of it.
 * Leaves to others: how parts say what they need (core/part.h), sites, tasks and commands of
 * functions (sites.h, tasks.h, commands.h). */
#pragma once

#include "tree/instance/core/instance.h"
#include "tree/instance/events/skipped.h"

struct hv_event_type;

struct hv_event_switch {
	const struct hv_event_type **types; /* of the catalogue; borrowed */
	size_t nr;
	unsigned on; /* 0: they are switched off */
	/* The result, owned by the caller: which of them could not be switched on, and do not make
	 * the change fail. */
	struct hv_skipped left_out;
};

/* Tells the session what all instances want after CHANGE of IN's events. *RET_REFUSED is why events
 * of IN cannot be recorded that are not left out of the change. */
struct hv_err *hv_publish_switch(struct hv_instance *in, struct hv_event_switch *change,
				 struct hv_err **ret_refused) hv_must_use;
/* Takes TYPE, which cannot be recorded, away from IN. Who names several events gets the others. */
void hv_event_switch_refuse(struct hv_instance *in, struct hv_event_switch *change,
			    const struct hv_event_type *type, struct hv_err *why,
			    struct hv_err **first);

/* As hv_instance_publish_events() and hv_instances_publish_filter(). */
struct hv_err *hv_publish_events(struct hv_instance *in) hv_must_use;
void hv_publish_filter(const struct hv_instances *all, const struct hv_event_type *type);
