/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/events/buffer_state.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/guard.h"
#include "ringbuf/writer.h"
#include "tracer/events/decoder.h"

/* One record per text. Only the part in use takes memory. */
#define MARKERS_BYTES (HV_MARKER_TEXTS_MAX * sizeof(struct hv_record))

struct hv_buffer *hv_buffer_alloc(struct hv_decoder *d, unsigned nr_cpus)
{
	struct hv_buffer *b = hv_alloc(sizeof(*b));

	*b = (struct hv_buffer){
		.decoder = d,
		.nr_cpus = nr_cpus,
		.lanes = hv_alloc((1 + nr_cpus) * sizeof(struct hv_buffer_lane)),
		.nr_refs = 1,
	};
	b->cpus = b->lanes + hv_lane_of_cpu(0);
	return b;
}

/* Like hv_buffer_set_ring. */
static void buffer_set_lane(struct hv_buffer *b, unsigned lane, const struct hv_state *state,
			    uint64_t ring_bytes, uint64_t size_bytes)
{
	b->lanes[lane] = (struct hv_buffer_lane){
		.state = state,
		.records = (const struct hv_record *)(state + 1),
		.nr_slots = ring_bytes / sizeof(struct hv_record),
		.size_bytes = size_bytes,
		.nr_kept = size_bytes / sizeof(struct hv_record),
		.consumed = hv_merge_checkpoint_at(0),
	};
}

struct hv_buffer *hv_buffer_over(struct hv_decoder *d, unsigned nr_cpus)
{
	struct hv_buffer *b = hv_buffer_alloc(d, nr_cpus);
	struct hv_state *state = hv_alloc(sizeof(*state) + MARKERS_BYTES);

	state->head = hv_ring_head_at(0, MARKERS_BYTES / sizeof(struct hv_record));
	buffer_set_lane(b, 0, state, MARKERS_BYTES, MARKERS_BYTES);
	b->markers = state;
	return b;
}

struct hv_buffer *hv_buffer_ref(struct hv_buffer *b)
{
	b->nr_refs++;
	return b;
}

void hv_buffer_unref(struct hv_buffer *b)
{
	if (!b || --b->nr_refs)
		return;
	if (b->memory)
		munmap(b->memory, b->memory_bytes);
	free(b->markers);
	free(b->lanes);
	free(b);
}

void hv_buffer_set_ring(struct hv_buffer *b, unsigned cpu, const struct hv_state *state,
			uint64_t ring_bytes, uint64_t size_bytes)
{
	buffer_set_lane(b, hv_lane_of_cpu(cpu), state, ring_bytes, size_bytes);
}

uint64_t hv_buffer_size(const struct hv_buffer *b, unsigned cpu)
{
	return b->cpus[cpu].size_bytes;
}

void hv_buffer_use_clock(struct hv_buffer *b, enum hv_trace_clock clock)
{
	b->clock = clock;
}

void hv_buffer_when_full(struct hv_buffer *b, enum hv_when_full what)
{
	b->when_full = what;
}

void hv_buffer_ring(const struct hv_buffer *b, unsigned lane, struct hv_ring *ret)
{
	const struct hv_buffer_lane *l = &b->lanes[lane];

	hv_ring_init(ret, l->state, l->records, l->nr_slots);
	ret->nr_kept = l->nr_kept;
}

static uint64_t head_of(const struct hv_buffer *b, unsigned lane)
{
	struct hv_ring ring;

	hv_buffer_ring(b, lane, &ring);
	return hv_ring_head(&ring);
}

uint64_t hv_buffer_head(const struct hv_buffer *b, unsigned cpu)
{
	return head_of(b, hv_lane_of_cpu(cpu));
}

static uint64_t overwritten(const struct hv_buffer *b, unsigned lane)
{
	uint64_t head = head_of(b, lane);
	uint64_t consumed = b->lanes[lane].consumed.position, nr_kept = b->lanes[lane].nr_kept;

	if (head < consumed || head - consumed <= nr_kept)
		return 0;
	return head - consumed - nr_kept;
}

uint64_t hv_buffer_overwritten(const struct hv_buffer *b, unsigned cpu)
{
	struct hv_lanes lanes = hv_lanes_of(b, (int)cpu);
	uint64_t nr = 0;

	for (unsigned i = 0; i < lanes.nr; i++)
		nr += overwritten(b, lanes.first + i);
	return nr;
}

static uint64_t unread(const struct hv_buffer *b, unsigned lane)
{
	uint64_t head = head_of(b, lane), consumed = b->lanes[lane].consumed.position;
	uint64_t nr_kept = b->lanes[lane].nr_kept;

	return head < consumed || head - consumed >= nr_kept ? nr_kept : head - consumed;
}

/* In a full lane the next record overwrites one. So the vCPU counts as full, even if its other lane
 * has room. */
uint64_t hv_buffer_unread(const struct hv_buffer *b, unsigned cpu)
{
	struct hv_lanes lanes = hv_lanes_of(b, (int)cpu);
	uint64_t size_bytes = hv_buffer_size(b, cpu), bytes = 0;

	for (unsigned i = 0; i < lanes.nr; i++) {
		uint64_t nr = unread(b, lanes.first + i);

		if (nr >= b->lanes[lanes.first + i].nr_kept)
			return size_bytes;
		bytes += nr * sizeof(struct hv_record);
	}
	return bytes < size_bytes ? bytes : size_bytes;
}

void hv_buffer_put_records(struct hv_buffer *b, unsigned lane, const struct hv_record *records,
			   size_t nr)
{
	const struct hv_buffer_lane *l = &b->lanes[lane];

	/* The members are const because the guest's rings are only read. This ring is in host
	 * memory. */
	hv_ring_put((struct hv_state *)l->state, (struct hv_record *)l->records, l->nr_slots,
		    records, nr);
}

static void clear_lane(struct hv_buffer *b, unsigned lane)
{
	struct hv_buffer_lane *l = &b->lanes[lane];

	b->decoder->nr_lost += overwritten(b, lane);
	l->consumed = hv_merge_checkpoint_at(head_of(b, lane));
	l->nr_clears++;
	b->nr_clears++;
	l->nr_lost = 0;
	l->nr_read = 0;
	l->nr_dropped = 0;
	l->named_pid = 0;
}

void hv_buffer_clear(struct hv_buffer *b, int only_cpu)
{
	struct hv_lanes lanes = hv_lanes_of(b, only_cpu);

	for (unsigned i = 0; i < lanes.nr; i++)
		clear_lane(b, lanes.first + i);
}

/* -- names of tasks ---------------------------------------------------------------------------- */

#define RUN_MAX 64

static void comms_free_at(struct hv_comms **c)
{
	hv_comms_free(*c);
}

static void note(struct hv_comms *c, const struct hv_record *record)
{
	char comm[HV_COMM_LEN];
	uint32_t pid;

	if (hv_record_kind(record) != HV_RECORD_TASK)
		return;
	hv_decode_task(record, &pid, comm);
	hv_comms_set_newest(c, hv_record_tsc(record), pid, hv_record_tgid(record), comm);
}

/* Reads the ring up to its present head. Later records are read elsewhere. */
static void note_lane(const struct hv_buffer *b, unsigned lane, struct hv_comms *c)
{
	struct hv_record run[RUN_MAX];
	struct hv_ring ring;
	uint64_t end;

	hv_buffer_ring(b, lane, &ring);
	end = hv_ring_head(&ring);
	ring.position = b->lanes[lane].consumed.position;
	if (end < ring.position) /* invalid head */
		return;
	if (end - ring.position > ring.nr_kept)
		ring.position = end - ring.nr_kept;
	while (ring.position < end) {
		size_t max = end - ring.position < RUN_MAX ? end - ring.position : RUN_MAX;
		size_t nr = hv_ring_read_run(&ring, max, run, sizeof(run[0]));

		for (size_t i = 0; i < nr; i++)
			note(c, &run[i]);
		if (!nr) /* incomplete record */
			ring.position++;
	}
}

void hv_buffer_note_names(struct hv_buffer *b)
{
	hv_cleanup(comms_free_at) struct hv_comms *newest = NULL;
	struct hv_names *names = b->decoder->names;
	const char *comm;
	uint32_t pid;

	if (b->memory)
		return;
	newest = hv_comms_new(HV_COMMS_MAX);
	for (unsigned cpu = 0; cpu < b->nr_cpus; cpu++)
		note_lane(b, hv_lane_of_cpu(cpu), newest);
	for (size_t i = 0; hv_comms_at(newest, i, &pid, &comm); i++)
		hv_names_add(names, pid, hv_comms_tgid(newest, pid), comm);
}
