/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/raw_pages.h"

#include <string.h>

#include "base/guard.h"
#include "tracer/events/host_event.h"
#include "tree/format/raw_page.h"

#define TYPE_BITS	5
#define TYPE_PADDING	29
#define TYPE_EXTEND	30
#define TYPE_STAMP	31
#define DELTA_BITS	27
#define COMMIT_MASK	((UINT64_C(1) << DELTA_BITS) - 1)
#define MISSED_EVENTS	(UINT64_C(1) << 31)
#define MISSED_STORED	(UINT64_C(1) << 30)
#define EXTEND_LEN	8
#define DELTA_MAX	((UINT64_C(1) << 59) - 1)
#define STAMP_TOP_SHIFT 59 /* absolute times lack this bit and higher ones; the page has them */

/* -- the events of a page --------------------------------------------------------------------- */

bool hv_raw_events_begin(struct hv_raw_events *r, struct hv_span page)
{
	uint64_t time_ns, commit;

	if (!hv_span_u64(page, 0, &time_ns) || !hv_span_u64(page, 8, &commit) ||
	    !hv_span_has(page, HV_RAW_HEAD_LEN, (size_t)(commit & COMMIT_MASK)))
		return false;
	*r = (struct hv_raw_events){
		.page = page,
		.at = HV_RAW_HEAD_LEN,
		.end = HV_RAW_HEAD_LEN + (size_t)(commit & COMMIT_MASK),
		.time_ns = time_ns,
		.has_lost = commit & MISSED_EVENTS,
		.has_number = commit & MISSED_STORED,
	};
	if (r->has_number)
		hv_span_u64(page, r->end, &r->lost);
	return true;
}

/* Processes a two-word header that changes the time. */
static bool take_time(struct hv_raw_events *r, uint32_t head)
{
	uint32_t high;
	uint64_t value;

	if (r->end - r->at < 8 || !hv_span_u32(r->page, r->at + 4, &high))
		return false;
	value = head >> TYPE_BITS | (uint64_t)high << DELTA_BITS;
	if ((head & 31) == TYPE_EXTEND)
		r->time_ns += value;
	else
		r->time_ns = value | r->time_ns >> STAMP_TOP_SHIFT << STAMP_TOP_SHIFT;
	r->at += 8;
	return true;
}

/* Finds the payload of the event at AT with header HEAD. Long payloads are preceded by a length
 * word, which counts itself. */
static bool find_payload(const struct hv_raw_events *r, uint32_t head, size_t *ret_off,
			 size_t *ret_len)
{
	uint32_t type = head & 31, len;

	*ret_off = r->at + 4;
	*ret_len = (size_t)type * 4;
	if (!type || type == TYPE_PADDING) {
		if (r->end - r->at < 8 || !hv_span_u32(r->page, r->at + 4, &len) || len < 4)
			return false;
		*ret_off = r->at + 8;
		*ret_len = ((size_t)len - 4 + 3) / 4 * 4;
	}
	return *ret_off <= r->end && *ret_len <= r->end - *ret_off;
}

bool hv_raw_events_next(struct hv_raw_events *r, struct hv_raw_event *ret)
{
	uint32_t head;
	size_t off, len;

	while (r->end - r->at >= 4 && hv_span_u32(r->page, r->at, &head)) {
		uint32_t type = head & 31;

		if (type == TYPE_EXTEND || type == TYPE_STAMP) {
			if (!take_time(r, head))
				return false;
			continue;
		}
		/* Padding without a time fills the rest of the page. */
		if (type == TYPE_PADDING && !(head >> TYPE_BITS))
			return false;
		if (!find_payload(r, head, &off, &len))
			return false;
		r->time_ns += head >> TYPE_BITS;
		r->at = off + len;
		if (type == TYPE_PADDING)
			continue;
		*ret = (struct hv_raw_event){r->time_ns, {r->page.data + off, len}};
		return true;
	}
	return false;
}

/* -- joining pages ---------------------------------------------------------------------------- */

void hv_page_joiner_init(struct hv_page_joiner *j, size_t page_bytes)
{
	*j = (struct hv_page_joiner){.page = hv_alloc(page_bytes), .page_bytes = page_bytes};
}

void hv_page_joiner_deinit(struct hv_page_joiner *j)
{
	free(j->page);
	*j = (struct hv_page_joiner){0};
}

void hv_page_joiner_clear(struct hv_page_joiner *j)
{
	memset(j->page, 0, j->page_bytes);
	j->len_bytes = 0;
	j->lost = 0;
	j->has_lost = j->has_number = false;
}

static void put_commit(struct hv_page_joiner *j)
{
	uint64_t commit = j->len_bytes;

	if (j->has_lost)
		commit |= MISSED_EVENTS;
	if (j->has_number)
		commit |= MISSED_STORED;
	memcpy(j->page + 8, &commit, sizeof(commit));
	if (j->has_number)
		memcpy(j->page + HV_RAW_HEAD_LEN + j->len_bytes, &j->lost, sizeof(j->lost));
}

static uint64_t last_time(struct hv_raw_events *events)
{
	struct hv_raw_event e;

	while (hv_raw_events_next(events, &e))
		;
	return events->time_ns;
}

static void begin_with(struct hv_page_joiner *j, struct hv_raw_events *events)
{
	j->len_bytes = events->end - HV_RAW_HEAD_LEN;
	j->lost = events->lost;
	j->has_lost = events->has_lost;
	j->has_number = events->has_number;
	memcpy(j->page, events->page.data, events->end);
	j->time_ns = last_time(events);
	put_commit(j);
}

/* The first event of a page has its time relative to the page's time. So a TIME_EXTEND event up to
 * the page's time is inserted before the events of the second page. */
static void append(struct hv_page_joiner *j, struct hv_raw_events *events)
{
	uint8_t *at = j->page + HV_RAW_HEAD_LEN + j->len_bytes;
	size_t len = events->end - HV_RAW_HEAD_LEN;
	uint64_t delta = events->time_ns - j->time_ns;
	uint32_t words[2] = {
		TYPE_EXTEND | (uint32_t)(delta & ((1U << DELTA_BITS) - 1)) << 5,
		(uint32_t)(delta >> DELTA_BITS),
	};

	memcpy(at, words, EXTEND_LEN);
	memcpy(at + EXTEND_LEN, events->page.data + HV_RAW_HEAD_LEN, len);
	j->len_bytes += EXTEND_LEN + len;
	j->time_ns = last_time(events);
	put_commit(j);
}

static bool fits(const struct hv_page_joiner *j, const struct hv_raw_events *events)
{
	size_t len = events->end - HV_RAW_HEAD_LEN + EXTEND_LEN + (j->has_number ? 8 : 0);

	return !events->has_lost && events->time_ns >= j->time_ns &&
	       events->time_ns - j->time_ns <= DELTA_MAX &&
	       len <= j->page_bytes - HV_RAW_HEAD_LEN - j->len_bytes;
}

bool hv_page_joiner_add(struct hv_page_joiner *j, struct hv_span page)
{
	struct hv_raw_events events;

	if (!hv_raw_events_begin(&events, page) || events.end > j->page_bytes ||
	    events.end == HV_RAW_HEAD_LEN)
		return true;
	if (events.has_number && events.end + 8 > j->page_bytes)
		events.has_number = false;
	if (!j->len_bytes) {
		begin_with(j, &events);
		return true;
	}
	if (!fits(j, &events))
		return false;
	append(j, &events);
	return true;
}

/* -- merging pages by time -------------------------------------------------------------------- */

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

/* -- separating the events of the host -------------------------------------------------------- */

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
