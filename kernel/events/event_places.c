/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/events/event_places.h"

#include "kernel/core/fields.h"
#include "kernel/kernel.h"

struct hv_err *hv_event_places_find(const struct hv_kernel *k, struct hv_gva release,
				    struct hv_gva release_other, struct hv_event_places *ret)
{
	struct hv_event_places places = {.release = release, .release_other = release_other};
	const struct hv_field buffer[] = {
		{"trace_file", 8, &places.buffer_file},
		{"event", 8, &places.buffer_event},
		{"entry", 8, &places.buffer_entry},
	};
	const struct hv_field task[] = {{"thread_info.status", 4, &places.task_status}};
	struct hv_err *err = hv_core_need(&k->core, "trace_event_buffer_reserve", &places.reserve);

	if (!err)
		err = hv_core_need(&k->core, "trace_event_buffer_commit", &places.commit);
	if (!err)
		err = hv_fields_find(&k->core, "trace_event_buffer", buffer, HV_ARRAY_LEN(buffer));
	if (!err)
		err = hv_fields_find(&k->core, "task_struct", task, HV_ARRAY_LEN(task));
	if (!err)
		*ret = places;
	return err;
}
