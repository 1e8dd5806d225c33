/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sorts the events of all vCPUs by time. Each vCPU has a lane: the pages of its trace_pipe_raw that
 * were read and not yet delivered.
 *
 * Pages arrive in turns: in each turn, the caller reads every vCPU and states whether it read
 * everything. After a turn, all events up to a limit have arrived and can be delivered. The limit
 * is the time of the newest page of the previous turns or, if that is earlier, of the last page of
 * a vCPU that has more to read. A turn without any page delivers all events. So the order is right
 * unless the guest's times are false, and no event waits forever. Memory is bounded: a full lane is
 * not read. */
#pragma once

#include <stdbool.h>

#include "export/raw_pages.h"

#define LANE_PAGE_BYTES_MAX (256u << 10) /* WIRE_DATA_MAX */

struct lane_page;

struct lane {
	struct lane_page *first, **last; /* owned; FIRST is being read */
	size_t len_bytes;		 /* of all pages */
	uint64_t page_ns;		 /* time of the last page */
	struct hv_raw_events events;	 /* of the first page */
	struct hv_raw_event next;
	bool has_events, has_next;
	bool has_lost; /* not yet reported for NEXT */
	bool has_more; /* the last turn did not read all that there was */
};

struct lanes {
	struct lane *list; /* owned */
	unsigned nr;
	size_t max_bytes;   /* of a lane */
	uint64_t newest_ns; /* time of the newest page of this turn */
	uint64_t limit_ns;  /* events up to this time can be delivered */
	bool any;	    /* this turn had a page */
};

struct lane_event {
	unsigned cpu;
	uint64_t time_ns;
	struct hv_span payload; /* valid until the next call */
	bool has_lost;		/* events of this vCPU were lost just before */
	uint64_t nr_lost;	/* 0: unknown */
};

/* Returns false if there is no memory. */
bool lanes_init(struct lanes *l, unsigned nr) hv_must_use;
void lanes_deinit(struct lanes *l);

void lanes_begin_turn(struct lanes *l);
bool lanes_is_full(const struct lanes *l, unsigned cpu);
/* Copies PAGE. Returns false if there is no memory. */
bool lanes_add(struct lanes *l, unsigned cpu, struct hv_span page) hv_must_use;
void lanes_end_turn(struct lanes *l);

/* Takes the oldest event. Returns false if none can be delivered yet. */
bool lanes_next(struct lanes *l, struct lane_event *ret);
/* Whether lanes_next() would return an event. */
bool lanes_can_deliver(struct lanes *l);
/* Whether there are events, now or after a later turn. */
bool lanes_have_events(struct lanes *l);
