/* What a buffer is made of; for the files of this room that read or fill one. */
#pragma once

#include "ringbuf/ring.h"
#include "tracer/events/buffer.h"
#include "tracer/events/comms.h"
#include "tracer/events/merge.h"

struct hv_buffer {
	struct hv_decoder *decoder;    /* borrowed */
	const struct hv_state *states; /* borrowed, one a vCPU */
	unsigned nr_cpus;
	struct hv_buffer_cpu *cpus; /* owned, one a vCPU */
	unsigned nr_refs;
	void *memory; /* owned: states and records in host memory; NULL: they are the guest's */
	size_t memory_bytes;
	enum hv_when_full when_full;
	enum hv_trace_clock clock;
};

struct hv_buffer_cpu {
	const struct hv_record *records; /* borrowed, NR_SLOTS */
	uint64_t nr_slots;
	uint64_t size_bytes;	   /* what counts of them */
	uint64_t nr_kept;	   /* likewise */
	struct hv_merge_mark mark; /* what is consumed */
	unsigned nr_clears;	   /* for open cursors to notice */
	uint64_t nr_lost;	   /* noticed by consuming cursors since the last clear */
	uint64_t nr_read;	   /* consumed since */
	uint64_t nr_dropped;	   /* since then: no room */
	uint32_t named_pid; /* who the last record of a task that was put says, and its name */
	char named_comm[HV_COMM_LEN];
};

/* A reader of CPU's ring, from its first position on. */
void hv_buffer_ring(const struct hv_buffer *b, unsigned cpu, struct hv_ring *ret);
