/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the events of a page of the kernel's ring buffer (tree/format/raw_page.h shows it): their
 * times and their payloads. The page may have any size, and may come from a file that somebody
 * changed: nothing outside it is read. Leaves to others: what a payload means (page_decode.h).
 * Pure. */
#pragma once

#include "base/bytes.h"

struct hv_raw_events {
	struct hv_span page; /* borrowed */
	size_t at;	     /* where the next event begins */
	size_t end;	     /* where the events end */
	uint64_t time_ns;    /* of the last event */
	uint64_t lost;	     /* events that were lost before the page */
	bool has_lost;	     /* events were lost; LOST 0: nobody knows how many */
	bool has_number;     /* their number is stored after the events */
};

struct hv_raw_event {
	uint64_t time_ns;
	struct hv_span payload; /* points into the page; its length is a multiple of 4 */
};

/* False: PAGE is too short, or says that it has more events than fit. */
bool hv_raw_events_begin(struct hv_raw_events *r, struct hv_span page);
/* False: there are no more events. What follows an event that does not end within the page is
 * not read. */
bool hv_raw_events_next(struct hv_raw_events *r, struct hv_raw_event *ret);
