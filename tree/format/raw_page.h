/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Renders events as pages of the kernel's ring buffer, which trace_pipe_raw returns and
 * libtraceevent reads (include/linux/ring_buffer.h, struct buffer_data_page).
 *
 *   0   u64 time of the first event
 *   8   u64 length of the data; bit 31: events were lost before this page; bit 30: their number
 *       is in a u64 after the data
 *   16  data: the events. Each has a header (5 bits type_len, 27 bits time since the last
 *       event), an optional TIME_EXTEND before it, and the fields of events/ftrace/NAME/format
 *
 * files/pipe.c reads events; files/event.c has the formats. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tree/format/raw_layout.h"

#define HV_RAW_SMALL_MAX                                                                           \
	112 /* payloads up to this size store their length in the four-byte header */

#define HV_RAW_BRIEF_MIN 24 /* size of the shortest call or return, with its header */

/* Returns the maximum length of the text (HV_EVENT_PRINT) or bytes (HV_EVENT_RAW_DATA) of an event
 * in a kernel (tracing_mark_write of 6.12). Longer ones are truncated in a page. */
size_t hv_raw_text_max(const struct hv_raw_layout *l, enum hv_event_kind kind);

/* Returns the length in bytes of an event, header and payload without a TIME_EXTEND, with the
 * records of hv_raw_layout_known. */
size_t hv_raw_event_len(const struct hv_event *e);

struct hv_raw_page {
	const struct hv_raw_layout *layout; /* borrowed */
	uint8_t *bytes;			    /* borrowed; zeros after the added events */
	size_t len_bytes;		    /* length of the data */
	size_t max_bytes;		    /* limit of the data */
	uint64_t time_ns;		    /* time of the last event */
	uint64_t lost;			    /* events lost before the page */
};

/* Makes P an empty page for at most MAX_BYTES of data (data_bytes of LAYOUT or less). Borrows
 * LAYOUT and BYTES. BYTES has room for the header and MAX_BYTES, all zeros. */
void hv_raw_page_init(struct hv_raw_page *p, const struct hv_raw_layout *layout, uint8_t *bytes,
		      size_t max_bytes);

/* Adds E. Returns false if E does not fit, or must begin a page because events were lost before
 * it. */
bool hv_raw_page_add(struct hv_raw_page *p, const struct hv_event *e);

/* Returns the kinds of events that hv_raw_page_add_briefs() accepts: those whose records match
 * hv_raw_layout_known. */
unsigned hv_raw_brief_kinds(const struct hv_raw_layout *l);
/* Adds calls and returns of such kinds from the front of BRIEFS, while they fit and need not begin
 * a page. Returns how many. Adds nothing to an empty page: use hv_raw_page_add() first. */
size_t hv_raw_page_add_briefs(struct hv_raw_page *p, const struct hv_brief *briefs, size_t nr);

/* Writes the page header. Add nothing afterwards. */
void hv_raw_page_finish(struct hv_raw_page *p);
