/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The frames of a stream (docs/operators/stream.md): what a sender and a collector agree on. All
 * numbers are little endian.
 *
 *   0   "HVTS"
 *   4   u8 version, u8 kind, u8 flags, u8 0
 *   8   u64 session: which stream
 *   16  u64 sequence: which frame of it, from 0 on
 *   24  u32 length of the body, as it is in the frame
 *   28  u32 length of the body before compression
 *   32  body
 *       16 bytes: keyed hash of all before it
 *
 * A frame is hostile until it was decoded; a body is hostile even then, since a guest can make its
 * sender write much. Leaves to others: how frames travel, their order (window.h). Pure. */
#pragma once

#include "stream/key.h"

#define HV_STREAM_HEAD_LEN  32
#define HV_STREAM_FRAME_LEN (HV_STREAM_HEAD_LEN + HV_STREAM_HASH_LEN) /* without a body */
#define HV_STREAM_FRAME_MAX 60000
#define HV_STREAM_BODY_MAX  (HV_STREAM_FRAME_MAX - HV_STREAM_FRAME_LEN)
#define HV_STREAM_RAW_MAX   (128u << 10) /* of a body before compression */
#define HV_STREAM_PORT	    "9912"

enum hv_stream_kind {
	HV_STREAM_TABLE = 1,  /* a part of a table: struct hv_stream_part */
	HV_STREAM_EVENTS = 2, /* of one vCPU: struct hv_stream_events */
	HV_STREAM_COUNTS = 3, /* how many events of vCPUs were sent: struct hv_stream_counts */
	HV_STREAM_END = 4,    /* the same, and nothing follows */
};

enum hv_stream_flag {
	HV_STREAM_ZSTD = 1, /* the body is one frame of zstd */
};

struct hv_stream_frame {
	uint8_t kind;
	uint8_t flags;
	uint64_t session;
	uint64_t sequence;
	uint32_t raw_bytes;
	struct hv_span body; /* borrowed */
};

/* What is wrong with a frame. */
enum hv_stream_verdict {
	HV_STREAM_GOOD,
	HV_STREAM_NOT_OURS,	 /* shorter than a frame, or another magic */
	HV_STREAM_OTHER_VERSION, /* of a sender that is older or newer */
	HV_STREAM_BAD_LENGTH,	 /* it says another length than it has */
	HV_STREAM_BAD_HASH,	 /* another key, or changed on the way */
	HV_STREAM_BAD_BODY,	 /* the sender is wrong */
	HV_STREAM_NR_VERDICTS
};

/* "wrong key", ... */
const char *hv_stream_verdict_name(enum hv_stream_verdict v);

/* Decodes the frame that is all of IN. RET borrows IN. */
enum hv_stream_verdict hv_stream_decode(struct hv_span in, const struct hv_stream_key *key,
					struct hv_stream_frame *ret);
/* As hv_stream_decode(), but believes the hash: of a frame that was decoded before. */
enum hv_stream_verdict hv_stream_decode_again(struct hv_span in, struct hv_stream_frame *ret);
/* For streams of bytes: the length of the frame that IN begins with. 0: too few bytes are there to
 * tell. False: no frame begins there. */
bool hv_stream_frame_bytes(struct hv_span in, size_t *ret);

/* Completes the frame at AT, whose body of LEN_BYTES is in its place. F's body is not read. Returns
 * its length, for which there is room. */
size_t hv_stream_encode(uint8_t *at, const struct hv_stream_frame *f, size_t len_bytes,
			const struct hv_stream_key *key);

/* Bodies. */

/* A table is a text that is longer than a frame; it is sent in parts of PART_BYTES (the last one
 * may be shorter), again and again. */
enum hv_stream_table_id {
	HV_STREAM_HEAD,	 /* what is known before the first event (tables.h) */
	HV_STREAM_NAMES, /* the text of saved_cmdlines */
	HV_STREAM_NR_TABLES
};

#define HV_STREAM_PART_LEN 20 /* before BYTES */
struct hv_stream_part {
	uint8_t table;
	uint16_t part_bytes;
	uint32_t generation;  /* grows when the table changes */
	uint32_t total_bytes; /* of the table, compressed */
	uint32_t raw_bytes;   /* of the table, not compressed */
	uint32_t off;
	struct hv_span bytes; /* borrowed */
};
bool hv_stream_part_decode(struct hv_span body, struct hv_stream_part *ret);
/* Writes what comes before the bytes. */
void hv_stream_part_encode(uint8_t *at, const struct hv_stream_part *p);

/* Events of a vCPU as a page of trace_pipe_raw of any length (tree/format/raw_page.h). NR_BEFORE
 * tells how many events of the vCPU were sent before, so that a collector knows how many it did not
 * get. */
#define HV_STREAM_EVENTS_LEN 16 /* before PAGE */
struct hv_stream_events {
	uint32_t cpu;
	uint32_t nr;
	uint64_t nr_before;
	struct hv_span page; /* borrowed */
};
bool hv_stream_events_decode(struct hv_span body, struct hv_stream_events *ret);
void hv_stream_events_encode(uint8_t *at, const struct hv_stream_events *e);

/* How many events of the vCPUs from FIRST_CPU on were sent up to now. */
#define HV_STREAM_COUNTS_LEN 8 /* before the numbers, each a u64 */
struct hv_stream_counts {
	uint32_t first_cpu;
	uint32_t nr;
	struct hv_span numbers; /* borrowed */
};
bool hv_stream_counts_decode(struct hv_span body, struct hv_stream_counts *ret);
void hv_stream_counts_encode(uint8_t *at, const struct hv_stream_counts *c);
