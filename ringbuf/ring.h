/* The reader of one vCPU's ring, over plain memory that a guest writes at any time.
 * A record is copied once and then checked: every word must carry the lap bit of its position, and
 * the writer must not have come round meanwhile. Nothing torn is returned, every loss is counted.
 * Leaves to others: who maps the memory, what a record means (tracer/), order between vCPUs
 * (merge.h). One thread per ring reader. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ringbuf/abi.h"

#define HV_RING_STALL_NS 100000000

struct hv_ring {
	const struct hv_state *state;	 /* borrowed, shared with the guest */
	const struct hv_record *records; /* borrowed, shared with the guest */
	uint64_t nr_slots;		 /* power of two */
	uint64_t nr_kept;	   /* positions behind the head that count, at most NR_SLOTS */
	uint64_t position;	   /* next position to read */
	uint64_t lost;		   /* positions passed without a record, ever */
	uint64_t stalled_position; /* see hv_ring_read */
	uint64_t stalled_since_ns;
	uint64_t stalled_head; /* head at that time */
};

/* STATE and RECORDS stay the caller's and must outlive the reader. Reading starts at position 0,
 * and all slots count: what is to count less of sets nr_kept. */
void hv_ring_init(struct hv_ring *ring, const struct hv_state *state,
		  const struct hv_record *records, uint64_t nr_slots);

/* Positions ever reserved, as the guest says; a head that runs backwards or jumps by more than is
 * possible is the guest's lie: it costs lost records, nothing else. */
uint64_t hv_ring_head(const struct hv_ring *ring);

enum hv_ring_result {
	HV_RING_EMPTY,	/* nothing (complete) at the position yet */
	HV_RING_RECORD, /* *ret is the record at the position, lap bits cleared; position moved on
			 */
	HV_RING_LOST,	/* *ret_lost positions were passed: overwritten or torn */
};

/* Takes the next record. A position that is reserved but stays unwritten for HV_RING_STALL_NS after
 * it was first seen so (NOW_NS: the caller's monotonic clock), while the ring moved on, is passed
 * as lost: a vCPU may be scheduled out in the middle of a stub, a hostile guest may never write it.
 */
enum hv_ring_result hv_ring_read(struct hv_ring *ring, uint64_t now_ns, struct hv_record *ret,
				 uint64_t *ret_lost);
