/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/events/event_places.h"

#include "kernel/events/probe_calls.h"
#include "kernel/fields.h"
#include "kernel/kernel.h"

static struct hv_err *find_release(const struct hv_kernel *k, struct hv_gva *ret)
{
	hv_cleanup(hv_release_calls_deinit) struct hv_release_calls calls = {0};
	struct hv_err *err = hv_release_calls_read(k, &calls);

	if (!err)
		*ret = calls.function;
	return err;
}

struct hv_err *hv_event_places_find(const struct hv_kernel *k, struct hv_event_places *ret)
{
	struct hv_event_places places = {0};
	const struct hv_field buffer[] = {
		{"trace_file", 8, &places.buffer_file},
		{"event", 8, &places.buffer_event},
		{"entry", 8, &places.buffer_entry},
	};
	struct hv_err *err = hv_core_need(&k->core, "trace_event_buffer_reserve", &places.reserve);

	if (!err)
		err = hv_core_need(&k->core, "trace_event_buffer_commit", &places.commit);
	if (!err)
		err = hv_fields_find(&k->core, "trace_event_buffer", buffer, HV_ARRAY_LEN(buffer));
	if (!err)
		err = find_release(k, &places.release);
	if (!err)
		*ret = places;
	return err;
}
