/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/lib/fake_host.h"

#include "tests/lib/fake_buffer.h"

static struct hv_event events[8];
static size_t first, nr;
static uint64_t settled;

void hv_fake_host_event(uint64_t time_ns, uint32_t id)
{
	events[nr++] =
		(struct hv_event){.kind = HV_EVENT_GUESTS, .time_ns = time_ns, .id = (uint16_t)id};
}

void hv_fake_host_settled(uint64_t settled_ns)
{
	settled = settled_ns;
}

const struct hv_err *hv_host_tracer_why_not(const struct hv_host_tracer *t hv_unused)
{
	return NULL;
}

struct hv_err *hv_host_tracer_set(struct hv_host_tracer *t hv_unused, uint32_t mask hv_unused)
{
	return NULL;
}

bool hv_host_tracer_has_any(const struct hv_host_tracer *t hv_unused)
{
	return first < nr;
}

uint64_t hv_host_tracer_settled_ns(const struct hv_host_tracer *t hv_unused)
{
	return settled;
}

bool hv_host_tracer_next(struct hv_host_tracer *t hv_unused, uint64_t until_ns,
			 struct hv_host_item *ret)
{
	if (first == nr || events[first].time_ns >= until_ns)
		return false;
	*ret = (struct hv_host_item){.event = events[first++]};
	return true;
}

void hv_buffer_put_host(struct hv_buffer *b, const struct hv_record *records hv_unused,
			unsigned nr_records hv_unused, const struct hv_event *event)
{
	fake_buffer_put(b, event);
}
