/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Transfers a table in parts. The sender compresses a text and sends its parts in rotation; the
 * collector reassembles parts that arrive in any order. Also encodes and decodes the contents of
 * the head table. Pure. */
#pragma once

#include "base/err.h"
#include "base/text.h"
#include "export/export.h"
#include "stream/frame.h"

/* -- the parts of a table --------------------------------------------------------------------- */

#define HV_STREAM_TABLE_MAX	(16u << 20) /* compressed length */
#define HV_STREAM_TABLE_RAW_MAX (64u << 20)
#define HV_STREAM_PART_MIN	256u

/* Sender. */
struct hv_stream_parts {
	struct hv_text packed; /* owned, compressed */
	struct hv_stream_part next;
	unsigned nr_rounds; /* number of times that all parts were sent */
};

/* Compresses TEXT as a new generation of the table, in parts of PART_BYTES. Fails with EFBIG if
 * TEXT is too long. */
struct hv_err *hv_stream_parts_set(struct hv_stream_parts *p, enum hv_stream_table_id id,
				   struct hv_span text, uint16_t part_bytes) hv_must_use;
void hv_stream_parts_deinit(struct hv_stream_parts *p);
/* Returns the next part to send, which borrows P. The table must be set. */
struct hv_stream_part hv_stream_parts_next(struct hv_stream_parts *p);

/* Collector. An empty table is all zeros. */
struct hv_stream_table {
	struct hv_stream_part like; /* header fields shared by all parts */
	uint8_t *packed;	    /* owned */
	uint8_t *has;		    /* owned; one flag per part */
	size_t nr_missing;
	bool is_whole;
};

enum hv_stream_added {
	HV_STREAM_PART_TAKEN,
	HV_STREAM_PART_WRONG, /* contradicts earlier parts, or exceeds a limit */
	HV_STREAM_PART_LAST,  /* completes the table */
};

void hv_stream_table_deinit(struct hv_stream_table *t);
/* Return the memory that T uses, and the memory that the table of part P needs. */
size_t hv_stream_table_memory(const struct hv_stream_table *t);
size_t hv_stream_part_memory(const struct hv_stream_part *p);
/* Adds a part. A part with another generation starts a new table. */
enum hv_stream_added hv_stream_table_add(struct hv_stream_table *t, const struct hv_stream_part *p);
/* Decompresses a complete table into RET, followed by a NUL that the length excludes. Returns false
 * if decompression fails. */
bool hv_stream_table_text(const struct hv_stream_table *t, struct hv_text *ret);

/* -- the head --------------------------------------------------------------------------------- */

/* The head of a stream: the metadata needed to decode its events (struct hv_export_head), and the
 * names of guest and host. It is encoded as a sequence of records: u16 kind, u16 0, u32 length,
 * bytes, NUL. Readers skip unknown kinds.
 *
 * sender.h sends it as the table HV_STREAM_HEAD. */

#define HV_STREAM_CPUS_MAX	 4096
#define HV_STREAM_PAGE_BYTES_MAX (64u << 10)
#define HV_STREAM_EVENTS_MAX	 16384 /* event formats */

struct hv_stream_head {
	struct hv_export_head head;	/* borrows from the fields below */
	const char *guest;		/* name of the guest given by its sender */
	const char *host;		/* name of the sender's host */
	struct hv_text text;		/* owned */
	struct hv_export_event *events; /* owned */
};

/* Appends the encoded head to RET. */
void hv_stream_head_encode(const struct hv_export_head *head, const char *guest, const char *host,
			   struct hv_text *ret);
/* Takes ownership of TEXT, also on failure. Returns false and leaves RET unchanged if TEXT is
 * invalid. */
bool hv_stream_head_decode(struct hv_text *text, struct hv_stream_head *ret);
void hv_stream_head_deinit(struct hv_stream_head *h);
