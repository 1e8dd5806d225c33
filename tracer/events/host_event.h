/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An event of the host in a buffer in host memory: as one of the guest's own (HV_EVENT_GUESTS), of
 * a type that no kernel numbers so, on the vCPU that it is of, at the guest's time. In the guest's
 * own rings there are none: what a guest writes there with such a type counts as lost. Its pid is
 * the host's, and its task has the name HV_COMM_HOST, whatever the guest's tasks are called. Leaves
 * to others: where they come from (tracer/host_tracer.h). Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tracer/events/decode.h"

#define HV_COMM_HOST	    "<host>"
#define HV_HOST_ID_FIRST    0xf000 /* of events: the guest's kernel counts upwards from 1 */
#define HV_HOST_ID_END	    0xf020
#define HV_HOST_ENTRY_MAX   128 /* bytes */
#define HV_HOST_RECORDS_MAX ((HV_HOST_ENTRY_MAX + HV_DATA_LEN - 1) / HV_DATA_LEN + 1)

static inline bool hv_host_event_is(uint32_t id)
{
	return id >= HV_HOST_ID_FIRST && id < HV_HOST_ID_END;
}

/* Makes the records of the event ID with ENTRY (HV_ENTRY_HEADER_LEN to HV_HOST_ENTRY_MAX bytes, as
 * the host wrote it) at TSC of its vCPU into RET, which has room for HV_HOST_RECORDS_MAX. Returns
 * how many they are. */
unsigned hv_host_event_encode(uint64_t tsc, uint16_t id, struct hv_span entry,
			      struct hv_record *ret);
/* Completes EVENT, which was decoded from RECORD, with its task and flags. */
void hv_host_event_decode(const struct hv_record *record, struct hv_event *event);
