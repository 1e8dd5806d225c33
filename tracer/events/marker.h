/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes markers: a line or bytes from the host as an event of a buffer, at the guest's time now.
 * Leaves to others: keeping the text (marks.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tracer/events/event.h"

struct hv_buffer;

/* The longest text of one event (TRACE_MARKER_MAX_SIZE). */
#define HV_MARK_LEN_MAX 4096
struct hv_mark_time {
	uint64_t tsc;	  /* as in its record (hv_record_tsc) */
	uint64_t time_ns; /* on the guest's clock */
};

/* Writes a line (HV_EVENT_PRINT) or bytes (HV_EVENT_RAW_DATA) as an event of vCPU 0 without a task.
 * It is not earlier than the events in the rings. */
struct hv_mark_time hv_buffer_mark(struct hv_buffer *b, enum hv_event_kind kind, const char *bytes,
				   size_t len_bytes);
/* Puts E, an HV_EVENT_GUESTS that the host has made of such a line, into B, a buffer in host
 * memory, at the time of the line. */
void hv_buffer_put_made(struct hv_buffer *b, uint64_t tsc, const struct hv_event *e);
