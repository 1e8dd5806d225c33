/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the host writes into trace_marker and trace_marker_raw: it becomes an event of the
 * instance's buffer, and a line has the triggers of ftrace:print (tracing_mark_write).
 * Leaves to others: the record (tracer/events/marker.h), triggers (triggers.h). */
#pragma once

#include <stddef.h>

#include "tracer/events/event.h"

struct hv_instance;

/* Writes a line of at most HV_MARK_LEN_MAX. What the guest has recorded until now comes before
 * it. */
void hv_instance_mark(struct hv_instance *in, const char *line, size_t len_bytes);
/* Likewise bytes. Their record has the length that it has in the guest's kernel: behind them are
 * zeros. */
void hv_instance_mark_raw(struct hv_instance *in, const char *bytes, size_t len_bytes);
/* How many bytes the record of LEN_BYTES has. */
size_t hv_instance_raw_mark_len(const struct hv_instance *in, size_t len_bytes);
