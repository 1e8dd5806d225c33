/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computes the guest events that all parts of all instances need, and passes them to the session:
 * enabled types, types with stacks, memory that stubs read, and filters that stubs apply
 * (tree/settings/filter_program.h). Each instance filters the recorded events again
 * (event_filters.h).
 *
 * The guest applies filters only if nothing needs the event except instances that enabled it with a
 * filter. Triggers, histograms, event probes, wakeup tracers, task lists that follow forks, and
 * system call events need all events. core/part.h lets parts declare needs; sites.h, tasks.h and
 * commands.h publish the rest. */
#pragma once

#include "tree/instance/core/instance.h"
#include "tree/instance/events/skipped.h"

struct hv_event_type;

struct hv_event_switch {
	const struct hv_event_type **types; /* from the catalogue; borrowed */
	size_t nr;
	unsigned on; /* 0: disable them */
	/* Result, owned by the caller: types that could not be enabled but do not fail the
	 * request. */
	struct hv_skipped left_out;
};

/* Publishes the needs of all instances after CHANGE of IN's events. *RET_REFUSED: why the first
 * event of IN cannot be recorded, apart from those that CHANGE skips; NULL: none. */
struct hv_err *hv_publish_switch(struct hv_instance *in, struct hv_event_switch *change,
				 struct hv_err **ret_refused) hv_must_use;
/* Disables TYPE in IN, because of WHY, which it takes over. CHANGE skips TYPE if WHY is EOPNOTSUPP,
 * or if it is EBUSY or ENODEV and CHANGE names several events. Otherwise the request fails: WHY
 * becomes *FIRST unless that is set. */
void hv_event_switch_refuse(struct hv_instance *in, struct hv_event_switch *change,
			    const struct hv_event_type *type, struct hv_err *why,
			    struct hv_err **first);

/* See hv_instance_publish_events() and hv_instances_publish_filter(). */
struct hv_err *hv_publish_events(struct hv_instance *in) hv_must_use;
void hv_publish_filter(const struct hv_instances *all, const struct hv_event_type *type);
