/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/events/host_events.h"

#include "kernel/events/catalogue.h"
#include "tracer/host_tracer.h"
#include "tree/instance/core/recording.h"
#include "tree/instance/events/event_filters.h"

bool hv_host_events_is(const struct hv_event_type *type)
{
	return type->reg_kind == HV_EVENT_REG_HOST;
}

static uint32_t mask_of(const struct hv_event_set *set)
{
	uint32_t mask = 0;

	for (size_t i = 0; i < set->nr; i++)
		if (hv_host_event_is(set->list[i].id))
			mask |= hv_host_event_bit(set->list[i].id);
	return mask;
}

static bool makes_any(const struct hv_instances *all, const struct hv_event_set *set)
{
	(void)all;
	return mask_of(set) != 0;
}

struct hv_err *hv_host_events_publish(struct hv_instances *all)
{
	uint32_t mask = 0;

	for (const struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in))
		mask |= mask_of(hv_instance_events(in));
	return hv_host_tracer_set(hv_instances_session(all)->host, mask);
}

bool hv_host_events_take_away(struct hv_instance *in)
{
	bool any = false;

	for (size_t i = hv_instance_events(in)->nr; i-- > 0;) {
		if (!hv_host_event_is(hv_instance_events(in)->list[i].id))
			continue;
		hv_event_set_remove(hv_instance_events(in), hv_instance_events(in)->list[i]);
		any = true;
	}
	return any;
}

bool hv_host_events_wants(const struct hv_instance *in, const struct hv_event *event)
{
	return hv_event_set_has_id(hv_instance_events(in), event->id) && hv_instance_records(in) &&
	       !hv_instance_selection(in)->muted[event->cpu] && hv_instance_filters_pass(in, event);
}

const struct hv_part hv_host_events_part = {.makes_any = makes_any};
