/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/events/host_event.h"

#include <string.h>

#include "ringbuf/record_bits.h"

/* Word 2 of the record has the flags, count and pid of the entry's common fields. */
#define COUNT_MASK 0xff

unsigned hv_host_event_encode(uint64_t tsc, uint16_t id, struct hv_span entry,
			      struct hv_record *ret)
{
	struct hv_record record = {
		.word = {tsc & ~HV_RECORD_ZEROS, 0, 0,
			 (uint64_t)HV_RECORD_EVENT << HV_RECORD_KIND_SHIFT},
	};
	const struct hv_event event = {.id = id, .entry = entry};
	uint8_t flags = 0, count = 0;
	uint32_t pid = 0;

	hv_span_u8(entry, 2, &flags);
	hv_span_u8(entry, 3, &count);
	hv_span_u32(entry, 4, &pid);
	record.word[2] =
		count | (uint64_t)flags << HV_CALL_FLAGS_SHIFT | (uint64_t)pid << HV_CALL_PID_SHIFT;
	return hv_encode_entry(&record, &event, ret);
}

void hv_host_event_decode(const struct hv_record *record, struct hv_event *event)
{
	uint8_t count = record->word[2] & COUNT_MASK;

	event->pid = (uint32_t)(record->word[2] >> HV_CALL_PID_SHIFT);
	event->tgid = 0;
	event->flags = (uint8_t)(record->word[2] >> HV_CALL_FLAGS_SHIFT);
	event->preempt_depth = count & 15;
	event->migrate_depth = count >> 4;
	event->lazy_depth = 0;
	memset(event->comm, 0, sizeof(event->comm));
	memcpy(event->comm, HV_COMM_HOST, sizeof(HV_COMM_HOST));
}
