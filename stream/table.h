/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table of a stream: at the sender, a text that is compressed and sent in parts in turn; at the
 * collector, the parts that came, in whatever order. Leaves to others: what is in a table (head.h).
 * Pure. */
#pragma once

#include "base/err.h"
#include "base/text.h"
#include "stream/budget.h"
#include "stream/frame.h"

#define HV_STREAM_TABLE_MAX	(16u << 20) /* compressed */
#define HV_STREAM_TABLE_RAW_MAX (64u << 20)
#define HV_STREAM_PART_MIN	256u

/* At the sender. */
struct hv_stream_parts {
	struct hv_text packed; /* owned, compressed */
	struct hv_stream_part next;
	unsigned nr_rounds; /* how often all parts were sent */
};

/* Makes TEXT the table, in a new generation, in parts of PART_BYTES. EFBIG: it is too long. */
struct hv_err *hv_stream_parts_set(struct hv_stream_parts *p, enum hv_stream_table_id id,
				   struct hv_span text, uint16_t part_bytes) hv_must_use;
void hv_stream_parts_deinit(struct hv_stream_parts *p);
/* Returns the part that is sent next, which borrows P. There is a table. */
struct hv_stream_part hv_stream_parts_next(struct hv_stream_parts *p);

/* At the collector. A table of zeros is empty. */
struct hv_stream_table {
	struct hv_stream_part like; /* what all of its parts say */
	uint8_t *packed;	    /* owned */
	uint8_t *has;		    /* owned; a byte for each part */
	size_t nr_missing;
	bool is_whole;
};

enum hv_stream_added {
	HV_STREAM_PART_TAKEN,
	HV_STREAM_PART_WRONG, /* it does not fit the other parts, or is too long */
	HV_STREAM_PART_LAST,  /* now the table is whole */
};

void hv_stream_table_deinit(struct hv_stream_table *t);
/* Returns the bytes of memory that T has, and that a table of parts like P needs. */
size_t hv_stream_table_memory(const struct hv_stream_table *t);
size_t hv_stream_part_memory(const struct hv_stream_part *p);
/* Adds a part. One of another generation begins a new table. */
enum hv_stream_added hv_stream_table_add(struct hv_stream_table *t, const struct hv_stream_part *p);
/* The text of a table that is whole. It ends in a NUL that its length does not count. False: it
 * cannot be decompressed. */
bool hv_stream_table_text(const struct hv_stream_table *t, struct hv_text *ret);
