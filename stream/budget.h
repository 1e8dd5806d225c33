/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the streams of a collector may cost: memory, and bytes of files. A sender with the key
 * chooses lengths, and compressed bytes grow, so each stream may cost a fixed amount and a multiple
 * of what it has sent, and all streams together have a budget.
 * Leaves to others: what is charged and what happens to a stream that has no budget left
 * (guest.h). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Compressed bytes may grow to this many times their length, and a little more. The text of
 * kallsyms grows to 5 times its compressed length. */
#define HV_STREAM_GROWTH	    32u
#define HV_STREAM_FRAME_GROWTH_FREE (4u << 10)
#define HV_STREAM_TABLE_GROWTH_FREE (64u << 10)
/* The file of a stream may grow to this many times what the stream has sent, and a little more:
 * events that follow a loss begin a page, and formats other than trace.dat write names. */
#define HV_STREAM_FILE_GROWTH	    64u
#define HV_STREAM_FILE_GROWTH_FREE  (64u << 20)
/* One stream may have this part of the memory of all. */
#define HV_STREAM_MEMORY_PART	    8

struct hv_stream_budget {
	uint64_t memory_max; /* bytes of all streams; 0: no limit */
	uint64_t files_max;  /* likewise, of files since the collector began */
	uint64_t memory;     /* charged now */
	uint64_t files;
};

/* Returns whether RAW_BYTES may come of PACKED_BYTES. */
static inline bool hv_stream_may_grow(size_t packed_bytes, size_t raw_bytes, size_t free_bytes)
{
	return raw_bytes <= free_bytes + (uint64_t)packed_bytes * HV_STREAM_GROWTH;
}

/* Charges a stream, which has *CHARGED bytes of memory, for BYTES instead. False: it has no budget
 * for them, and nothing changes. */
bool hv_stream_budget_charge(struct hv_stream_budget *b, uint64_t *charged, uint64_t bytes);
/* Adds to the files of all what a file, which was *CHARGED bytes long, has grown to. False: there
 * is no budget left. */
bool hv_stream_budget_file(struct hv_stream_budget *b, uint64_t *charged, uint64_t bytes);
