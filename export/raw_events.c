/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/raw_events.h"

#include "tree/format/raw_page.h"

#define TYPE_BITS	5
#define TYPE_PADDING	29
#define TYPE_EXTEND	30
#define TYPE_STAMP	31
#define DELTA_BITS	27
#define COMMIT_MASK	((UINT64_C(1) << DELTA_BITS) - 1)
#define MISSED_EVENTS	(UINT64_C(1) << 31)
#define MISSED_STORED	(UINT64_C(1) << 30)
#define STAMP_TOP_SHIFT 59 /* absolute times lack the bits from here on: the page has them */

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
