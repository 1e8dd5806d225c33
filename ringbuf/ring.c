/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ringbuf/ring.h"

#include <stdbool.h>

/* After it was overtaken, a reader skips this many extra records, so that writers do not overtake
 * it again immediately. */
#define MARGIN_MAX 1024

void hv_ring_init(struct hv_ring *ring, const struct hv_state *state,
		  const struct hv_record *records, uint64_t nr_slots)
{
	*ring = (struct hv_ring){
		.state = state,
		.records = records,
		.nr_slots = nr_slots,
		.nr_kept = nr_slots,
		.stalled_position = UINT64_MAX,
	};
}

static bool runs_backwards(uint64_t ahead)
{
	return ahead >> 63;
}

/* Copies the record in SLOT. Returns true if every word was written with KEY, judging by its top
 * bits. The acquire ordering ensures that a head read later is not older than the words. */
static inline bool copy_slot(const struct hv_record *slot, uint64_t key, struct hv_record *ret)
{
	uint64_t wrong = 0;

#pragma GCC unroll 4
	for (unsigned i = 0; i < 4; i++) {
		uint64_t word = __atomic_load_n(&slot->word[i], __ATOMIC_ACQUIRE) ^ key;

		ret->word[i] = word;
		wrong |= word;
	}
	return !(wrong & HV_RECORD_ZEROS);
}

static const struct hv_record *slot_of(const struct hv_ring *ring, uint64_t position)
{
	return &ring->records[position & (ring->nr_slots - 1)];
}

/* Copies the record at POSITION. Returns false if it was not written for that position. */
static bool copy_record(const struct hv_ring *ring, uint64_t position, struct hv_record *ret)
{
	return copy_slot(slot_of(ring, position), hv_record_key(position, ring->nr_slots), ret);
}

static enum hv_ring_result pass(struct hv_ring *ring, uint64_t nr, uint64_t *ret_lost)
{
	ring->position += nr;
	if (__builtin_add_overflow(ring->lost, nr, &ring->lost))
		ring->lost = UINT64_MAX;
	*ret_lost = nr;
	return HV_RING_LOST;
}

/* Skips records that were overwritten: HEAD is more than nr_kept ahead. */
static enum hv_ring_result catch_up(struct hv_ring *ring, uint64_t head, uint64_t *ret_lost)
{
	uint64_t margin = ring->nr_kept / 8;

	if (runs_backwards(head - ring->position)) {
		/* The guest wrote an invalid head. The number of missing records is unknown, so
		 * count one. */
		ring->position = head - 1;
		return pass(ring, 1, ret_lost);
	}
	if (margin > MARGIN_MAX)
		margin = MARGIN_MAX;
	return pass(ring, head - ring->nr_kept + margin - ring->position, ret_lost);
}

/* The next position is reserved but not written. HV_RING_STALL_NS after a later one was reserved,
 * skips it and the unwritten positions after it that were reserved by then. The time does not begin
 * earlier: if the host takes the CPU from a vCPU that writes a record, the vCPU may continue with a
 * timer interrupt, which writes more records, before it completes this one. */
static enum hv_ring_result wait_or_pass(struct hv_ring *ring, uint64_t head, uint64_t now_ns,
					uint64_t *ret_lost)
{
	struct hv_record unused;
	uint64_t nr = 1;

	if (head - ring->position < 2) {
		ring->stalled_position = UINT64_MAX;
		return HV_RING_EMPTY;
	}
	if (ring->stalled_position != ring->position || now_ns < ring->stalled_since_ns) {
		ring->stalled_position = ring->position;
		ring->stalled_since_ns = now_ns;
		ring->stalled_head = head;
	}
	if (now_ns - ring->stalled_since_ns < HV_RING_STALL_NS)
		return HV_RING_EMPTY;
	while (ring->position + nr != ring->stalled_head && nr < head - ring->position &&
	       !copy_record(ring, ring->position + nr, &unused))
		nr++;
	return pass(ring, nr, ret_lost);
}

enum hv_ring_result hv_ring_read(struct hv_ring *ring, uint64_t now_ns, struct hv_record *ret,
				 uint64_t *ret_lost)
{
	uint64_t head = hv_ring_head(ring);

	if (head == ring->position)
		return HV_RING_EMPTY;
	if (head - ring->position > ring->nr_kept)
		return catch_up(ring, head, ret_lost);
	if (!copy_record(ring, ring->position, ret))
		return wait_or_pass(ring, head, now_ns, ret_lost);
	/* Lap numbers in keys wrap around. Check the head again to detect that the slot is being
	 * overwritten. */
	head = hv_ring_head(ring);
	if (head - ring->position > ring->nr_kept)
		return catch_up(ring, head, ret_lost);
	ring->position++;
	return HV_RING_RECORD;
}

/* Returns the number of consecutive records to read: at most MAX, AHEAD, and up to the end of the
 * ring. */
static size_t run_max(const struct hv_ring *ring, uint64_t ahead, size_t max)
{
	uint64_t to_end = ring->nr_slots - (ring->position & (ring->nr_slots - 1));

	if (max > ahead)
		max = (size_t)ahead;
	return max < to_end ? max : (size_t)to_end;
}

size_t hv_ring_read_run(struct hv_ring *ring, size_t max, struct hv_record *ret,
			size_t stride_bytes)
{
	const struct hv_record *slot = slot_of(ring, ring->position), *first = slot, *end;
	uint64_t key = hv_record_key(ring->position, ring->nr_slots);
	uint64_t step = sizeof(*slot) << hv_key_shift(ring->nr_slots);
	uint64_t ahead = hv_ring_head(ring) - ring->position;

	if (ahead > ring->nr_kept)
		return 0;
	for (end = slot + run_max(ring, ahead, max); slot < end && copy_slot(slot, key, ret);
	     slot++) {
		ret = (struct hv_record *)((char *)ret + stride_bytes);
		key += step;
	}
	/* The first slot read is the first to be overwritten, so checking it covers all. */
	if (hv_ring_head(ring) - ring->position > ring->nr_kept)
		return 0;
	ring->position += (size_t)(slot - first);
	return (size_t)(slot - first);
}
