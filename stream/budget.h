/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits on the memory and the file space that the streams of a collector use.
 *
 * A sender with the key chooses the lengths in its frames, and decompression multiplies bytes. So
 * each stream may use a fixed amount plus a multiple of the bytes it sent, and all streams share a
 * budget.
 *
 * collector.c decides what to charge, and what happens to a stream over its budget. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A frame or table may decompress to this many times its length plus the fixed amount below. The
 * text of kallsyms decompresses to 5 times its length. */
#define HV_STREAM_GROWTH	    32u
#define HV_STREAM_FRAME_GROWTH_FREE (4u << 10)
#define HV_STREAM_TABLE_GROWTH_FREE (64u << 10)
/* The file of a stream may grow to this many times the bytes received for the stream, plus the
 * fixed amount. Files can be larger than the stream because an event after a loss starts a new
 * page, and formats other than trace.dat spell out names. */
#define HV_STREAM_FILE_GROWTH	    64u
#define HV_STREAM_FILE_GROWTH_FREE  (64u << 20)
/* One stream may use this fraction of memory_max: 1/8. */
#define HV_STREAM_MEMORY_PART	    8

struct hv_stream_budget {
	uint64_t memory_max; /* bytes for all streams; 0: no limit */
	uint64_t files_max;  /* bytes written to files since the collector started; 0: no limit */
	uint64_t memory;     /* bytes charged now */
	uint64_t files;
};

/* Returns whether RAW_BYTES is an acceptable size for PACKED_BYTES after decompression. */
static inline bool hv_stream_may_grow(size_t packed_bytes, size_t raw_bytes, size_t free_bytes)
{
	return raw_bytes <= free_bytes + (uint64_t)packed_bytes * HV_STREAM_GROWTH;
}

/* Changes the memory charged to a stream from *CHARGED to BYTES. Returns false and changes nothing
 * if this would exceed the budget. */
bool hv_stream_budget_charge(struct hv_stream_budget *b, uint64_t *charged, uint64_t bytes);
/* Charges the growth of a file from *CHARGED to BYTES. Files that shrink are not credited. Returns
 * false if the budget is exceeded. */
bool hv_stream_budget_file(struct hv_stream_budget *b, uint64_t *charged, uint64_t bytes);
