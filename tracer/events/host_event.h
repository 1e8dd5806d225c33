/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of the host in buffers in host memory. They are stored like guest events (HV_EVENT_GUESTS)
 * on the vCPU they concern, at the guest's time, with a type number that no kernel uses. If such a
 * type appears in a guest's own ring, the record counts as lost. The pid is the host's, and the
 * task name is always HV_COMM_HOST.
 *
 * tracer/host_tracer.h reads the events. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tracer/events/decode.h"

#define HV_COMM_HOST	    "<host>"
#define HV_HOST_ID_FIRST    0xf000 /* event ids; the guest's kernel counts up from 1 */
#define HV_HOST_ID_END	    0xf020
#define HV_HOST_ENTRY_MAX   128 /* bytes */
#define HV_HOST_RECORDS_MAX ((HV_HOST_ENTRY_MAX + HV_DATA_LEN - 1) / HV_DATA_LEN + 1)

static inline bool hv_host_event_is(uint32_t id)
{
	return id >= HV_HOST_ID_FIRST && id < HV_HOST_ID_END;
}

/* Encodes the event ID with ENTRY (HV_ENTRY_HEADER_LEN to HV_HOST_ENTRY_MAX bytes, as the host
 * wrote it) at time TSC of its vCPU. RET has room for HV_HOST_RECORDS_MAX. Returns the number of
 * records. */
unsigned hv_host_event_encode(uint64_t tsc, uint16_t id, struct hv_span entry,
			      struct hv_record *ret);
/* Sets the task and flags of EVENT, which was decoded from RECORD. */
void hv_host_event_decode(const struct hv_record *record, struct hv_event *event);
