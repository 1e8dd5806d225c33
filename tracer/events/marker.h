/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes markers: a line or bytes from the host, as an event of a buffer at the guest's present
 * time.
 *
 * marks.h stores the text. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tracer/events/event.h"

struct hv_buffer;

/* Maximum length of an event's text (TRACE_MARKER_MAX_SIZE). */
#define HV_MARK_LEN_MAX 4096
struct hv_mark_time {
	uint64_t tsc;	  /* as in the record (hv_record_tsc) */
	uint64_t time_ns; /* on the guest's clock */
};

/* Writes a line (HV_EVENT_PRINT) or bytes (HV_EVENT_RAW_DATA) as an event of vCPU 0 without a task.
 * Its time is not before the events in the rings. */
struct hv_mark_time hv_buffer_mark(struct hv_buffer *b, enum hv_event_kind kind, const char *bytes,
				   size_t len_bytes);
/* Writes E, an HV_EVENT_GUESTS that the host made from such a line, to B, a buffer in host memory,
 * at the time of the line. */
void hv_buffer_put_made(struct hv_buffer *b, uint64_t tsc, const struct hv_event *e);
