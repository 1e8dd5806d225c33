/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Buffers in host memory: makes them, puts events into them, and moves the contents of other
 * buffers.
 * Leaves to others: which events go where (tree/). One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct hv_brief;
struct hv_buffer;
struct hv_cursor;
struct hv_event;
struct hv_record;

/* Makes a buffer for SIZES_BYTES of records (one size for each vCPU, none above 1 << 63), with the
 * vCPUs and the decoder of BESIDE. ENOMEM. */
struct hv_err *hv_buffer_new(const struct hv_buffer *beside, const uint64_t *sizes_bytes,
			     struct hv_buffer **ret) hv_must_use;

/* Puts EVENT, which CURSOR returned last, into the buffer. The caller may have changed the depth of
 * an entry or exit, and the type with the entry of an event of the guest's own; nothing else of
 * EVENT. If the buffer is full, the event overwrites the oldest one or is dropped
 * (hv_buffer_when_full). */
void hv_buffer_put(struct hv_buffer *b, const struct hv_cursor *cursor,
		   const struct hv_event *event);
/* Puts EVENT, an HV_EVENT_GUESTS that the host has made of one whose last record is OF, at the time
 * of the event that CURSOR returned last. */
void hv_buffer_put_late(struct hv_buffer *b, const struct hv_record *of,
			const struct hv_cursor *cursor, const struct hv_event *event);
/* The first NR of what is shown in brief, at most HV_BRIEFS_MAX. */
static inline uint64_t hv_briefs_first(size_t nr)
{
	return nr ? UINT64_MAX >> (64 - nr) : 0;
}
/* Puts of those that CURSOR has shown last in brief, which are at BRIEFS, the ones whose bits are
 * in WHICH, in their order. The caller may have changed the depth of an entry or exit. */
void hv_buffer_put_briefs(struct hv_buffer *b, const struct hv_cursor *cursor,
			  const struct hv_brief *briefs, uint64_t which);
/* Puts an event of the host, whose NR records are RECORDS (host_event.h). */
void hv_buffer_put_host(struct hv_buffer *b, const struct hv_record *records, unsigned nr,
			const struct hv_event *event);
/* Moves the contents of FROM, of one vCPU or of all (-1), after those of TO. Adds the counts of
 * lost and read events, too. */
void hv_buffer_move(struct hv_buffer *from, int only_cpu, struct hv_buffer *to);
