/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stream/split.h"

#include "tree/format/raw_page.h"

#define HEAD_LEN      16
#define MISSED_EVENTS (UINT64_C(1) << 31)
#define MISSED_STORED (UINT64_C(1) << 30)
#define NUMBER_LEN    sizeof(uint64_t)

bool hv_stream_split_begin(struct hv_stream_split *s, struct hv_span page)
{
	return hv_raw_events_begin(&s->events, page) && s->events.end > HEAD_LEN;
}

/* Writes the header, and the number of lost events after the LEN bytes of events. */
static size_t put_head(uint8_t *to, const struct hv_raw_events *from, size_t len)
{
	uint64_t commit = len;

	if (from->has_lost)
		commit |= MISSED_EVENTS;
	if (from->has_number)
		commit |= MISSED_STORED;
	memcpy(to, &from->time_ns, sizeof(from->time_ns));
	memcpy(to + 8, &commit, sizeof(commit));
	if (!from->has_number)
		return HEAD_LEN + len;
	memcpy(to + HEAD_LEN + len, &from->lost, NUMBER_LEN);
	return HEAD_LEN + len + NUMBER_LEN;
}

struct hv_stream_piece hv_stream_split_next(struct hv_stream_split *s, uint8_t *to,
					    size_t want_bytes, size_t max_bytes)
{
	struct hv_raw_events begin = s->events, at = s->events;
	struct hv_stream_piece piece = {0};
	struct hv_raw_event e;
	size_t len;

	while (hv_raw_events_next(&at, &e)) {
		size_t room = (piece.nr ? want_bytes : max_bytes) - HEAD_LEN - NUMBER_LEN;

		if (at.at - begin.at <= room) {
			s->events = at;
			piece.nr++;
		} else if (piece.nr) {
			break;
		} else {
			piece.nr_skipped++;
			begin = at;
		}
	}
	if (!piece.nr)
		return piece;
	len = s->events.at - begin.at;
	memcpy(to + HEAD_LEN, begin.page.data + begin.at, len);
	piece.len_bytes = put_head(to, &begin, len);
	s->events.has_lost = s->events.has_number = false;
	s->events.lost = 0;
	return piece;
}

void hv_stream_note_lost(uint8_t *page, size_t len_bytes, size_t cap_bytes, uint64_t nr)
{
	struct hv_raw_events r;
	struct hv_span span = {page, len_bytes};

	if (!nr || !hv_raw_events_begin(&r, span))
		return;
	r.has_number = r.has_number || !r.has_lost;
	r.has_number = r.has_number && r.end + NUMBER_LEN <= cap_bytes;
	r.has_lost = true;
	r.lost += nr;
	put_head(page, &r, r.end - HEAD_LEN);
}
