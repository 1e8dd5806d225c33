/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sorts the events of a page of trace_pipe_raw into pages of those of the host
 * (tracer/events/host_event.h) and pages of all others, for files that keep them apart. Times and
 * payloads stay as they are, but for the ids of the host's events: KernelShark takes an id for a
 * signed number of 16 bits, of which the negative ones are its own. What says that events were lost
 * stays with the others, unless the page has only events of the host. The page may have any
 * contents: what follows an event that cannot be read is left out. Leaves to others: reading events
 * (raw_events.h), what becomes of the pages (dat_pair.c). Pure. */
#pragma once

#include "export/raw_events.h"

#define HV_SIFT_HOST_ID 100 /* in pages of the host, instead of HV_HOST_ID_FIRST */

enum hv_sift_side { HV_SIFT_OTHERS, HV_SIFT_HOST, HV_SIFT_NR };

/* A page that is being made. */
struct hv_sift_page {
	uint8_t *bytes;	  /* owned */
	size_t len_bytes; /* of its events */
	uint64_t time_ns; /* of the last one */
};

struct hv_page_sift {
	size_t page_bytes;
	struct hv_sift_page pages[HV_SIFT_NR];
	struct hv_raw_events events;
	enum hv_sift_side lost_side;
};

/* For pages of at most PAGE_BYTES, which is more than 64. */
void hv_page_sift_init(struct hv_page_sift *s, size_t page_bytes);
void hv_page_sift_deinit(struct hv_page_sift *s);

/* Whether PAGE has an event of the host. */
bool hv_page_sift_has_host(struct hv_span page);
/* S borrows PAGE. False: it has no events, or more bytes than S is for. */
bool hv_page_sift_begin(struct hv_page_sift *s, struct hv_span page);
/* The next page, of PAGE_BYTES, which is S's until the next call. False: there is none. */
bool hv_page_sift_next(struct hv_page_sift *s, enum hv_sift_side *ret_side, struct hv_span *ret);
