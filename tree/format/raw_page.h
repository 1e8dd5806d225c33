/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Renders events as pages of the kernel's own ring buffer, which trace_pipe_raw returns and
 * libtraceevent reads (include/linux/ring_buffer.h, struct buffer_data_page).
 *
 *   0   u64 time of the first event
 *   8   u64 length of the data; bit 31: events were lost before this page; bit 30: a u64 after the
 *           data says how many
 *   16  data: the events. Each has a head (5 bits type_len, 27 bits time since the last event),
 *       perhaps a TIME_EXTEND before it, and the fields of events/ftrace/NAME/format
 *
 * Leaves to others: whose events (files/raw.c), the text of the formats (files/events.c). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tree/format/raw_layout.h"

#define HV_RAW_SMALL_MAX 112 /* the head has the length of payloads up to this, in four bytes */

#define HV_RAW_BRIEF_MIN 24 /* bytes of the shortest call or return, with its head */

/* Returns how many bytes of text (HV_EVENT_PRINT) or bytes (HV_EVENT_RAW_DATA) an event of a kernel
 * can have (tracing_mark_write of 6.12). What is longer is cut in a page. */
size_t hv_raw_text_max(const struct hv_raw_layout *l, enum hv_event_kind kind);

/* Returns the length of an event in bytes, of its head and payload, without a TIME_EXTEND, in a
 * kernel whose records are as in hv_raw_layout_known. */
size_t hv_raw_event_len(const struct hv_event *e);

struct hv_raw_page {
	const struct hv_raw_layout *layout; /* borrowed */
	uint8_t *bytes;			    /* borrowed; zeros after what was added */
	size_t len_bytes;		    /* of the data */
	size_t max_bytes;		    /* of the data */
	uint64_t time_ns;		    /* of the last event */
	uint64_t lost;			    /* events that were lost before the page */
};

/* Makes P an empty page for at most MAX_BYTES of data (data_bytes of LAYOUT or less). LAYOUT and
 * BYTES are borrowed. BYTES has room for the head and MAX_BYTES, all zeros.
 */
void hv_raw_page_init(struct hv_raw_page *p, const struct hv_raw_layout *layout, uint8_t *bytes,
		      size_t max_bytes);

/* Adds E. Returns false when E does not fit, or has to begin a page because events were lost before
 * it. */
bool hv_raw_page_add(struct hv_raw_page *p, const struct hv_event *e);

/* The kinds of events that hv_raw_page_add_briefs takes: those whose records are known. */
unsigned hv_raw_brief_kinds(const struct hv_raw_layout *l);
/* Adds the first ones of NR calls and returns of such kinds, as far as there is room and they need
 * not begin a page. Returns how many. None are added to an empty page: use hv_raw_page_add. */
size_t hv_raw_page_add_briefs(struct hv_raw_page *p, const struct hv_brief *briefs, size_t nr);

/* Writes the head of the page. The caller adds nothing after that. */
void hv_raw_page_finish(struct hv_raw_page *p);
