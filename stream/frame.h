/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The wire format between sender and collector (docs/operators/stream.md). All numbers are little
 * endian.
 *
 *   0   "HVTS"
 *   4   u8 version, u8 kind, u8 flags, u8 0
 *   8   u64 session: identifies the stream
 *   16  u64 sequence: frame number in the stream, from 0
 *   24  u32 length of the body in the frame
 *   28  u32 length of the body before compression
 *   32  body
 *       16 bytes: keyed hash of everything before it
 *
 * A frame is untrusted until it is decoded. Its body stays untrusted because a guest can influence
 * what its sender writes. window.h orders frames; in.h and out.h transport them. Pure. */
#pragma once

#include "stream/key.h"

#define HV_STREAM_HEAD_LEN  32
/* length without the body */
#define HV_STREAM_FRAME_LEN (HV_STREAM_HEAD_LEN + HV_STREAM_HASH_LEN)
#define HV_STREAM_FRAME_MAX 60000
#define HV_STREAM_BODY_MAX  (HV_STREAM_FRAME_MAX - HV_STREAM_FRAME_LEN)
#define HV_STREAM_RAW_MAX   (128u << 10) /* maximum length of a body before compression */
#define HV_STREAM_PORT	    "9912"

enum hv_stream_kind {
	HV_STREAM_TABLE = 1,  /* part of a table: struct hv_stream_part */
	HV_STREAM_EVENTS = 2, /* events of one vCPU: struct hv_stream_events */
	HV_STREAM_COUNTS = 3, /* number of events sent per vCPU: struct hv_stream_counts */
	HV_STREAM_END = 4,    /* like HV_STREAM_COUNTS, and the stream ends */
};

enum hv_stream_flag {
	HV_STREAM_ZSTD = 1, /* the body is one zstd frame */
};

struct hv_stream_frame {
	uint8_t kind;
	uint8_t flags;
	uint64_t session;
	uint64_t sequence;
	uint32_t raw_bytes;
	struct hv_span body; /* borrowed */
};

/* Result of decoding a frame. */
enum hv_stream_verdict {
	HV_STREAM_GOOD,
	HV_STREAM_NOT_OURS,	 /* shorter than a frame, or wrong magic */
	HV_STREAM_OTHER_VERSION, /* the sender uses another version of the format */
	HV_STREAM_BAD_LENGTH,	 /* the length field differs from the actual length */
	HV_STREAM_BAD_HASH,	 /* wrong key, or damaged in transit */
	HV_STREAM_BAD_BODY,	 /* authenticated, but its contents are invalid */
	HV_STREAM_NR_VERDICTS
};

/* Returns a phrase for messages, for example "wrong key". */
const char *hv_stream_verdict_name(enum hv_stream_verdict v);

/* Decodes IN, which must be exactly one frame, and verifies its hash. RET borrows IN. */
enum hv_stream_verdict hv_stream_decode(struct hv_span in, const struct hv_stream_key *key,
					struct hv_stream_frame *ret);
/* Like hv_stream_decode(), but skips the hash. For frames that were already verified. */
enum hv_stream_verdict hv_stream_decode_again(struct hv_span in, struct hv_stream_frame *ret);
/* Reads the length of the frame at the start of a byte stream. *RET is 0 if IN is too short to
 * contain it. Returns false if IN does not start with a frame. */
bool hv_stream_frame_bytes(struct hv_span in, size_t *ret);

/* Adds header and hash to a frame at AT whose body of LEN_BYTES is already in place; ignores
 * F->body. Returns the length of the frame. AT must have room for it. */
size_t hv_stream_encode(uint8_t *at, const struct hv_stream_frame *f, size_t len_bytes,
			const struct hv_stream_key *key);

/* A table is a text longer than a frame. The sender splits it into parts of PART_BYTES, the last of
 * which can be shorter, and sends them repeatedly. */
enum hv_stream_table_id {
	HV_STREAM_HEAD,	 /* the metadata needed to decode events (table.h) */
	HV_STREAM_NAMES, /* the text of saved_cmdlines */
	HV_STREAM_NR_TABLES
};

#define HV_STREAM_PART_LEN 20 /* length of the encoded header before `bytes` */
struct hv_stream_part {
	uint8_t table;
	uint16_t part_bytes;
	uint32_t generation;  /* incremented when the table changes */
	uint32_t total_bytes; /* compressed length of the table */
	uint32_t raw_bytes;   /* uncompressed length of the table */
	uint32_t off;
	struct hv_span bytes; /* borrowed */
};
bool hv_stream_part_decode(struct hv_span body, struct hv_stream_part *ret);
/* Writes the header of a part, without its bytes. */
void hv_stream_part_encode(uint8_t *at, const struct hv_stream_part *p);

/* Events of one vCPU, as a page of trace_pipe_raw with variable length (tree/format/raw_page.h). A
 * collector compares NR_BEFORE, the number of events that the vCPU sent before, with the events it
 * has received to detect losses. */
#define HV_STREAM_EVENTS_LEN 16 /* length of the encoded header before `page` */
struct hv_stream_events {
	uint32_t cpu;
	uint32_t nr;
	uint64_t nr_before;
	struct hv_span page; /* borrowed */
};
bool hv_stream_events_decode(struct hv_span body, struct hv_stream_events *ret);
void hv_stream_events_encode(uint8_t *at, const struct hv_stream_events *e);

/* The number of events sent so far for each of NR vCPUs starting with FIRST_CPU. */
#define HV_STREAM_COUNTS_LEN 8 /* length of the encoded header before the u64 numbers */
struct hv_stream_counts {
	uint32_t first_cpu;
	uint32_t nr;
	struct hv_span numbers; /* borrowed */
};
bool hv_stream_counts_decode(struct hv_span body, struct hv_stream_counts *ret);
void hv_stream_counts_encode(uint8_t *at, const struct hv_stream_counts *c);
