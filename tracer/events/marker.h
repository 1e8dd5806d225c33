/* Writes markers: a line or bytes of the host's as an event of a buffer, at the guest's time now.
 * Leaves to others: keeping the text (marks.h). */
#pragma once

#include <stddef.h>

#include "tracer/events/event.h"

struct hv_buffer;

/* At most what is written as one event (TRACE_MARKER_MAX_SIZE). */
#define HV_MARK_LEN_MAX 4096
/* A line (HV_EVENT_PRINT) or bytes (HV_EVENT_RAW_DATA), as an event of vCPU 0 and of no task. Not
 * earlier than what is in the rings already. */
void hv_buffer_mark(struct hv_buffer *b, enum hv_event_kind kind, const char *bytes,
		    size_t len_bytes);
