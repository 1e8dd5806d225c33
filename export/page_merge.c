/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/page_merge.h"

#include <string.h>

void hv_page_merge_init(struct hv_page_merge *m, unsigned nr_cpus, size_t page_bytes)
{
	*m = (struct hv_page_merge){
		.lanes = hv_alloc(nr_cpus * sizeof(*m->lanes)),
		.nr_lanes = nr_cpus,
		.page_bytes = page_bytes,
		.max_bytes = HV_PAGE_MERGE_BYTES,
	};
}

void hv_page_merge_deinit(struct hv_page_merge *m)
{
	for (unsigned i = 0; i < m->nr_lanes; i++)
		hv_text_deinit(&m->lanes[i].pages);
	free(m->lanes);
	*m = (struct hv_page_merge){0};
}

/* Starts the next page. Returns false if there is none. */
static bool next_page(const struct hv_page_merge *m, struct hv_merge_lane *l)
{
	while (l->pages.len_bytes - l->at >= m->page_bytes) {
		struct hv_span page = {(const uint8_t *)l->pages.data + l->at, m->page_bytes};

		l->at += m->page_bytes;
		l->is_first = true;
		if (hv_raw_events_begin(&l->events, page))
			return true;
	}
	return false;
}

static void find_next(const struct hv_page_merge *m, struct hv_merge_lane *l)
{
	while (!l->has_next) {
		l->has_next = l->events.page.data && hv_raw_events_next(&l->events, &l->next);
		if (!l->has_next && !next_page(m, l))
			return;
	}
}

/* Moves the remaining pages to the start of the buffer. This moves the page being read;
 * find_again() adjusts its pointers. */
static void drop_taken(const struct hv_page_merge *m, struct hv_merge_lane *l)
{
	size_t taken = l->at;

	if (l->events.page.data)
		taken -= m->page_bytes;
	if (taken < l->pages.len_bytes / 2)
		return;
	memmove(l->pages.data, l->pages.data + taken, l->pages.len_bytes - taken);
	l->pages.len_bytes -= taken;
	l->at -= taken;
}

/* The buffer may have moved. */
static void find_again(const struct hv_page_merge *m, struct hv_merge_lane *l)
{
	const uint8_t *page, *old = l->events.page.data;

	if (!old)
		return;
	page = (const uint8_t *)l->pages.data + l->at - m->page_bytes;
	if (l->has_next)
		l->next.payload.data = page + (l->next.payload.data - old);
	l->events.page.data = page;
}

void hv_page_merge_add(struct hv_page_merge *m, unsigned cpu, struct hv_span page)
{
	struct hv_merge_lane *l = &m->lanes[cpu];
	uint64_t time_ns;

	if (page.len_bytes != m->page_bytes || !hv_span_u64(page, 0, &time_ns))
		return;
	if (l->at)
		drop_taken(m, l);
	hv_text_add_bytes(&l->pages, page.data, page.len_bytes);
	find_again(m, l);
	if (time_ns > m->newest_ns)
		m->newest_ns = time_ns;
}

void hv_page_merge_turn(struct hv_page_merge *m)
{
	m->limit_ns = m->newest_ns;
}

void hv_page_merge_end(struct hv_page_merge *m)
{
	m->limit_ns = UINT64_MAX;
}

static bool is_full(const struct hv_page_merge *m)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < m->nr_lanes; i++)
		bytes += m->lanes[i].pages.len_bytes - m->lanes[i].at;
	return bytes > m->max_bytes;
}

bool hv_page_merge_next(struct hv_page_merge *m, struct hv_merged *ret)
{
	struct hv_merge_lane *oldest = NULL;

	for (unsigned i = 0; i < m->nr_lanes; i++) {
		struct hv_merge_lane *l = &m->lanes[i];

		find_next(m, l);
		if (l->has_next && (!oldest || l->next.time_ns < oldest->next.time_ns))
			oldest = l;
	}
	if (!oldest || (oldest->next.time_ns > m->limit_ns && !is_full(m)))
		return false;
	*ret = (struct hv_merged){
		.cpu = (unsigned)(oldest - m->lanes),
		.event = oldest->next,
		.has_lost = oldest->is_first && oldest->events.has_lost,
		.lost = oldest->events.lost,
	};
	oldest->has_next = false;
	oldest->is_first = false;
	return true;
}
