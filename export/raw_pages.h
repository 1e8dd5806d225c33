/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages of trace_pipe_raw: reads their events, joins pages, sorts the events of all vCPUs, and
 * separates the events of the host. page_decode.h decodes the payloads. Pure. */
#pragma once

#include "base/bytes.h"
#include "base/text.h"

/* -- the events of a page --------------------------------------------------------------------- */

/* Iterates over the events in a page of the kernel's ring buffer (see tree/format/raw_page.h). The
 * page can have any size and come from a modified file: nothing outside it is read. page_decode.h
 * decodes the payloads. */

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

/* -- joining pages ---------------------------------------------------------------------------- */

/* Combines several pages into one. A page of trace_pipe_raw contains the events that were available
 * when it was read, so a quiet vCPU produces many almost empty pages. The caller writes the
 * combined page. */

struct hv_page_joiner {
	uint8_t *page; /* owned, PAGE_BYTES long; zeroed after the events */
	size_t page_bytes;
	size_t len_bytes; /* of the events; 0: the page is empty */
	uint64_t time_ns; /* of the last event */
	uint64_t lost;	  /* as in struct hv_raw_events */
	bool has_lost;
	bool has_number;
};

void hv_page_joiner_init(struct hv_page_joiner *j, size_t page_bytes);
void hv_page_joiner_deinit(struct hv_page_joiner *j);

/* Adds the events of PAGE, which has PAGE_BYTES. Returns false if they do not fit, or if they must
 * start a page because events were lost before them: the caller then writes J's page, clears J and
 * retries. An empty J accepts every page. An invalid page counts as empty. */
bool hv_page_joiner_add(struct hv_page_joiner *j, struct hv_span page);
void hv_page_joiner_clear(struct hv_page_joiner *j);

/* -- merging pages by time -------------------------------------------------------------------- */

/* Sorts the events of all vCPUs by time. Each vCPU's events arrive as pages.
 *
 * Pages arrive in turns: in each turn, the caller adds everything that is available from each vCPU.
 * So after a turn, all events older than the newest page of the previous turn have arrived and can
 * be returned in order, without waiting for quiet vCPUs.
 *
 * Times come from the guest, and can be years ahead. To bound the wait for such an event, events
 * are returned early when too many bytes are queued. */

#define HV_PAGE_MERGE_BYTES (512u << 20) /* more than busy guests produce in two turns */

struct hv_merge_lane {
	struct hv_text pages; /* queued pages, all PAGE_BYTES long */
	size_t at;	      /* offset in PAGES after the page of EVENTS */
	struct hv_raw_events events;
	struct hv_raw_event next;
	bool has_next;
	bool is_first; /* NEXT is the first event of its page */
};

struct hv_page_merge {
	struct hv_merge_lane *lanes; /* owned, one per vCPU */
	unsigned nr_lanes;
	size_t page_bytes;
	uint64_t newest_ns; /* time of the newest page's first event */
	uint64_t limit_ns;  /* events up to this time can be returned */
	size_t max_bytes;   /* maximum size of queued pages */
};

struct hv_merged {
	unsigned cpu;
	struct hv_raw_event event; /* valid until a page is added */
	bool has_lost;		   /* events of this vCPU were lost just before this one */
	uint64_t lost;		   /* number of lost events; 0: unknown */
};

void hv_page_merge_init(struct hv_page_merge *m, unsigned nr_cpus, size_t page_bytes);
void hv_page_merge_deinit(struct hv_page_merge *m);

/* Copies PAGE. Ignores pages of another length. */
void hv_page_merge_add(struct hv_page_merge *m, unsigned cpu, struct hv_span page);
/* Ends a turn. */
void hv_page_merge_turn(struct hv_page_merge *m);
/* Ends the input: all events can be returned. */
void hv_page_merge_end(struct hv_page_merge *m);
/* Returns the oldest event. Returns false if none can be returned yet. */
bool hv_page_merge_next(struct hv_page_merge *m, struct hv_merged *ret);

/* -- separating the events of the host -------------------------------------------------------- */

/* Splits a page of trace_pipe_raw into pages with the host's events (tracer/events/host_event.h)
 * and pages with all other events, for formats that use two files.
 *
 * Times and payloads are unchanged except for the ids of host events: KernelShark reads an id as a
 * signed 16-bit number and reserves negative ones for itself. The note about lost events stays with
 * the other events, unless the page has only host events. The page can contain anything: events
 * after an invalid one are dropped. dat.c writes the pages. */

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
