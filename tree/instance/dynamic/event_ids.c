/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/dynamic/event_ids.h"

#include "kernel/events/catalogue.h"
#include "ringbuf/record_bits.h"
#include "tree/instance/events/event_filters.h"
#include "tree/instance/events/events.h"
#include "tree/instance/demux/demux.h"

uint32_t hv_event_ids_find_free(const struct hv_catalogue *c)
{
	uint32_t id = HV_EVENT_ID_RETURN - 1;

	while (id && hv_catalogue_by_id(c, id))
		id--;
	return id;
}

/* Removes all events of IN, which then has only those to come of types that are on. */
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

void hv_event_ids_release(struct hv_instances *all, const struct hv_event_type *type)
{
	for (struct hv_instance *in = &all->top; in; in = in->next) {
		hv_instance_remove_event_filter(in, type);
		if (hv_event_set_has(&in->probed, hv_event_ref_of(type)))
			clear(in);
	}
}
