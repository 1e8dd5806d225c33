/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Distributes events to the instances that share the guest's rings (core/sharing.h): matches each
 * event (match.h), derives other events from it, runs triggers, and stores it in the instance's
 * buffer. Also executes function commands on the host, and writes markers. */
#pragma once

#include <stddef.h>

#include "tree/instance/core/instance.h"

struct hv_instance;

extern const struct hv_part hv_demux_part;

/* Returns whether the count of a function command reached 0 since hv_demux_forget_spent(). */
bool hv_demux_commands_are_spent(const struct hv_instances *all);
void hv_demux_forget_spent(struct hv_instances *all);

/* -- markers ----------------------------------------------------------------------------------- */

/* Writes to trace_marker and trace_marker_raw on the host: each becomes an event in the instance's
 * buffer, and a line runs the triggers of ftrace:print (tracing_mark_write).
 * tracer/events/host_buffer.h defines the record. */

/* Writes a line of at most HV_MARKER_LEN_MAX bytes, after everything that the guest has recorded
 * until now. */
void hv_instance_mark(struct hv_instance *in, const char *line, size_t len_bytes);
/* Like hv_instance_mark(), for raw bytes. The record is padded with zeros to the length that the
 * guest's kernel would use. */
void hv_instance_mark_raw(struct hv_instance *in, const char *bytes, size_t len_bytes);
/* Returns the record length for LEN_BYTES. */
size_t hv_instance_raw_mark_len(const struct hv_instance *in, size_t len_bytes);
