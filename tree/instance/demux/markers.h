/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes to trace_marker and trace_marker_raw on the host: each becomes an event in the instance's
 * buffer, and a line runs the triggers of ftrace:print (tracing_mark_write).
 * tracer/events/host_buffer.h defines the record. */
#pragma once

#include <stddef.h>

#include "tracer/events/event.h"

struct hv_instance;

/* Writes a line of at most HV_MARKER_LEN_MAX bytes, after everything that the guest has recorded
 * until now. */
void hv_instance_mark(struct hv_instance *in, const char *line, size_t len_bytes);
/* Like hv_instance_mark(), for raw bytes. The record is padded with zeros to the length that the
 * guest's kernel would use. */
void hv_instance_mark_raw(struct hv_instance *in, const char *bytes, size_t len_bytes);
/* Returns the record length for LEN_BYTES. */
size_t hv_instance_raw_mark_len(const struct hv_instance *in, size_t len_bytes);
