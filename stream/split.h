/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Splits a page of trace_pipe_raw into shorter pages that can be decoded independently. The page is
 * untrusted: splitting stops at the first event that cannot be decoded. export/raw_pages.h decodes
 * events. Pure. */
#pragma once

#include "export/raw_pages.h"

struct hv_stream_split {
	struct hv_raw_events events; /* positioned after the last event taken */
};

/* Returns false if PAGE contains no events. S borrows PAGE. */
bool hv_stream_split_begin(struct hv_stream_split *s, struct hv_span page);
struct hv_stream_piece {
	size_t len_bytes;
	uint32_t nr;	     /* events in the new page; 0: no more events */
	uint32_t nr_skipped; /* events dropped before it because they exceed max_bytes */
};

/* Writes the next events to TO as a page of at most WANT_BYTES, or of at most MAX_BYTES if the
 * first event alone exceeds WANT_BYTES. Both must be at least 64. */
struct hv_stream_piece hv_stream_split_next(struct hv_stream_split *s, uint8_t *to,
					    size_t want_bytes, size_t max_bytes);
/* Adds NR to the number of events lost before PAGE. PAGE has LEN_BYTES of data in a buffer of
 * CAP_BYTES. */
void hv_stream_note_lost(uint8_t *page, size_t len_bytes, size_t cap_bytes, uint64_t nr);
