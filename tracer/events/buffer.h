/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The buffer of a tracefs instance: a ring per vCPU, and how much of it was consumed or cleared.
 * The rings are in the guest's region, or in host memory with the same layout (host_buffer.h).
 *
 * cursor.h reads buffers. One thread. */
#pragma once

#include <stdint.h>

#include "tracer/events/clocks.h"

struct hv_buffer;
struct hv_decoder;
struct hv_state;

/* Creates a buffer whose vCPUs have no rings yet. Borrows D, which must outlive it. */
struct hv_buffer *hv_buffer_over(struct hv_decoder *d, unsigned nr_cpus);
/* Sets the ring of CPU: borrows STATE and the RING_BYTES of records (a power of two) after it. Only
 * the newest SIZE_BYTES count. The ring starts at position 0. */
void hv_buffer_set_ring(struct hv_buffer *b, unsigned cpu, const struct hv_state *state,
			uint64_t ring_bytes, uint64_t size_bytes);

/* Buffers are reference-counted. A new buffer has one reference, and each cursor holds one. unref
 * accepts NULL. */
struct hv_buffer *hv_buffer_ref(struct hv_buffer *b);
void hv_buffer_unref(struct hv_buffer *b);

uint64_t hv_buffer_size(const struct hv_buffer *b, unsigned cpu); /* bytes */

/* Sets the clock for the event times of B, including events already in it. Events that cursors have
 * already seen keep their times until the buffer is cleared. */
void hv_buffer_use_clock(struct hv_buffer *b, enum hv_trace_clock clock);

/* Sets whether a new event overwrites the oldest one or is dropped when the buffer is full. Only
 * for buffers in host memory; the guest always overwrites. */
enum hv_when_full { HV_FULL_OVERWRITES, HV_FULL_DROPS };
void hv_buffer_when_full(struct hv_buffer *b, enum hv_when_full what);

/* Notes the latest name of each task in the rings of B. Reads every record, a few ns each. Does
 * nothing for a buffer in host memory, whose names are known. */
void hv_buffer_note_names(struct hv_buffer *b);

/* Clears the buffer of one vCPU, or of all (-1), also for open cursors. Cleared events do not count
 * as lost. Resets the counters. */
void hv_buffer_clear(struct hv_buffer *b, int only_cpu);

/* Returns the number of records ever written to CPU's ring, according to its head. */
uint64_t hv_buffer_head(const struct hv_buffer *b, unsigned cpu);
/* Returns the bytes in CPU's ring that are not consumed, at most hv_buffer_size(). */
uint64_t hv_buffer_unread(const struct hv_buffer *b, unsigned cpu);
/* Returns the number of CPU's records that were overwritten before they were consumed. */
uint64_t hv_buffer_overwritten(const struct hv_buffer *b, unsigned cpu);
