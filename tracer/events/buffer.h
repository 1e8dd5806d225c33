/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The buffer of a tracefs instance: a ring for each vCPU, and how much of it was consumed or
 * cleared. The rings are the guest's, or have the same form in host memory (host_buffer.h).
 * Leaves to others: reading (cursor.h), filling. One thread. */
#pragma once

#include <stdint.h>

#include "tracer/events/clocks.h"

struct hv_buffer;
struct hv_decoder;
struct hv_state;

/* Makes a buffer whose vCPUs have no rings yet. Borrows D, which outlives it. */
struct hv_buffer *hv_buffer_over(struct hv_decoder *d, unsigned nr_cpus);
/* Sets CPU's ring: borrows STATE and the RING_BYTES of records (a power of two) that follow it. The
 * newest SIZE_BYTES of them count. The ring's contents begin at position 0. */
void hv_buffer_set_ring(struct hv_buffer *b, unsigned cpu, const struct hv_state *state,
			uint64_t ring_bytes, uint64_t size_bytes);

/* Buffers are reference-counted. A new one has one reference, and each cursor has one. NULL is fine
 * for unref. */
struct hv_buffer *hv_buffer_ref(struct hv_buffer *b);
void hv_buffer_unref(struct hv_buffer *b);

uint64_t hv_buffer_size(const struct hv_buffer *b, unsigned cpu); /* bytes */

/* Sets the clock with which events are shown, including those in the buffer. Events at which
 * cursors have looked keep their time until the buffer is cleared. */
void hv_buffer_use_clock(struct hv_buffer *b, enum hv_trace_clock clock);

/* Chooses whether an event that is put into a full buffer overwrites the oldest one or is dropped.
 * Only for buffers in host memory; the guest always overwrites. */
enum hv_when_full { HV_FULL_OVERWRITES, HV_FULL_DROPS };
void hv_buffer_when_full(struct hv_buffer *b, enum hv_when_full what);

/* Notes the names that the tasks in the rings of B had last. Looks at every record, which takes a
 * few ns each. Does nothing for a buffer in host memory, whose names are known. */
void hv_buffer_note_names(struct hv_buffer *b);

/* Clears the buffer of one vCPU, or of all (-1), also for open cursors. Cleared events do not count
 * as lost, and the counts begin again. */
void hv_buffer_clear(struct hv_buffer *b, int only_cpu);

/* Returns how many records were ever put into CPU's ring, as its head says. */
uint64_t hv_buffer_head(const struct hv_buffer *b, unsigned cpu);
/* Returns how much of CPU's ring is not consumed, in bytes: at most hv_buffer_size(). */
uint64_t hv_buffer_unread(const struct hv_buffer *b, unsigned cpu);
/* Returns how many records of CPU were overwritten before they were consumed. */
uint64_t hv_buffer_overwritten(const struct hv_buffer *b, unsigned cpu);
