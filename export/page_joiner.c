/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/page_joiner.h"

#include <string.h>

#include "base/guard.h"
#include "export/raw_events.h"
#include "tree/format/raw_page.h"

#define EXTEND_LEN    8
#define TYPE_EXTEND   30
#define DELTA_BITS    27
#define DELTA_MAX     ((UINT64_C(1) << 59) - 1)
#define MISSED_EVENTS (UINT64_C(1) << 31)
#define MISSED_STORED (UINT64_C(1) << 30)

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
