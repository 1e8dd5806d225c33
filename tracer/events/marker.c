/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/events/marker.h"

#include "base/clock.h"
#include "tracer/events/buffer_state.h"
#include "tracer/events/decode.h"
#include "tracer/events/decoder.h"
#include "tracer/events/host_buffer.h"

#define CPU 0

/* Finds the youngest record of a lane. Returns false if the lane is empty, or the record is being
 * written. */
static bool youngest_of(struct hv_buffer *b, unsigned lane, struct hv_record *ret)
{
	struct hv_ring ring;
	uint64_t lost;

	hv_buffer_ring(b, lane, &ring);
	ring.position = hv_ring_head(&ring) - 1;
	if (ring.position == UINT64_MAX)
		return false;
	return hv_ring_read(&ring, hv_now_ns(), ret, &lost) == HV_RING_RECORD;
}

/* Returns the present time, or the time right after the youngest record if that is later, because
 * the guest's clock may have only the resolution of a tick. */
static uint64_t time_of_mark(struct hv_buffer *b)
{
	struct hv_clocks *clocks = b->decoder->clocks;
	struct hv_lanes lanes = hv_lanes_of(b, -1);
	struct hv_record record;
	uint64_t time_ns = 0;

	hv_clocks_now_ns(clocks, HV_TRACE_CLOCK_GUEST, &time_ns);
	for (unsigned i = 0; i < lanes.nr; i++) {
		unsigned lane = lanes.first + i;
		uint64_t ns;

		if (!youngest_of(b, lane, &record))
			continue;
		ns = hv_clocks_event_ns(clocks, HV_TRACE_CLOCK_GUEST, hv_cpu_of_lane(lane),
					hv_record_tsc(&record));
		if (ns >= time_ns)
			time_ns = ns < UINT64_MAX ? ns + 1 : ns;
	}
	return time_ns;
}

/* The time stamp is exact if the guest's counter is known. */
static uint64_t tsc_of_mark(struct hv_buffer *b)
{
	uint64_t tsc;

	if (hv_clocks_now_tsc(b->decoder->clocks, CPU, &tsc))
		return tsc;
	return hv_clocks_tsc_at(b->decoder->clocks, CPU, time_of_mark(b));
}

struct hv_mark_time hv_buffer_mark(struct hv_buffer *b, enum hv_event_kind kind, const char *bytes,
				   size_t len_bytes)
{
	uint64_t id = hv_marks_add(&b->decoder->marks, kind, bytes, len_bytes);
	uint64_t tsc = tsc_of_mark(b);
	struct hv_record record = {
		.word = {tsc, id, 0, (uint64_t)HV_RECORD_MARK << HV_RECORD_KIND_SHIFT},
	};

	hv_buffer_put_records(b, b->marks ? 0 : hv_lane_of_cpu(CPU), &record, 1);
	return (struct hv_mark_time){
		tsc,
		hv_clocks_event_ns(b->decoder->clocks, HV_TRACE_CLOCK_GUEST, CPU, tsc),
	};
}

void hv_buffer_put_made(struct hv_buffer *b, uint64_t tsc, const struct hv_event *e)
{
	const struct hv_record mark = {
		.word = {tsc, 0, 0, (uint64_t)HV_RECORD_EVENT << HV_RECORD_KIND_SHIFT},
	};
	struct hv_record records[HV_DATA_RECORDS_MAX + 1];
	unsigned nr = hv_encode_entry(&mark, e, records);

	hv_buffer_put_host(b, records, nr, e);
}
