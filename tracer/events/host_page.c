/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows kernel/trace/ring_buffer.c: struct buffer_data_page, struct ring_buffer_event. */
#include "tracer/events/host_page.h"

#define HEAD_BYTES    16
#define COMMIT_MASK   0x3fffffff
#define MISSED_EVENTS 0x80000000 /* RB_MISSED_EVENTS */
#define MISSED_STORED 0x40000000 /* RB_MISSED_STORED: the number follows the entries */

#define TYPE_BITS    5
#define DELTA_BITS   27
#define ABSOLUTE_MAX ((UINT64_C(1) << 59) - 1) /* an absolute time lacks the bits of TS_MSB */

enum { TYPE_LONG = 0, TYPE_PADDING = 29, TYPE_EXTEND = 30, TYPE_ABSOLUTE = 31 };

bool hv_host_page_begin(struct hv_span bytes, struct hv_host_page *ret)
{
	struct hv_host_page p = {.at = HEAD_BYTES};
	uint32_t commit;
	size_t len;

	if (!hv_span_u64(bytes, 0, &p.ticks) || !hv_span_u32(bytes, 8, &commit))
		return false;
	len = HEAD_BYTES + (size_t)(commit & COMMIT_MASK);
	if (!hv_span_has(bytes, 0, len))
		return false;
	if (commit & MISSED_EVENTS) {
		p.nr_lost = 1;
		if (commit & MISSED_STORED)
			hv_span_u64(bytes, len, &p.nr_lost);
	}
	p.data = (struct hv_span){bytes.data, len};
	*ret = p;
	return true;
}

/* Reads one element: an entry, whose payload is then *RET, or an element that precedes entries.
 * Returns false if it is invalid. */
static bool read_one(struct hv_host_page *p, struct hv_span *ret)
{
	uint32_t head, more = 0;
	uint64_t delta;
	size_t len;

	*ret = (struct hv_span){0};
	if (!hv_span_u32(p->data, p->at, &head))
		return false;
	p->at += sizeof(head);
	delta = head >> TYPE_BITS;
	head &= (1u << TYPE_BITS) - 1;
	len = head * sizeof(uint32_t);
	if (head == TYPE_LONG || head >= TYPE_PADDING) {
		if ((head == TYPE_PADDING && !delta) || !hv_span_u32(p->data, p->at, &more))
			return false;
		p->at += sizeof(more);
		len = more >= sizeof(more) ? more - sizeof(more) : 0;
	}
	if (head == TYPE_ABSOLUTE) {
		p->ticks = (p->ticks & ~ABSOLUTE_MAX) | ((uint64_t)more << DELTA_BITS) | delta;
		return true;
	}
	p->ticks += delta;
	if (head == TYPE_EXTEND) {
		p->ticks += (uint64_t)more << DELTA_BITS;
		return true;
	}
	if (!hv_span_has(p->data, p->at, len))
		return false;
	if (head != TYPE_PADDING)
		*ret = (struct hv_span){p->data.data + p->at, len};
	p->at += len;
	return true;
}

bool hv_host_page_next(struct hv_host_page *p, struct hv_span *ret_entry)
{
	while (read_one(p, ret_entry))
		if (ret_entry->data)
			return true;
	p->at = p->data.len_bytes;
	return false;
}
