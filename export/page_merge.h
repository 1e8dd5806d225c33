/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts the events of all vCPUs, which come as pages of each, into the order of their times.
 *
 * Pages come in turns: in a turn, all that each vCPU has for now is added. What is older than the
 * newest page of the turn before is complete then, and can be taken. So the order is right without
 * waiting for vCPUs that are quiet. Times are the guest's, which may say that an event is years
 * ahead; so that what follows it does not wait for ever, events are taken early when too many bytes
 * wait. Leaves to others: what the events mean (page_decode.h). Pure. */
#pragma once

#include "base/text.h"
#include "export/raw_events.h"

#define HV_PAGE_MERGE_BYTES (512u << 20) /* more than busy guests have in two turns */

struct hv_merge_lane {
	struct hv_text pages; /* those that were not taken yet; all have the same length */
	size_t at;	      /* in PAGES: behind the page of EVENTS */
	struct hv_raw_events events;
	struct hv_raw_event next;
	bool has_next;
	bool is_first; /* NEXT is the first event of its page */
};

struct hv_page_merge {
	struct hv_merge_lane *lanes; /* owned, one a vCPU */
	unsigned nr_lanes;
	size_t page_bytes;
	uint64_t newest_ns; /* the newest page's first event */
	uint64_t limit_ns;  /* events up to this time can be taken */
	size_t max_bytes;   /* that wait */
};

struct hv_merged {
	unsigned cpu;
	struct hv_raw_event event; /* valid until a page is added */
	bool has_lost;		   /* events of this vCPU were lost just before this one */
	uint64_t lost;		   /* how many; 0: unknown */
};

void hv_page_merge_init(struct hv_page_merge *m, unsigned nr_cpus, size_t page_bytes);
void hv_page_merge_deinit(struct hv_page_merge *m);

/* Copies PAGE. One of another length is ignored. */
void hv_page_merge_add(struct hv_page_merge *m, unsigned cpu, struct hv_span page);
/* A turn has ended. */
void hv_page_merge_turn(struct hv_page_merge *m);
/* No more pages come: all events can be taken. */
void hv_page_merge_end(struct hv_page_merge *m);
/* Takes the oldest event. False: none can be taken now. */
bool hv_page_merge_next(struct hv_page_merge *m, struct hv_merged *ret);
