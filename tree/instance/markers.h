/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the host writes into trace_marker and trace_marker_raw: it becomes an event of the
 * instance's buffer, and a line has the triggers of ftrace:print (tracing_mark_write).
 * Leaves to others: the record (tracer/events/marker.h), triggers (triggers.h). */
#pragma once

#include <stddef.h>

#include "tracer/events/event.h"

struct hv_instance;

/* Writes a line (HV_EVENT_PRINT) or bytes (HV_EVENT_RAW_DATA) of at most HV_MARK_LEN_MAX. What the
 * guest has recorded until now comes before it. */
void hv_instance_mark(struct hv_instance *in, enum hv_event_kind kind, const char *bytes,
		      size_t len_bytes);
