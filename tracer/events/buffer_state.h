/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The insides of a buffer, for the files of this room that read or fill one.
 *
 * Each ring is a lane. Lane 0 has the marks of the host, which writes nothing into the rings of a
 * guest (docs/internals/ring.md); the others are the rings of the vCPUs. A buffer in host memory
 * has no lane 0: marks go into its ring of vCPU 0, whose events they are in both. */
#pragma once

#include "ringbuf/ring.h"
#include "tracer/events/buffer.h"
#include "tracer/events/comms.h"
#include "tracer/events/merge.h"

struct hv_buffer {
	struct hv_decoder *decoder; /* borrowed */
	unsigned nr_cpus;
	struct hv_buffer_lane *lanes; /* owned, 1 + nr_cpus */
	struct hv_buffer_lane *cpus;  /* those of the vCPUs */
	unsigned nr_refs;
	unsigned nr_clears; /* of all lanes; changes when one of theirs does */
	void *marks;	    /* owned: lane 0's ring; NULL: the lane is empty */
	void *memory;	    /* owned: the vCPUs' rings in host memory; NULL: they are the guest's */
	size_t memory_bytes;
	enum hv_when_full when_full;
	enum hv_trace_clock clock;
};

struct hv_buffer_lane {
	const struct hv_state *state;	 /* borrowed */
	const struct hv_record *records; /* borrowed, NR_SLOTS of them after the state */
	uint64_t nr_slots;
	uint64_t size_bytes;	   /* of the newest records, which count */
	uint64_t nr_kept;	   /* the same in records */
	struct hv_merge_mark mark; /* how much is consumed */
	unsigned nr_clears;	   /* open cursors notice a change */
	uint64_t nr_lost;    /* records that consuming cursors found lost since the last clear */
	uint64_t nr_read;    /* records consumed since then */
	uint64_t nr_dropped; /* events dropped since then */
	uint32_t named_pid;  /* the task of the last task record that was put, and its name */
	char named_comm[HV_COMM_LEN];
};

static inline unsigned hv_lane_of_cpu(unsigned cpu)
{
	return 1 + cpu;
}

/* The vCPU that a lane's events are of. */
static inline unsigned hv_cpu_of_lane(unsigned lane)
{
	return lane ? lane - 1 : 0;
}

/* Lanes that are side by side: those of one vCPU, or of all (-1). */
struct hv_lanes {
	unsigned first, nr;
};

static inline struct hv_lanes hv_lanes_of(const struct hv_buffer *b, int only_cpu)
{
	unsigned first = hv_lane_of_cpu(only_cpu < 0 ? 0 : (unsigned)only_cpu);
	unsigned nr = only_cpu < 0 ? b->nr_cpus : 1;

	if (only_cpu <= 0 && b->marks)
		return (struct hv_lanes){0, nr + 1};
	return (struct hv_lanes){first, nr};
}

/* Makes a reader of a lane's ring that begins at its first position. */
void hv_buffer_ring(const struct hv_buffer *b, unsigned lane, struct hv_ring *ret);

/* Makes a buffer without any rings. */
struct hv_buffer *hv_buffer_alloc(struct hv_decoder *d, unsigned nr_cpus);
/* As hv_buffer_set_ring. */
void hv_buffer_set_lane(struct hv_buffer *b, unsigned lane, const struct hv_state *state,
			uint64_t ring_bytes, uint64_t size_bytes);
/* Puts NR records into the ring of a lane that only the host fills. */
void hv_buffer_put_records(struct hv_buffer *b, unsigned lane, const struct hv_record *records,
			   size_t nr);
