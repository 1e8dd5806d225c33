/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/dynamic/host_made.h"

#include "kernel/events/catalogue.h"
#include "ringbuf/abi_bits.h"
#include "tree/instance/core/sharing.h"
#include "tree/instance/dynamic/syscalls.h"
#include "tree/instance/events/event_filters.h"
#include "tree/instance/events/host_events.h"

uint32_t hv_host_made_free_id(const struct hv_catalogue *c)
{
	uint32_t id = HV_EVENT_ID_RETURN - 1;

	while (id && hv_catalogue_by_id(c, id))
		id--;
	return id;
}

/* Removes all events of IN. Future events can only be of enabled types. */
static void clear(struct hv_instance *in)
{
	struct hv_event_set probed = {0};

	hv_instance_clear(in, HV_ALL_CPUS);
	if (in->buffers.snapshot)
		hv_buffer_clear(in->buffers.snapshot, HV_ALL_CPUS);
	for (size_t i = 0; i < in->probed.nr; i++)
		if (hv_event_set_has(&in->events, in->probed.list[i]))
			hv_event_set_add(&probed, in->probed.list[i]);
	hv_event_set_deinit(&in->probed);
	in->probed = probed;
}

void hv_host_made_remove(struct hv_instances *all, const struct hv_event_type *type)
{
	for (struct hv_instance *in = &all->top; in; in = in->next) {
		hv_instance_remove_event_filter(in, type);
		if (hv_event_set_has(&in->probed, hv_event_ref_of(type)))
			clear(in);
	}
}

struct hv_err *hv_host_made_need(struct hv_instance *in, const struct hv_catalogue *c,
				 const struct hv_event_type *type)
{
	if (hv_host_events_is(type))
		return hv_err_new(EOPNOTSUPP, "an event of the host has no triggers");
	hv_syscalls_need(in->all, c, type);
	return NULL;
}
