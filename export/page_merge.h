/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sorts the events of all vCPUs by time. Each vCPU's events arrive as pages.
 *
 * Pages arrive in turns: in each turn, the caller adds everything that is available from each vCPU.
 * So after a turn, all events older than the newest page of the previous turn have arrived and can
 * be returned in order, without waiting for quiet vCPUs.
 *
 * Times come from the guest, and can be years ahead. To bound the wait for such an event, events
 * are returned early when too many bytes are queued. page_decode.h decodes the events. Pure. */
#pragma once

#include "base/text.h"
#include "export/raw_events.h"

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
