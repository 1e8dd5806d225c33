/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The insides of a buffer, for the files of this room that read or fill one. */
#pragma once

#include "ringbuf/ring.h"
#include "tracer/events/buffer.h"
#include "tracer/events/comms.h"
#include "tracer/events/merge.h"

struct hv_buffer {
	struct hv_decoder *decoder; /* borrowed */
	unsigned nr_cpus;
	struct hv_buffer_cpu *cpus; /* owned, one a vCPU */
	unsigned nr_refs;
	unsigned nr_clears; /* of all vCPUs; changes when one of theirs does */
	void *memory;	    /* owned: the rings in host memory; NULL: they are the guest's */
	size_t memory_bytes;
	enum hv_when_full when_full;
	enum hv_trace_clock clock;
};

struct hv_buffer_cpu {
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

/* Makes a reader of CPU's ring that begins at its first position. */
void hv_buffer_ring(const struct hv_buffer *b, unsigned cpu, struct hv_ring *ret);
