/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Merges the rings of all vCPUs into one stream of records in time order.
 *
 * Within a ring, positions are reserved before the clock is read, so a record that was interrupted
 * (or whose task moved to another vCPU) in between is younger than records after it. The merge
 * needs no time window to correct this: whatever is older than a record that was read, on any vCPU,
 * was reserved before that record was complete. So it reads every ring up to the heads as they are
 * *after* a record was read; the oldest record then is the oldest there is. The head of an idle
 * vCPU does not move, and delays nothing.
 *
 * A CPU may keep a head that it has stored to itself for a moment, while its record already has a
 * time. So the heads are read HV_MERGE_SETTLE_NS after the records that they are compared with.
 *
 * Bounds: at most HV_MERGE_AHEAD records (and never more than a ring has) are kept for each vCPU;
 * an inversion over more records than that, less 64, is returned as it was written. A position that
 * is reserved but not yet written delays the others for at most HV_MERGE_WAIT_NS. If the clocks of
 * vCPUs disagree, this shows, as it does in the guest's own trace.
 * Leaves to others: what a record means (decode.h), who maps the rings. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ringbuf/ring.h"
#include "tracer/events/backlog.h"

#define HV_MERGE_AHEAD	   8192
#define HV_MERGE_WAIT_NS   20000000
/* Longer than what is in the store buffer of a CPU takes to arrive in memory. */
#define HV_MERGE_SETTLE_NS 5000

/* Makes times of NR counter values of CPU in TIMES (hv_clock_all_ns); at most HV_MERGE_RUN. ns
 * NULL: a time is the value itself. */
#define HV_MERGE_RUN 64
struct hv_merge_clock {
	void (*ns)(void *ctx, unsigned cpu, uint64_t *times, size_t nr);
	void *ctx;
};

/* How far one ring was returned, so that another merge can go on exactly there. Returned are all
 * records before POSITION, and of those before READ the ones not after (TSC, LAST). To read from
 * position P on: {P, P, 0, 0, 0}. */
struct hv_merge_mark {
	uint64_t position;
	uint64_t read;
	uint64_t tsc;  /* of the youngest record returned */
	uint64_t last; /* its position */
	uint64_t lost; /* records that were passed, and that no returned record has counted yet */
};

/* All records before POSITION are returned. */
static inline struct hv_merge_mark hv_merge_mark_at(uint64_t position)
{
	return (struct hv_merge_mark){position, position, 0, position - 1, 0};
}

struct hv_merge_item {
	struct hv_record record; /* of a known kind; others count as lost */
	unsigned cpu;
	uint64_t position;
	uint64_t run; /* the same for two records of a vCPU if no record was lost between them */
	uint64_t time_ns;
	uint64_t lost_before; /* of an event: records lost on this vCPU since its last event */
};

struct hv_merge;

/* Merges RINGS, those of vCPUs FIRST_CPU to FIRST_CPU + NR - 1, from MARKS on, or from their own
 * positions if MARKS is NULL. Copies RINGS; their memory stays the caller's and outlives the
 * merge. */
struct hv_merge *hv_merge_new(const struct hv_ring *rings, unsigned first_cpu, size_t nr,
			      const struct hv_merge_mark *marks, struct hv_merge_clock clock);
void hv_merge_free(struct hv_merge *m);

/* Ends the stream at the records that are reserved now. */
void hv_merge_stop_here(struct hv_merge *m);

enum hv_merge_until {
	HV_MERGE_LIVE,	/* waits for positions that are being written, within the bounds above */
	HV_MERGE_FINAL, /* waits for nothing: a position that is not written is lost if later ones
			   are */
};

/* Returns the next record, if there is one now. NOW_NS: the caller's monotonic clock. If a guest
 * writes faster than the caller reads, this never ends: bound the calls, or call
 * hv_merge_stop_here. */
bool hv_merge_next(struct hv_merge *m, uint64_t now_ns, enum hv_merge_until until,
		   struct hv_merge_item *ret);

/* Returns the record that hv_merge_next would return, if that one was read already and no ring has
 * to be read for those after it. False: call hv_merge_next. */
bool hv_merge_take(struct hv_merge *m, struct hv_merge_item *ret);

/* Shows the records that hv_merge_take would return next, as far as they are of one vCPU and lie
 * side by side: RET_NR of them, at most MAX, in order, of RET_CPU. NULL: there is none. Nothing was
 * lost before any of them. They stay, and are valid until another function is called. */
const struct hv_kept *hv_merge_run(const struct hv_merge *m, size_t max, unsigned *ret_cpu,
				   size_t *ret_nr);
/* Takes the first NR, at least 1, of the records that hv_merge_run showed last. */
void hv_merge_take_run(struct hv_merge *m, size_t nr);

/* Shows the next record of CPU alone, like hv_merge_next. The record stays. ret->lost_before says
 * whether records were lost just before it, not how many. */
bool hv_merge_peek(struct hv_merge *m, unsigned cpu, uint64_t now_ns, enum hv_merge_until until,
		   struct hv_merge_item *ret);
/* Takes the record that hv_merge_peek showed last of CPU, out of turn. */
void hv_merge_skip(struct hv_merge *m, unsigned cpu, uint64_t now_ns, enum hv_merge_until until);

/* ITEM, which hv_merge_next returned last of its vCPU, is of no use: it counts as lost, as a record
 * of no known kind does, and what was lost before it is told with the next event. */
void hv_merge_lose(struct hv_merge *m, const struct hv_merge_item *item);

/* RET has room for one mark for each ring. Looks at all rings, so call it once for a batch, not for
 * each record. */
void hv_merge_marks(const struct hv_merge *m, struct hv_merge_mark *ret);

/* Returns how many records were lost on all vCPUs since the merge began, whether or not lost_before
 * has said so. */
uint64_t hv_merge_lost(const struct hv_merge *m);
