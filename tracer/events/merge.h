/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Merges the rings of all vCPUs into one stream of records in time order.
 *
 * In a ring, positions are reserved before the clock is read. So a record that was interrupted in
 * between, or whose task moved to another vCPU, can be younger than records after it. The merge
 * corrects this without a time window: any record, on any vCPU, that is older than a record already
 * read was reserved before that record was complete. After it has read a record, the merge
 * therefore reads every ring up to its head at that later time (a *round*); the oldest record is
 * then the oldest there is. The head of an idle vCPU does not move and delays nothing.
 *
 * A CPU's store of its head can become visible to others with a delay, while its record already has
 * a time. So heads are read HV_MERGE_SETTLE_NS after the records that they are compared with.
 *
 * Bounds: at most HV_MERGE_AHEAD records (and never more than a ring has) are kept per vCPU. A
 * record that is out of order by more than that, less 64, keeps its position in the ring. A
 * position that is reserved but not written delays the others for at most HV_MERGE_WAIT_NS. If the
 * clocks of vCPUs disagree, the order shows it, as in the guest's own trace.
 *
 * decode.h interprets records. The caller maps the rings. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ringbuf/ring.h"
#include "tracer/events/backlog.h"

#define HV_MERGE_AHEAD	   8192
#define HV_MERGE_WAIT_NS   20000000
/* Longer than a CPU's store buffer needs to reach memory. */
#define HV_MERGE_SETTLE_NS 5000

/* Converts NR counter values of CPU in TIMES to times (hv_clock_all_ns); at most HV_MERGE_RUN. If
 * ns is NULL, the values themselves are the times. */
#define HV_MERGE_RUN 64
struct hv_merge_clock {
	void (*ns)(void *ctx, unsigned cpu, uint64_t *times, size_t nr);
	void *ctx;
};

/* How far a ring was returned, so that another merge can continue exactly there. All records before
 * POSITION were returned. Of the records from POSITION to READ, those up to (TSC, LAST) were. To
 * read from position P on, use {P, P, 0, 0, 0}. */
struct hv_merge_mark {
	uint64_t position;
	uint64_t read;
	uint64_t tsc;  /* of the youngest record returned */
	uint64_t last; /* position of that record */
	uint64_t lost; /* records skipped and not yet reported with a returned record */
};

/* Returns the mark at which all records before POSITION were returned. */
static inline struct hv_merge_mark hv_merge_mark_at(uint64_t position)
{
	return (struct hv_merge_mark){position, position, 0, position - 1, 0};
}

struct hv_merge_item {
	struct hv_record record; /* of a known kind; others count as lost */
	unsigned cpu;
	uint64_t position;
	uint64_t run; /* equal for two records of a vCPU if none was lost between them */
	uint64_t time_ns;
	uint64_t lost_before; /* for events: records lost on this vCPU since its last event */
};

struct hv_merge;

/* Merges RINGS of vCPUs FIRST_CPU to FIRST_CPU + NR - 1, from MARKS on, or from their own positions
 * if MARKS is NULL. Copies RINGS; their memory remains the caller's and must outlive the merge. */
struct hv_merge *hv_merge_new(const struct hv_ring *rings, unsigned first_cpu, size_t nr,
			      const struct hv_merge_mark *marks, struct hv_merge_clock clock);
void hv_merge_free(struct hv_merge *m);

/* Ends the stream at the records that are reserved now. */
void hv_merge_stop_here(struct hv_merge *m);

enum hv_merge_until {
	HV_MERGE_LIVE,	/* waits for positions that are being written, within the bounds above */
	HV_MERGE_FINAL, /* does not wait: an unwritten position is lost if later ones are written */
};

/* Returns the next record, if there is one. NOW_NS is the caller's monotonic clock. If a guest
 * writes faster than the caller reads, this never ends: limit the number of calls, or call
 * hv_merge_stop_here. */
bool hv_merge_next(struct hv_merge *m, uint64_t now_ns, enum hv_merge_until until,
		   struct hv_merge_item *ret);

/* Returns the record that hv_merge_next would return, if it was already read and no ring must be
 * read after it. Returns false otherwise: call hv_merge_next. */
bool hv_merge_take(struct hv_merge *m, struct hv_merge_item *ret);

/* Returns the next records that hv_merge_take would return and that belong to one vCPU, *RET_CPU,
 * and are consecutive in memory: *RET_NR, at most MAX, in order. NULL: none. Nothing was lost
 * before any of them. Does not take them; they are valid until another function is called. */
const struct hv_kept *hv_merge_run(const struct hv_merge *m, size_t max, unsigned *ret_cpu,
				   size_t *ret_nr);
/* Takes the first NR records, at least 1, of the last hv_merge_run(). */
void hv_merge_take_run(struct hv_merge *m, size_t nr);

/* Finds the next record of CPU alone, like hv_merge_next, without taking it. ret->lost_before is
 * not 0 if records were lost just before it, but is not their number. */
bool hv_merge_peek(struct hv_merge *m, unsigned cpu, uint64_t now_ns, enum hv_merge_until until,
		   struct hv_merge_item *ret);
/* Takes the record of the last hv_merge_peek() for CPU, out of order. */
void hv_merge_skip(struct hv_merge *m, unsigned cpu, uint64_t now_ns, enum hv_merge_until until);

/* Counts ITEM, the last one that hv_merge_next returned for its vCPU, as lost because it is
 * unusable, like a record of an unknown kind. Losses before it are reported with the next event. */
void hv_merge_lose(struct hv_merge *m, const struct hv_merge_item *item);

/* RET has room for one mark per ring. Reads all rings, so call it once per batch, not per
 * record. */
void hv_merge_marks(const struct hv_merge *m, struct hv_merge_mark *ret);

/* Returns the number of records lost on all vCPUs since the merge started, including those not yet
 * reported in lost_before. */
uint64_t hv_merge_lost(const struct hv_merge *m);
