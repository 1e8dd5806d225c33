/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/lanes.h"

#include <string.h>

#include "lib/alloc.h"

#define LANE_BYTES_MIN (64u << 10)
#define LANE_BYTES_MAX (1u << 20)
#define ALL_BYTES_MAX  (64u << 20)

struct lane_page {
	struct lane_page *next;
	size_t len_bytes;
	uint8_t bytes[];
};

bool lanes_init(struct lanes *l, unsigned nr)
{
	*l = (struct lanes){.list = lib_alloc(nr * sizeof(*l->list))};
	if (!l->list)
		return false;
	l->nr = nr;
	l->max_bytes = ALL_BYTES_MAX / nr;
	if (l->max_bytes > LANE_BYTES_MAX)
		l->max_bytes = LANE_BYTES_MAX;
	if (l->max_bytes < LANE_BYTES_MIN)
		l->max_bytes = LANE_BYTES_MIN;
	for (unsigned i = 0; i < nr; i++)
		l->list[i].last = &l->list[i].first;
	return true;
}

static void drop_first(struct lane *l)
{
	struct lane_page *page = l->first;

	l->first = page->next;
	if (!l->first)
		l->last = &l->first;
	l->len_bytes -= page->len_bytes;
	l->has_events = false;
	free(page);
}

void lanes_deinit(struct lanes *l)
{
	for (unsigned i = 0; i < l->nr; i++)
		while (l->list[i].first)
			drop_first(&l->list[i]);
	free(l->list);
	*l = (struct lanes){0};
}

void lanes_begin_turn(struct lanes *l)
{
	l->limit_ns = l->newest_ns;
	l->any = false;
}

bool lanes_is_full(const struct lanes *l, unsigned cpu)
{
	return l->list[cpu].len_bytes >= l->max_bytes;
}

bool lanes_add(struct lanes *l, unsigned cpu, struct hv_span bytes)
{
	struct lane *lane = &l->list[cpu];
	struct hv_raw_events events;
	struct lane_page *page;

	l->any = true;
	if (!hv_raw_events_begin(&events, bytes))
		return true;
	page = lib_alloc(sizeof(*page) + bytes.len_bytes);
	if (!page)
		return false;
	page->len_bytes = bytes.len_bytes;
	memcpy(page->bytes, bytes.data, bytes.len_bytes);
	*lane->last = page;
	lane->last = &page->next;
	lane->len_bytes += page->len_bytes;
	lane->page_ns = events.time_ns;
	if (events.time_ns > l->newest_ns)
		l->newest_ns = events.time_ns;
	return true;
}

/* Finds the next event of LANE. Returns false at the end. */
static bool find_next(struct lane *l)
{
	while (!l->has_next && l->first) {
		struct hv_span page = {l->first->bytes, l->first->len_bytes};

		if (!l->has_events) {
			l->has_events = hv_raw_events_begin(&l->events, page);
			l->has_lost |= l->has_events && l->events.has_lost;
		}
		l->has_next = l->has_events && hv_raw_events_next(&l->events, &l->next);
		if (!l->has_next)
			drop_first(l);
	}
	return l->has_next;
}

void lanes_end_turn(struct lanes *l)
{
	if (!l->any)
		l->limit_ns = UINT64_MAX;
	for (unsigned i = 0; i < l->nr && l->any; i++)
		if (l->list[i].has_more && l->list[i].page_ns < l->limit_ns)
			l->limit_ns = l->list[i].page_ns;
}

static struct lane *oldest(struct lanes *l)
{
	struct lane *found = NULL;

	for (unsigned i = 0; i < l->nr; i++)
		if (find_next(&l->list[i]) &&
		    (!found || l->list[i].next.time_ns < found->next.time_ns))
			found = &l->list[i];
	return found;
}

bool lanes_have_events(struct lanes *l)
{
	return oldest(l) != NULL;
}

bool lanes_can_deliver(struct lanes *l)
{
	struct lane *lane = oldest(l);

	return lane && lane->next.time_ns <= l->limit_ns;
}

bool lanes_next(struct lanes *l, struct lane_event *ret)
{
	struct lane *lane = oldest(l);

	if (!lane || lane->next.time_ns > l->limit_ns)
		return false;
	*ret = (struct lane_event){
		.cpu = (unsigned)(lane - l->list),
		.time_ns = lane->next.time_ns,
		.payload = lane->next.payload,
		.has_lost = lane->has_lost,
		.nr_lost = lane->events.lost,
	};
	lane->has_next = lane->has_lost = false;
	return true;
}
