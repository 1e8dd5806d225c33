/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/dynamic/host_made.h"

#include "kernel/events/catalogue.h"
#include "ringbuf/abi_bits.h"
#include "tree/instance/core/sharing.h"
#include "tree/instance/dynamic/syscalls.h"
#include "tree/instance/events/event_filters.h"
#include "tree/instance/events/match.h"

uint32_t hv_host_made_free_id(const struct hv_catalogue *c)
{
	uint32_t id = HV_EVENT_ID_RETURN - 1;

	while (id && hv_catalogue_by_id(c, id))
		id--;
	return id;
}

struct hv_err *hv_host_made_check_id(const struct hv_catalogue *c)
{
	return hv_host_made_free_id(c) ? NULL
				       : hv_err_new(ENOSPC, "the guest's events use all ids");
}

/* The events that were enabled since IN's buffer was made. */
static struct hv_event_set *enabled_of(const struct hv_instance *in)
{
	return hv_instance_state(in, HV_PART_HOST_MADE);
}

static void deinit(struct hv_instance *in)
{
	hv_event_set_deinit(enabled_of(in));
}

const struct hv_part hv_host_made_part = {.state_bytes = sizeof(struct hv_event_set),
					  .deinit = deinit};

void hv_host_made_note_enabled(struct hv_instance *in, struct hv_event_ref ref)
{
	hv_event_set_add(enabled_of(in), ref);
}

/* Removes all events of IN. Future events can only be of enabled types. */
static void clear(struct hv_instance *in)
{
	struct hv_event_set *enabled = enabled_of(in), still = {0};

	hv_instance_clear(in, HV_ALL_CPUS);
	if (hv_instance_buffers(in)->snapshot)
		hv_buffer_clear(hv_instance_buffers(in)->snapshot, HV_ALL_CPUS);
	for (size_t i = 0; i < enabled->nr; i++)
		if (hv_event_set_has(hv_instance_events(in), enabled->list[i]))
			hv_event_set_add(&still, enabled->list[i]);
	hv_event_set_deinit(enabled);
	*enabled = still;
}

void hv_host_made_remove(struct hv_instances *all, const struct hv_event_type *type)
{
	for (struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in)) {
		hv_instance_remove_event_filter(in, type);
		if (hv_event_set_has(enabled_of(in), hv_event_ref_of(type)))
			clear(in);
	}
}

struct hv_err *hv_host_made_need(struct hv_instance *in, const struct hv_catalogue *c,
				 const struct hv_event_type *type)
{
	if (hv_host_events_is(type))
		return hv_err_new(EOPNOTSUPP, "an event of the host has no triggers");
	hv_syscalls_need(hv_instance_all(in), c, type);
	return NULL;
}
