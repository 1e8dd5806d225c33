/* The rings of all vCPUs as one stream of records in time order.
 *
 * Within a ring, positions are reserved before the clock is read, so a record that was interrupted
 * (or whose task moved to another vCPU) in between is younger than records after it. The merge
 * needs no time window to put that right: whatever is older than a record that was read, on any
 * vCPU, was reserved before that record was complete. So it reads every ring up to the heads as
 * they are *after* a record was read; what is oldest then is the oldest there is. An idle vCPU's
 * head stands still and holds nothing back.
 *
 * Bounds: at most HV_MERGE_AHEAD records (and never more than a ring has) are kept a vCPU; an
 * inversion over more records than half of that comes out as written. A position that is reserved
 * but not yet written holds the others back for at most HV_MERGE_HOLD_NS.
 * Clocks of vCPUs that disagree show, as they do in the guest's own trace.
 * Leaves to others: what a record means (decode.h), who maps the rings. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ringbuf/ring.h"

#define HV_MERGE_AHEAD	 16384
#define HV_MERGE_HOLD_NS 20000000

/* The time of a tsc value that CPU read (hv_clock_ns). ns NULL: the tsc itself. */
struct hv_merge_clock {
	uint64_t (*ns)(void *ctx, unsigned cpu, uint64_t tsc);
	void *ctx;
};

/* How far one ring was returned: what another merge starts from to go on exactly there. Returned
 * are all records before POSITION, and of those before READ the ones not after (TSC, LAST). Reading
 * from position P on: {P, P, 0, 0, 0}. */
struct hv_merge_mark {
	uint64_t position;
	uint64_t read;
	uint64_t tsc;  /* of the youngest record returned */
	uint64_t last; /* its position */
	uint64_t lost; /* passed, and no record returned yet that says so */
};

/* Everything before POSITION is returned. */
static inline struct hv_merge_mark hv_merge_mark_at(uint64_t position)
{
	return (struct hv_merge_mark){position, position, 0, position - 1, 0};
}

struct hv_merge_item {
	struct hv_record record; /* of a known kind; others count as lost */
	unsigned cpu;
	uint64_t position;
	uint64_t run; /* no record of its vCPU was lost between it and others of the same run */
	uint64_t time_ns;
	uint64_t lost_before; /* of an event: records lost on this vCPU since its last event */
};

struct hv_merge;

/* RINGS are those of vCPUs FIRST_CPU to FIRST_CPU + NR - 1 (copied; their memory stays the caller's
 * and outlives the merge), read from MARKS, or from their own positions when MARKS is NULL. */
struct hv_merge *hv_merge_new(const struct hv_ring *rings, unsigned first_cpu, size_t nr,
			      const struct hv_merge_mark *marks, struct hv_merge_clock clock);
void hv_merge_free(struct hv_merge *m);

/* Ends the stream at what is reserved now: later records are not read. */
void hv_merge_stop_here(struct hv_merge *m);

enum hv_merge_until {
	HV_MERGE_LIVE,	/* waits for positions that are being written, within the bounds above */
	HV_MERGE_FINAL, /* waits for nothing: such positions are lost when later ones are there */
};

/* The next record, if there is one now. NOW_NS: the caller's monotonic clock. A guest that writes
 * faster than the caller reads never lets it end: bound the calls, or stop it here. */
bool hv_merge_next(struct hv_merge *m, uint64_t now_ns, enum hv_merge_until until,
		   struct hv_merge_item *ret);

/* What would come next if there were only CPU's ring; all else as hv_merge_next. It stays;
 * ret->lost_before tells of records lost just before it, not of their number. */
bool hv_merge_peek(struct hv_merge *m, unsigned cpu, uint64_t now_ns, enum hv_merge_until until,
		   struct hv_merge_item *ret);
/* Takes what hv_merge_peek showed last of CPU, out of turn. */
void hv_merge_skip(struct hv_merge *m, unsigned cpu, uint64_t now_ns, enum hv_merge_until until);

/* RET: room for one mark a ring. Looks through all records kept: for each batch, not for each
 * record. */
void hv_merge_marks(const struct hv_merge *m, struct hv_merge_mark *ret);

/* Records lost on all vCPUs since the merge began, returned as lost_before or not yet. */
uint64_t hv_merge_lost(const struct hv_merge *m);
