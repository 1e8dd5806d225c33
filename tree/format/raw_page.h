/* Events as pages of the kernel's own ring buffer, as trace_pipe_raw gives them and libtraceevent
 * reads them (include/linux/ring_buffer.h, struct buffer_data_page).
 *
 *   0   u64 time of the first event
 *   8   u64 length of the data; bit 31: events were lost before this page, bit 30: how many, as a
 *           u64 behind the data
 *   16  data: an event after the other, each a head (type_len 5 bits, time since the last one 27
 *       bits), perhaps a TIME_EXTEND before it, and what events/ftrace/NAME/format says
 *
 * Leaves to others: whose events (files/raw.c), the text of the formats (files/events.c). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/events/event.h"

#define HV_RAW_PAGE_LEN 4096
#define HV_RAW_HEAD_LEN 16
#define HV_RAW_DATA_LEN (HV_RAW_PAGE_LEN - HV_RAW_HEAD_LEN)

/* common_type, as the kernel numbers them (enum trace_type). */
enum hv_raw_type {
	HV_RAW_FUNCTION = 1,
	HV_RAW_STACK = 4,
	HV_RAW_PRINT = 5,
	HV_RAW_GRAPH_EXIT = 10,
	HV_RAW_GRAPH_ENTRY = 11,
	HV_RAW_DATA = 18,
};

/* As much of a marker's text or bytes as fits into a page. */
#define HV_RAW_TEXT_MAX	 (HV_RAW_DATA_LEN - 64)
#define HV_RAW_SMALL_MAX 112 /* payloads up to here are measured in the head, in four bytes */

/* Bytes of the payload. */
static inline size_t hv_raw_payload_len(const struct hv_event *e)
{
	size_t text_len = e->text_len < HV_RAW_TEXT_MAX ? e->text_len : HV_RAW_TEXT_MAX;

	switch (e->kind) {
	case HV_EVENT_FUNCTION:
		return 24;
	case HV_EVENT_GRAPH_ENTRY:
		return 20;
	case HV_EVENT_GRAPH_EXIT:
		return 40;
	case HV_EVENT_STACK:
		return 16 + 8 * e->nr_callers;
	case HV_EVENT_COMMAND:
		return 0;
	case HV_EVENT_PRINT:
		return (16 + text_len + 2 + 3) / 4 * 4;
	case HV_EVENT_RAW_DATA:
		return (8 + (text_len < 4 ? 4 : text_len) + 3) / 4 * 4;
	}
	return 0;
}

/* Bytes of an event without its time: head and payload. */
static inline size_t hv_raw_event_len(const struct hv_event *e)
{
	size_t len = hv_raw_payload_len(e);

	return len <= HV_RAW_SMALL_MAX ? 4 + len : 8 + len;
}

struct hv_raw_page {
	uint8_t bytes[HV_RAW_PAGE_LEN]; /* zeros behind what was added */
	size_t len_bytes;		/* of the data */
	size_t max_bytes;		/* of the data */
	uint64_t time_ns;		/* of the last event */
	uint64_t lost;			/* before the page */
};

/* Empty, for at most MAX bytes of data (HV_RAW_DATA_LEN or less). */
void hv_raw_page_init(struct hv_raw_page *p, size_t max_bytes);

/* False: it does not fit, or has to begin a page because events were lost before it. */
bool hv_raw_page_add(struct hv_raw_page *p, const struct hv_event *e);

/* Writes the head of the page. Nothing is added after that. */
void hv_raw_page_finish(struct hv_raw_page *p);
