/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the ring of one vCPU from memory that the guest can write to at any time.
 *
 * Each record is copied once and then checked: every word must have been written for the record's
 * position, and the slot must not have been overwritten since. The reader never returns a torn
 * record, and counts all losses. Positions count records from 0; the guest's head counts bytes
 * (struct hv_state).
 *
 * tracer/events/ decodes records and orders them across vCPUs. One thread per reader. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ringbuf/abi.h"

#define HV_RING_STALL_NS 100000000

/* Returns the shift from a byte position to a key: log2 of the smallest nonzero key. */
static inline unsigned hv_key_shift(uint64_t nr_slots)
{
	return 64 - HV_LAP_BITS - (unsigned)__builtin_ctzll(nr_slots * sizeof(struct hv_record));
}

/* Returns the mask that extracts from a head the byte offset of the next record. It clears the bits
 * below a record's length, which only a malicious guest sets. */
static inline uint64_t hv_ring_mask(uint64_t nr_slots)
{
	return (nr_slots - 1) * sizeof(struct hv_record);
}

/* Returns the difference between the keys of consecutive records. */
static inline uint64_t hv_ring_key_step(uint64_t nr_slots)
{
	return (uint64_t)sizeof(struct hv_record) << hv_key_shift(nr_slots);
}

/* Returns the number that an event's data records must stay below: HV_DATA_RECORDS_MAX + 1, or less
 * in a very small ring, where an event may use at most half of the records. */
static inline uint64_t hv_ring_entry_records(uint64_t nr_slots)
{
	return nr_slots / 2 - 1 < HV_DATA_RECORDS_MAX + 1 ? nr_slots / 2 - 1
							  : HV_DATA_RECORDS_MAX + 1;
}

/* Returns the maximum length of an event's entry in bytes: HV_ENTRY_LEN_MAX, or less in a very
 * small ring. */
static inline uint64_t hv_ring_entry_len(uint64_t nr_slots)
{
	uint64_t nr_data = hv_ring_entry_records(nr_slots) - 1;

	return (HV_ENTRY_HEADER_LEN + nr_data * HV_DATA_LEN) / HV_FETCH_ALIGN * HV_FETCH_ALIGN;
}

/* Returns the key that is XORed with each word of the record at POSITION. */
static inline uint64_t hv_record_key(uint64_t position, uint64_t nr_slots)
{
	return (position + nr_slots) * sizeof(struct hv_record) << hv_key_shift(nr_slots);
}

/* Returns the head that makes POSITION the next one to be reserved. */
static inline uint64_t hv_ring_head_at(uint64_t position, uint64_t nr_slots)
{
	return (position + nr_slots) * sizeof(struct hv_record);
}

struct hv_ring {
	const struct hv_state *state;	 /* borrowed, shared with the guest */
	const struct hv_record *records; /* borrowed, shared with the guest */
	uint64_t nr_slots;		 /* power of two */
	uint64_t nr_kept; /* the last nr_kept records before the head are valid; at most nr_slots */
	uint64_t position; /* next position to read */
	uint64_t lost;	   /* positions skipped without a record, since init */
	/* Seen unwritten while a later one was reserved; see hv_ring_read(). UINT64_MAX: none. */
	uint64_t stalled_position;
	uint64_t stalled_since_ns;
	uint64_t stalled_head; /* head at stalled_since_ns */
};

/* Borrows STATE and RECORDS, which must outlive the reader. Starts at position 0 with nr_kept =
 * NR_SLOTS; the caller can lower nr_kept. The head of an empty ring is hv_ring_head_at(0). */
void hv_ring_init(struct hv_ring *ring, const struct hv_state *state,
		  const struct hv_record *records, uint64_t nr_slots);

/* Returns the number of positions ever reserved, according to the guest. A guest that moves the
 * head backwards or too far ahead only loses records. */
static inline uint64_t hv_ring_head(const struct hv_ring *ring)
{
	return __atomic_load_n(&ring->state->head, __ATOMIC_ACQUIRE) / sizeof(struct hv_record) -
	       ring->nr_slots;
}

enum hv_ring_result {
	HV_RING_EMPTY,	/* no complete record at the position */
	HV_RING_RECORD, /* *ret is the record, without its key */
	HV_RING_LOST,	/* *ret_lost positions were skipped: overwritten or torn */
};

/* Reads the next record and advances the position. NOW_NS is a monotonic clock of the caller.
 *
 * If a reserved position stays unwritten for HV_RING_STALL_NS after a later one was seen, it is
 * skipped and counted as lost: the vCPU may be preempted inside a trampoline, and a malicious guest
 * may never write it. RET is undefined unless the result is HV_RING_RECORD. */
enum hv_ring_result hv_ring_read(struct hv_ring *ring, uint64_t now_ns, struct hv_record *ret,
				 uint64_t *ret_lost);

/* Reads up to MAX consecutive records and returns their number. This is faster than hv_ring_read()
 * because it checks the head once for all. Records are stored STRIDE_BYTES apart, starting at RET.
 * If the result is 0, call hv_ring_read() for the reason. */
size_t hv_ring_read_run(struct hv_ring *ring, size_t max, struct hv_record *ret,
			size_t stride_bytes);
