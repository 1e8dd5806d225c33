/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Iterates over the events in a page of the kernel's ring buffer (see tree/format/raw_page.h). The
 * page can have any size and come from a modified file: nothing outside it is read. page_decode.h
 * decodes the payloads. Pure. */
#pragma once

#include "base/bytes.h"

struct hv_raw_events {
	struct hv_span page; /* borrowed */
	size_t at;	     /* offset of the next event */
	size_t end;	     /* offset after the last event */
	uint64_t time_ns;    /* of the last event */
	uint64_t lost;	     /* number of events lost before the page */
	bool has_lost;	     /* events were lost; LOST is 0 if their number is unknown */
	bool has_number;     /* the page stores the number after the events */
};

struct hv_raw_event {
	uint64_t time_ns;
	struct hv_span payload; /* points into the page; its length is a multiple of 4 */
};

/* Returns false if PAGE is too short for its header or for its events. */
bool hv_raw_events_begin(struct hv_raw_events *r, struct hv_span page);
/* Returns the next event. Returns false at the end, and at an event that does not end in the
 * page. */
bool hv_raw_events_next(struct hv_raw_events *r, struct hv_raw_event *ret);
