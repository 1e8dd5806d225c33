/* What a buffer is made of; for buffer.c, cursor.c and who fills one. */
#pragma once

#include "tracer/buffer.h"
#include "tracer/events/comms.h"
#include "tracer/events/merge.h"
#include "tracer/events/parts.h"

struct hv_buffer {
	struct hv_session *session;    /* borrowed: gives clock, names, decoding */
	const struct hv_state *states; /* borrowed, one a vCPU */
	unsigned nr_cpus;
	struct hv_buffer_cpu *cpus; /* owned, one a vCPU */
	unsigned nr_refs;	    /* in host memory only */
	void *memory;		    /* owned, then: states and records */
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

/* Borrows STATES, which outlive it; no vCPU has a ring yet. */
void hv_buffer_init(struct hv_buffer *b, struct hv_session *s, unsigned nr_cpus,
		    const struct hv_state *states);
/* CPU's ring: borrows RECORDS, RING_BYTES of them (a power of two), of which SIZE_BYTES behind the
 * head count. Its content is what is there from position 0 on. */
void hv_buffer_set_ring(struct hv_buffer *b, unsigned cpu, const void *records, uint64_t ring_bytes,
			uint64_t size_bytes);
void hv_buffer_deinit(struct hv_buffer *b);

void hv_buffer_ring(const struct hv_buffer *b, unsigned cpu, struct hv_ring *ret);
/* Records of a vCPU that were overwritten before anybody consumed them. */
uint64_t hv_buffer_overwritten(const struct hv_buffer *b, unsigned cpu);

/* Records of which an event can be made. */
#define HV_EVENT_RECORDS_MAX (HV_PARTS_MAX + 1)

/* What the event that was returned last was made of, in the order of the ring. */
const struct hv_record *hv_cursor_records(const struct hv_cursor *c, unsigned *ret_nr);
