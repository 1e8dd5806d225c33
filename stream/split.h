/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Splits a page of trace_pipe_raw into shorter pages that can each be read without the others.
 * The page may have any contents: what follows an event that cannot be read is left out. Leaves to
 * others: reading events (export/raw_events.h). Pure. */
#pragma once

#include "export/raw_events.h"

struct hv_stream_split {
	struct hv_raw_events events; /* up to the last event that was taken */
};

/* False: PAGE has no events. S borrows it. */
bool hv_stream_split_begin(struct hv_stream_split *s, struct hv_span page);
struct hv_stream_piece {
	size_t len_bytes;
	uint32_t nr;	     /* events in it; 0: there are no more that can be read */
	uint32_t nr_skipped; /* events before it that are longer than the room */
};

/* Writes the next events as a page to TO, of at most WANT_BYTES, or, if the next one alone is
 * longer, MAX_BYTES. Both are at least 64. */
struct hv_stream_piece hv_stream_split_next(struct hv_stream_split *s, uint8_t *to,
					    size_t want_bytes, size_t max_bytes);
/* Notes in PAGE, which has LEN_BYTES of CAP_BYTES, that NR events were lost before it, beside those
 * that it says itself. */
void hv_stream_note_lost(uint8_t *page, size_t len_bytes, size_t cap_bytes, uint64_t nr);
