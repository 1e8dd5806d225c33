/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reader of one vCPU's ring, over plain memory that a guest writes at any time.
 * A record is copied once and then checked: every word must have been written for that record's
 * position, and the writer must not have come round meanwhile. Nothing torn is returned, every loss
 * is counted. Positions count records from 0; what the guest adds to are bytes (struct hv_state).
 * Leaves to others: who maps the memory, what a record means (tracer/), order between vCPUs
 * (merge.h). One thread per ring reader. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ringbuf/abi.h"

#define HV_RING_STALL_NS 100000000

/* Returns log2 of the least key but 0 in a ring of NR_SLOTS. */
static inline unsigned hv_key_shift(uint64_t nr_slots)
{
	return 64 - HV_LAP_BITS - (unsigned)__builtin_ctzll(nr_slots * sizeof(struct hv_record));
}

/* Returns the bits of a head that say where in its ring, in bytes, the next record is. A head that
 * is not a multiple of a record's length, which only a guest that lies can write, loses the bits
 * below. */
static inline uint64_t hv_ring_mask(uint64_t nr_slots)
{
	return (nr_slots - 1) * sizeof(struct hv_record);
}

/* Returns what is added to the key of a record for that of the next one. */
static inline uint64_t hv_ring_key_step(uint64_t nr_slots)
{
	return (uint64_t)sizeof(struct hv_record) << hv_key_shift(nr_slots);
}

/* Returns how many records of data an event has fewer than: as many as an entry of the greatest
 * length needs, and of a very small ring they fill less than half. */
static inline uint64_t hv_ring_entry_records(uint64_t nr_slots)
{
	return nr_slots / 2 - 1 < HV_DATA_RECORDS_MAX + 1 ? nr_slots / 2 - 1
							  : HV_DATA_RECORDS_MAX + 1;
}

/* Returns how many bytes the entry of an event has at most, as far as there may be less of it: of a
 * ring that is not very small, HV_ENTRY_LEN_MAX. */
static inline uint64_t hv_ring_entry_len(uint64_t nr_slots)
{
	uint64_t nr_data = hv_ring_entry_records(nr_slots) - 1;

	return (HV_ENTRY_HEADER_LEN + nr_data * HV_DATA_LEN) / HV_FETCH_ALIGN * HV_FETCH_ALIGN;
}

/* Returns the key with which every word of the record at POSITION is combined. */
static inline uint64_t hv_record_key(uint64_t position, uint64_t nr_slots)
{
	return (position + nr_slots) * sizeof(struct hv_record) << hv_key_shift(nr_slots);
}

/* Returns the head of a ring in which POSITION is the next one to be reserved. */
static inline uint64_t hv_ring_head_at(uint64_t position, uint64_t nr_slots)
{
	return (position + nr_slots) * sizeof(struct hv_record);
}

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

/* Borrows STATE and RECORDS, which must outlive the reader. Reading begins at position 0, and all
 * slots count; to count fewer, the caller sets nr_kept. The head of an empty ring is
 * hv_ring_head_at(0). */
void hv_ring_init(struct hv_ring *ring, const struct hv_state *state,
		  const struct hv_record *records, uint64_t nr_slots);

/* Returns how many positions were ever reserved, as the guest says. If the head runs backwards, or
 * jumps too far, the guest lies; this costs lost records, nothing else. */
static inline uint64_t hv_ring_head(const struct hv_ring *ring)
{
	return __atomic_load_n(&ring->state->head, __ATOMIC_ACQUIRE) / sizeof(struct hv_record) -
	       ring->nr_slots;
}

enum hv_ring_result {
	HV_RING_EMPTY,	/* nothing (complete) at the position yet */
	HV_RING_RECORD, /* *ret is the record at the position, without its key; position moved on
			 */
	HV_RING_LOST,	/* *ret_lost positions were passed: overwritten or torn */
};

/* Takes the next record. A position that is reserved but stays unwritten for HV_RING_STALL_NS after
 * this was first seen (NOW_NS: the caller's monotonic clock), while the ring moves on, is passed as
 * lost: a vCPU may be scheduled out in the middle of a stub, and a hostile guest may never write
 * it. RET is undefined unless the result is HV_RING_RECORD. */
enum hv_ring_result hv_ring_read(struct hv_ring *ring, uint64_t now_ns, struct hv_record *ret,
				 uint64_t *ret_lost);

/* Takes up to MAX records, as far as they are complete, and returns how many. One look at the head
 * checks them all, so this costs less than hv_ring_read for each. The first goes to RET, each of
 * the others STRIDE_BYTES behind the one before. 0: hv_ring_read says why. */
size_t hv_ring_read_run(struct hv_ring *ring, size_t max, struct hv_record *ret,
			size_t stride_bytes);
