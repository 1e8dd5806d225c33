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

#include "ringbuf/abi.h"
#include "ringbuf/ring.h"

/* -- the backlog of a ring --------------------------------------------------------------------- */

/* Records of one ring that were read and not yet returned, oldest first. Most arrive in order and
 * need no sorting. The others go through a heap, so that a guest cannot choose an order that is
 * slow. The merge bounds their number and decides which of them may be returned. */

struct hv_kept {
	struct hv_record record;
	uint64_t position;
	uint64_t time_ns;
	uint64_t round; /* number of the merge round that read it */
	uint64_t run;	/* see struct hv_merge_item */
};

/* Zero-initialised: empty. */
struct hv_backlog {
	struct hv_kept *run;	/* owned; record N is at N % RUN_CAP */
	size_t run_first;	/* the first record, in order */
	size_t run_end;		/* one past the last record */
	size_t run_cap;		/* a power of two, or 0 */
	uint64_t run_end_ns;	/* time of the last record added to the run */
	uint64_t next_position; /* one past the position of the last record added */
	unsigned goes_back;	/* not 0: positions went back since the backlog was empty */
	struct hv_kept *heap;	/* owned; records that arrived after a younger record */
	size_t nr_heap;
	size_t heap_cap;
};

void hv_backlog_deinit(struct hv_backlog *b);

static inline size_t hv_backlog_nr(const struct hv_backlog *b)
{
	return b->run_end - b->run_first + b->nr_heap;
}

static inline struct hv_kept *hv_backlog_run_at(const struct hv_backlog *b, size_t number)
{
	return &b->run[number & (b->run_cap - 1)];
}

/* Slow paths of the functions below, for records that are out of order. */
void hv_backlog_grow(struct hv_backlog *b);
void hv_backlog_heap_add(struct hv_backlog *b, const struct hv_kept *kept);
const struct hv_kept *hv_backlog_first_of_both(const struct hv_backlog *b);
void hv_backlog_drop_first_of_both(struct hv_backlog *b);

/* Returns room for *RET_NR records, at least one. The caller reads records from POSITION on into it
 * and adds them one by one, or skips them. */
static inline struct hv_kept *hv_backlog_room(struct hv_backlog *b, uint64_t position,
					      size_t *ret_nr)
{
	size_t used = b->run_end - b->run_first, to_end;

	if (used == b->run_cap)
		hv_backlog_grow(b);
	if (!used)
		b->goes_back = b->run_end_ns = 0;
	else if ((int64_t)(position - b->next_position) < 0)
		b->goes_back = 1;
	to_end = b->run_cap - (b->run_end & (b->run_cap - 1));
	*ret_nr = to_end < b->run_cap - used ? to_end : b->run_cap - used;
	return hv_backlog_run_at(b, b->run_end);
}

/* Adds KEPT, which is in the room. Records are sorted by time, then by position. Positions ascend
 * unless the guest moves its head back. */
static inline void hv_backlog_add(struct hv_backlog *b, const struct hv_kept *kept)
{
	struct hv_kept *end = hv_backlog_run_at(b, b->run_end);

	b->next_position = kept->position + 1;
	if (kept->time_ns < b->run_end_ns) {
		hv_backlog_heap_add(b, kept);
		return;
	}
	if (kept != end) /* an earlier record in the room was skipped, or is in the heap */
		*end = *kept;
	b->run_end_ns = kept->time_ns;
	b->run_end++;
}

/* Returns the oldest record, or NULL. Valid until the next room, add or drop. */
static inline const struct hv_kept *hv_backlog_first(const struct hv_backlog *b)
{
	if (b->nr_heap)
		return hv_backlog_first_of_both(b);
	return b->run_first < b->run_end ? hv_backlog_run_at(b, b->run_first) : NULL;
}

/* Returns the first record of the run and how many consecutive ones follow in memory. They are in
 * order; records in the heap are not included. */
static inline const struct hv_kept *hv_backlog_beside(const struct hv_backlog *b, size_t *ret_nr)
{
	size_t nr = b->run_end - b->run_first, to_end;

	*ret_nr = 0;
	if (!nr)
		return NULL;
	to_end = b->run_cap - (b->run_first & (b->run_cap - 1));
	*ret_nr = nr < to_end ? nr : to_end;
	return hv_backlog_run_at(b, b->run_first);
}

/* Drops the oldest record, which must exist. */
static inline void hv_backlog_drop_first(struct hv_backlog *b)
{
	if (b->nr_heap)
		hv_backlog_drop_first_of_both(b);
	else
		b->run_first++;
}

/* Returns POSITION or the lowest position of any record, whichever is lower. */
uint64_t hv_backlog_lowest(const struct hv_backlog *b, uint64_t position);

/* -- the merge --------------------------------------------------------------------------------- */

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
struct hv_merge_checkpoint {
	uint64_t position;
	uint64_t read;
	uint64_t tsc;  /* of the youngest record returned */
	uint64_t last; /* position of that record */
	uint64_t lost; /* records skipped and not yet reported with a returned record */
};

/* Returns the checkpoint at which all records before POSITION were returned. */
static inline struct hv_merge_checkpoint hv_merge_checkpoint_at(uint64_t position)
{
	return (struct hv_merge_checkpoint){position, position, 0, position - 1, 0};
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

/* Merges RINGS of vCPUs FIRST_CPU to FIRST_CPU + NR - 1, from CHECKPOINTS on, or from their own
 * positions if CHECKPOINTS is NULL. Copies RINGS; their memory remains the caller's and must
 * outlive the merge. */
struct hv_merge *hv_merge_new(const struct hv_ring *rings, unsigned first_cpu, size_t nr,
			      const struct hv_merge_checkpoint *checkpoints,
			      struct hv_merge_clock clock);
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

/* RET has room for one checkpoint per ring. Reads all rings, so call it once per batch, not per
 * record. */
void hv_merge_checkpoints(const struct hv_merge *m, struct hv_merge_checkpoint *ret);

/* Returns the number of records lost on all vCPUs since the merge started, including those not yet
 * reported in lost_before. */
uint64_t hv_merge_lost(const struct hv_merge *m);
