/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the host writes into buffers: creates buffers in host memory, writes events into them, moves
 * the contents of other buffers, and writes markers.
 *
 * tree/ decides which events go where. One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "tracer/events/event.h"

struct hv_brief;
struct hv_buffer;
struct hv_cursor;
struct hv_event;
struct hv_record;

/* -- buffers in host memory -------------------------------------------------------------------- */

/* Creates a buffer with SIZES_BYTES of records per vCPU (each at most 1 << 63), and with the vCPUs
 * and the decoder of BESIDE. ENOMEM. */
struct hv_err *hv_buffer_new(const struct hv_buffer *beside, const uint64_t *sizes_bytes,
			     struct hv_buffer **ret) hv_must_use;

/* Writes EVENT, the last one that CURSOR returned. The caller may have changed the depth of an
 * entry or exit, and the type and entry of a guest event, but nothing else. If the buffer is full,
 * the event overwrites the oldest one or is dropped (hv_buffer_when_full). */
void hv_buffer_put(struct hv_buffer *b, const struct hv_cursor *cursor,
		   const struct hv_event *event);
/* Writes EVENT, an HV_EVENT_GUESTS that the host made from the event whose last record is OF, at
 * the time of the last event that CURSOR returned. */
void hv_buffer_put_late(struct hv_buffer *b, const struct hv_record *of,
			const struct hv_cursor *cursor, const struct hv_event *event);
/* Returns a mask of the first NR brief events, at most HV_BRIEFS_MAX. */
static inline uint64_t hv_briefs_first(size_t nr)
{
	return nr ? UINT64_MAX >> (64 - nr) : 0;
}
/* Writes the events of CURSOR's last hv_cursor_briefs(), BRIEFS, whose bits are set in WHICH, in
 * order. The caller may have changed the depth of an entry or exit. */
void hv_buffer_put_briefs(struct hv_buffer *b, const struct hv_cursor *cursor,
			  const struct hv_brief *briefs, uint64_t which);
/* Writes an event of the host with its NR RECORDS (host_event.h). */
void hv_buffer_put_host(struct hv_buffer *b, const struct hv_record *records, unsigned nr,
			const struct hv_event *event);
/* Appends the contents of FROM, of one vCPU or of all (-1), to TO, and adds the counters of lost
 * and read events. */
void hv_buffer_move(struct hv_buffer *from, int only_cpu, struct hv_buffer *to);

/* -- markers ----------------------------------------------------------------------------------- */

/* A marker is a line or bytes from the host, as an event of a buffer at the guest's present time.
 * decoder.h stores the text. */

/* Maximum length of an event's text (TRACE_MARKER_MAX_SIZE). */
#define HV_MARKER_LEN_MAX 4096
struct hv_marker_time {
	uint64_t tsc;	  /* as in the record (hv_record_tsc) */
	uint64_t time_ns; /* on the guest's clock */
};

/* Writes a line (HV_EVENT_PRINT) or bytes (HV_EVENT_RAW_DATA) as an event of vCPU 0 without a task.
 * Its time is not before the events in the rings. */
struct hv_marker_time hv_buffer_put_marker(struct hv_buffer *b, enum hv_event_kind kind,
					   const char *bytes, size_t len_bytes);
/* Writes E, an HV_EVENT_GUESTS that the host made from such a line, to B, a buffer in host memory,
 * at the time of the line. */
void hv_buffer_put_made(struct hv_buffer *b, uint64_t tsc, const struct hv_event *e);
