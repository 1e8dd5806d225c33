/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/plug_array.h"

#include <string.h>

#include "kernel/fields.h"
#include "tracer/tracee.h"

static uint64_t array_off(unsigned index)
{
	return HV_REGION_PROBES_OFF + (uint64_t)index * HV_REGION_ARRAY_BYTES;
}

/* Behind the last probe is one that is 0. */
bool hv_plug_array_has_room(const struct hv_tracepoint_layout *layout, size_t nr_probes)
{
	return nr_probes <= HV_PLUG_PROBES_MAX && layout->probes >= sizeof(uint64_t) &&
	       layout->probes + (nr_probes + 1) * layout->probe_len_bytes <= HV_REGION_ARRAY_BYTES;
}

uint64_t hv_plug_array_funcs(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
			     unsigned index)
{
	return t->range.start.v + array_off(index) - HV_REGION_STUBS_OFF + layout->probes;
}

struct hv_err *hv_plug_array_put(const struct hv_tracee *t,
				 const struct hv_tracepoint_layout *layout, unsigned index,
				 const struct hv_plug_array *a, enum hv_array_use use)
{
	uint8_t bytes[HV_REGION_ARRAY_BYTES] = {0}, *to = t->region.host + array_off(index);
	uint64_t head = a->stands_for ? a->stands_for - layout->probes : 0;

	memcpy(bytes, &head, sizeof(head));
	for (size_t i = 0; i < a->nr; i++) {
		uint8_t *probe = bytes + layout->probes + i * layout->probe_len_bytes;

		memcpy(probe + layout->func, &a->probes[i].func, sizeof(uint64_t));
		memcpy(probe + layout->data, &a->probes[i].data, sizeof(uint64_t));
		memcpy(probe + layout->prio, &a->probes[i].priority, sizeof(uint32_t));
	}
	if (memcmp(to, bytes, sizeof(bytes)) == 0)
		return NULL;
	if (use == HV_ARRAY_MAY_BE_USED)
		return hv_err_new(EBUSY, "the guest may be calling its probes of before");
	memcpy(to, bytes, sizeof(bytes));
	return NULL;
}

struct hv_err *hv_plug_array_read(const struct hv_tracee *t,
				  const struct hv_tracepoint_layout *layout, uint64_t funcs,
				  struct hv_plug_array *ret)
{
	uint64_t off = funcs - hv_plug_array_funcs(t, layout, 0);
	uint8_t bytes[HV_REGION_ARRAY_BYTES];
	struct hv_span copy = {bytes, sizeof(bytes)};
	struct hv_plug_array a = {0};
	uint64_t head;

	if (off % HV_REGION_ARRAY_BYTES || off / HV_REGION_ARRAY_BYTES >= HV_REGION_NR_EVENTS)
		return hv_err_new(EINVAL, "0x%llx is no array of probes",
				  (unsigned long long)funcs);
	memcpy(bytes, t->region.host + array_off((unsigned)(off / HV_REGION_ARRAY_BYTES)),
	       sizeof(bytes));
	head = hv_copy_u64(copy, 0);
	a.stands_for = head ? head + layout->probes : 0;
	while (hv_plug_array_has_room(layout, a.nr + 1)) {
		size_t at = layout->probes + a.nr * layout->probe_len_bytes;
		struct hv_tracepoint_probe *probe = &a.probes[a.nr];

		probe->at = hv_gva(funcs + a.nr * layout->probe_len_bytes);
		probe->func = hv_copy_u64(copy, at + layout->func);
		probe->data = hv_copy_u64(copy, at + layout->data);
		probe->priority = hv_copy_u32(copy, at + layout->prio);
		if (!probe->func)
			break;
		a.nr++;
	}
	*ret = a;
	return NULL;
}
