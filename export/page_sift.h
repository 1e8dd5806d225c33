/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Splits a page of trace_pipe_raw into pages with the host's events (tracer/events/host_event.h)
 * and pages with all other events, for formats that use two files.
 *
 * Times and payloads are unchanged except for the ids of host events: KernelShark reads an id as a
 * signed 16-bit number and reserves negative ones for itself. The note about lost events stays with
 * the other events, unless the page has only host events. The page can contain anything: events
 * after an invalid one are dropped.
 *
 * raw_events.h parses events; dat.c writes the pages. Pure. */
#pragma once

#include "export/raw_events.h"

#define HV_SIFT_HOST_ID 100 /* replaces HV_HOST_ID_FIRST in host pages */

enum hv_sift_side { HV_SIFT_OTHERS, HV_SIFT_HOST, HV_SIFT_NR };

/* A page under construction. */
struct hv_sift_page {
	uint8_t *bytes;	  /* owned */
	size_t len_bytes; /* of its events */
	uint64_t time_ns; /* of the last event */
};

struct hv_page_sift {
	size_t page_bytes;
	struct hv_sift_page pages[HV_SIFT_NR];
	struct hv_raw_events events;
	enum hv_sift_side lost_side;
};

/* PAGE_BYTES is the maximum size of a page, and must be more than 64. */
void hv_page_sift_init(struct hv_page_sift *s, size_t page_bytes);
void hv_page_sift_deinit(struct hv_page_sift *s);

/* Returns whether PAGE has an event of the host. */
bool hv_page_sift_has_host(struct hv_span page);
/* Starts to split PAGE, which S borrows. Returns false if PAGE is invalid or has no events,
 * or if its events do not fit into PAGE_BYTES. */
bool hv_page_sift_begin(struct hv_page_sift *s, struct hv_span page);
/* Returns the next page, of PAGE_BYTES. S owns it until the next call. Returns false at the end. */
bool hv_page_sift_next(struct hv_page_sift *s, enum hv_sift_side *ret_side, struct hv_span *ret);
