/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The implementation of a buffer, for the files of this folder that read or fill one.
 *
 * Each ring is a lane. Lane 0 contains the host's markers, because the host never writes to a
 * guest's rings (docs/internals/ring.md); the other lanes are the rings of the vCPUs. A buffer in
 * host memory has no lane 0: markers go into the ring of vCPU 0, to which they belong in both
 * cases. */
#pragma once

#include "ringbuf/ring.h"
#include "tracer/events/buffer.h"
#include "tracer/events/merge.h"
#include "tracer/events/names.h"

struct hv_buffer {
	struct hv_decoder *decoder; /* borrowed */
	unsigned nr_cpus;
	struct hv_buffer_lane *lanes; /* owned, 1 + nr_cpus */
	struct hv_buffer_lane *cpus;  /* the lanes of the vCPUs */
	unsigned nr_refs;
	unsigned nr_clears; /* incremented when any lane is cleared */
	void *markers;	    /* owned; ring of lane 0; NULL: the lane is empty */
	void *memory;	    /* owned; rings in host memory; NULL: the guest's rings */
	size_t memory_bytes;
	enum hv_when_full when_full;
	enum hv_trace_clock clock;
};

struct hv_buffer_lane {
	const struct hv_state *state;	 /* borrowed */
	const struct hv_record *records; /* borrowed; NR_SLOTS records after the state */
	uint64_t nr_slots;
	uint64_t size_bytes;		     /* only the newest SIZE_BYTES count */
	uint64_t nr_kept;		     /* SIZE_BYTES as a number of records */
	struct hv_merge_checkpoint consumed; /* how far the lane is consumed */
	unsigned nr_clears;		     /* incremented at each clear, for open cursors */
	uint64_t nr_lost;    /* lost since the last clear, as found by consuming cursors */
	uint64_t nr_read;    /* records consumed since the last clear */
	uint64_t nr_dropped; /* events dropped since the last clear */
	uint32_t named_pid;  /* task of the last task record written, and its name */
	char named_comm[HV_COMM_LEN];
};

static inline unsigned hv_lane_of_cpu(unsigned cpu)
{
	return 1 + cpu;
}

/* Returns the vCPU that the events of a lane belong to. */
static inline unsigned hv_cpu_of_lane(unsigned lane)
{
	return lane ? lane - 1 : 0;
}

/* Consecutive lanes: one vCPU's, or all (-1). */
struct hv_lanes {
	unsigned first, nr;
};

static inline struct hv_lanes hv_lanes_of(const struct hv_buffer *b, int only_cpu)
{
	unsigned first = hv_lane_of_cpu(only_cpu < 0 ? 0 : (unsigned)only_cpu);
	unsigned nr = only_cpu < 0 ? b->nr_cpus : 1;

	if (only_cpu <= 0 && b->markers)
		return (struct hv_lanes){0, nr + 1};
	return (struct hv_lanes){first, nr};
}

/* Creates a reader of a lane's ring, starting at position 0. */
void hv_buffer_ring(const struct hv_buffer *b, unsigned lane, struct hv_ring *ret);

/* Creates a buffer without rings. */
struct hv_buffer *hv_buffer_alloc(struct hv_decoder *d, unsigned nr_cpus);
/* Writes NR records to the ring of a lane that only the host fills. */
void hv_buffer_put_records(struct hv_buffer *b, unsigned lane, const struct hv_record *records,
			   size_t nr);
