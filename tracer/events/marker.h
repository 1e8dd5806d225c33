/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes markers: a line or bytes from the host as an event of a buffer, at the guest's time now.
 * Leaves to others: keeping the text (marks.h). */
#pragma once

#include <stddef.h>

#include "tracer/events/event.h"

struct hv_buffer;

/* The longest text of one event (TRACE_MARKER_MAX_SIZE). */
#define HV_MARK_LEN_MAX 4096
/* Writes a line (HV_EVENT_PRINT) or bytes (HV_EVENT_RAW_DATA) as an event of vCPU 0 without a task.
 * It is not earlier than the events in the rings. */
void hv_buffer_mark(struct hv_buffer *b, enum hv_event_kind kind, const char *bytes,
		    size_t len_bytes);
