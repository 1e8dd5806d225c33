/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/page_sift.h"

#include <string.h>

#include "base/guard.h"
#include "tracer/events/host_event.h"
#include "tree/format/raw_page.h"

#define TYPE_EXTEND   30
#define DELTA_BITS    27
#define EXTEND_LEN    8
#define DELTA_MAX     ((UINT64_C(1) << 59) - 1)
#define MISSED_EVENTS (UINT64_C(1) << 31)
#define MISSED_STORED (UINT64_C(1) << 30)

void hv_page_sift_init(struct hv_page_sift *s, size_t page_bytes)
{
	*s = (struct hv_page_sift){.page_bytes = page_bytes};
	for (unsigned i = 0; i < HV_SIFT_NR; i++)
		s->pages[i].bytes = hv_alloc(page_bytes);
}

void hv_page_sift_deinit(struct hv_page_sift *s)
{
	for (unsigned i = 0; i < HV_SIFT_NR; i++)
		free(s->pages[i].bytes);
	*s = (struct hv_page_sift){0};
}

static enum hv_sift_side side_of(const struct hv_raw_event *e)
{
	uint16_t id;

	return hv_span_u16(e->payload, 0, &id) && hv_host_event_is(id) ? HV_SIFT_HOST
								       : HV_SIFT_OTHERS;
}

static bool has(struct hv_span page, enum hv_sift_side side)
{
	struct hv_raw_events events;
	struct hv_raw_event e;

	if (!hv_raw_events_begin(&events, page))
		return false;
	while (hv_raw_events_next(&events, &e))
		if (side_of(&e) == side)
			return true;
	return false;
}

bool hv_page_sift_has_host(struct hv_span page)
{
	return has(page, HV_SIFT_HOST);
}

bool hv_page_sift_begin(struct hv_page_sift *s, struct hv_span page)
{
	if (!hv_raw_events_begin(&s->events, page) || s->events.end > s->page_bytes)
		return false;
	for (unsigned i = 0; i < HV_SIFT_NR; i++)
		s->pages[i].len_bytes = 0;
	s->lost_side = has(page, HV_SIFT_OTHERS) ? HV_SIFT_OTHERS : HV_SIFT_HOST;
	return s->events.end > HV_RAW_HEAD_LEN;
}

static void put_word(struct hv_sift_page *p, uint32_t word)
{
	memcpy(p->bytes + HV_RAW_HEAD_LEN + p->len_bytes, &word, sizeof(word));
	p->len_bytes += sizeof(word);
}

/* Adds a TIME_EXTEND event. */
static void put_time(struct hv_sift_page *p, uint64_t delta_ns)
{
	put_word(p, TYPE_EXTEND | (uint32_t)(delta_ns & ((1U << DELTA_BITS) - 1)) << 5);
	put_word(p, (uint32_t)(delta_ns >> DELTA_BITS));
}

static void put_host_id(uint8_t *payload)
{
	uint16_t id;

	memcpy(&id, payload, sizeof(id));
	id = (uint16_t)(id - HV_HOST_ID_FIRST + HV_SIFT_HOST_ID);
	memcpy(payload, &id, sizeof(id));
}

/* Long payloads are preceded by a length word, which counts itself. Returns false if E must begin a
 * new page because there is no room or the clock went backwards. */
static bool add(struct hv_page_sift *s, struct hv_sift_page *p, const struct hv_raw_event *e)
{
	size_t len = e->payload.len_bytes;
	bool is_long = !len || len > HV_RAW_SMALL_MAX;
	uint64_t delta_ns = e->time_ns - p->time_ns;
	size_t extend = p->len_bytes && delta_ns >> DELTA_BITS ? EXTEND_LEN : 0;

	if (p->len_bytes && (e->time_ns < p->time_ns || delta_ns > DELTA_MAX))
		return false;
	if (HV_RAW_HEAD_LEN + p->len_bytes + extend + 4 + (is_long ? 4 : 0) + len > s->page_bytes)
		return false;
	if (!p->len_bytes) {
		memset(p->bytes, 0, s->page_bytes);
		/* The time of a page is the time of its first event. */
		memcpy(p->bytes, &e->time_ns, sizeof(e->time_ns));
		delta_ns = 0;
	}
	if (extend)
		put_time(p, delta_ns);
	put_word(p, (is_long ? 0 : (uint32_t)len / 4) | (extend ? 0 : (uint32_t)delta_ns << 5));
	if (is_long)
		put_word(p, (uint32_t)len + 4);
	memcpy(p->bytes + HV_RAW_HEAD_LEN + p->len_bytes, e->payload.data, len);
	if (p == &s->pages[HV_SIFT_HOST])
		put_host_id(p->bytes + HV_RAW_HEAD_LEN + p->len_bytes);
	p->len_bytes += len;
	p->time_ns = e->time_ns;
	return true;
}

static void finish(struct hv_page_sift *s, enum hv_sift_side side, struct hv_span *ret)
{
	struct hv_sift_page *p = &s->pages[side];
	uint64_t commit = p->len_bytes;
	size_t end = HV_RAW_HEAD_LEN + p->len_bytes;

	if (side == s->lost_side && s->events.has_lost) {
		commit |= MISSED_EVENTS;
		if (s->events.has_number && end + sizeof(s->events.lost) <= s->page_bytes) {
			commit |= MISSED_STORED;
			memcpy(p->bytes + end, &s->events.lost, sizeof(s->events.lost));
		}
		s->events.has_lost = false;
	}
	memcpy(p->bytes + 8, &commit, sizeof(commit));
	p->len_bytes = 0;
	*ret = (struct hv_span){p->bytes, s->page_bytes};
}

bool hv_page_sift_next(struct hv_page_sift *s, enum hv_sift_side *ret_side, struct hv_span *ret)
{
	struct hv_raw_events before = s->events;
	struct hv_raw_event e;

	for (; hv_raw_events_next(&s->events, &e); before = s->events) {
		enum hv_sift_side side = side_of(&e);

		if (add(s, &s->pages[side], &e))
			continue;
		s->events = before; /* E begins the next page */
		finish(s, side, ret);
		*ret_side = side;
		return true;
	}
	for (enum hv_sift_side side = 0; side < HV_SIFT_NR; side++) {
		if (!s->pages[side].len_bytes)
			continue;
		finish(s, side, ret);
		*ret_side = side;
		return true;
	}
	return false;
}
