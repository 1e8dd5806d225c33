/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the latest names of tasks in the task records of the guest's rings. */
#include "base/guard.h"
#include "tracer/events/buffer_state.h"
#include "tracer/events/decoder.h"

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
	ring.position = b->lanes[lane].mark.position;
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
