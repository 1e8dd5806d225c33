/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "latency/stall.h"

#include <stdlib.h>
#include <string.h>

#include "base/guard.h"

static int longer_first(const void *a, const void *b)
{
	const struct hv_stall *x = a, *y = b;

	if (x->length_ns != y->length_ns)
		return x->length_ns > y->length_ns ? -1 : 1;
	return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

void hv_stalls_add(struct hv_stalls *s, const struct hv_stall *stall)
{
	if (!s->list)
		s->list = hv_realloc_array(NULL, HV_STALLS_MAX, sizeof(*s->list));
	if (s->nr == HV_STALLS_MAX) {
		qsort(s->list, s->nr, sizeof(*s->list), longer_first);
		s->nr_dropped += s->nr - HV_STALLS_MAX / 2;
		s->nr = HV_STALLS_MAX / 2;
	}
	s->list[s->nr++] = *stall;
}

void hv_stalls_clear(struct hv_stalls *s)
{
	s->nr = 0;
	s->nr_dropped = 0;
}

void hv_stalls_deinit(struct hv_stalls *s)
{
	free(s->list);
}

void hv_stalls_forget(struct hv_stalls *s, uint64_t ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->nr; i++)
		if (s->list[i].to_ns >= ns)
			s->list[kept++] = s->list[i];
	s->nr = kept;
}

struct hv_stall_task hv_stall_task(uint32_t pid, const char *comm)
{
	struct hv_stall_task task = {.pid = pid};

	memcpy(task.comm, comm, strnlen(comm, sizeof(task.comm) - 1));
	return task;
}

uint64_t hv_stall_overlap(const struct hv_stall *a, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t from = a->from_ns > from_ns ? a->from_ns : from_ns;
	uint64_t to = a->to_ns < to_ns ? a->to_ns : to_ns;

	return to > from ? to - from : 0;
}
