/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Buffers of a session without a guest: a list of events in insertion order, and cursors over it
 * (tracer/events/buffer.h and cursor.h). Events are lost only if a test loses them. */
#pragma once

#include "tracer/events/buffer.h"
#include "tracer/events/cursor.h"
#include "tracer/events/host_buffer.h"

#define HV_FAKE_NR_CPUS 16

struct hv_buffer {
	struct hv_event *events;
	size_t nr_events;
	uint8_t *gone; /* one byte per event: consumed or cleared */
	uint64_t overrun;
	uint64_t read;
	uint64_t sizes_bytes[HV_FAKE_NR_CPUS];
	unsigned nr_cpus;
	uint64_t dropped;
	enum hv_when_full when_full;
	unsigned nr_refs; /* references, except the session's */
};

/* Adds a copy of E, its text, its entry and its callers. */
void fake_buffer_put(struct hv_buffer *b, const struct hv_event *e);
/* Frees the memory that the events own. */
void fake_buffer_deinit(struct hv_buffer *b);
