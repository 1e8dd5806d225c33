/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Framing of gdb's remote serial protocol: `$payload#checksum`, escapes, run-length expansion (gdb
 * manual, appendix "GDB Remote Serial Protocol", section "Overview"). Pure: bytes in, packets out.
 * The caller interprets packets and acknowledges them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

#define HV_RSP_PACKET_MAX_BYTES (1u << 20) /* limit for received packets, after expansion */

void hv_rsp_frame(struct hv_text *out, const char *payload, size_t len_bytes);

enum hv_rsp_next {
	HV_RSP_MORE,   /* more bytes are needed */
	HV_RSP_PACKET, /* PACKET contains one */
	HV_RSP_NAK,    /* the peer requests the last packet again */
	HV_RSP_BAD,    /* wrong checksum, expansion or size; the packet is skipped */
};

/* Zero-initialised is valid. */
struct hv_rsp_reader {
	struct hv_text in;     /* received but not consumed */
	size_t taken_bytes;    /* consumed bytes of IN */
	size_t scanned_bytes;  /* of the next packet, known not to contain its end */
	uint64_t nr_acks;      /* acknowledgements consumed */
	struct hv_text packet; /* the last packet's payload, expanded; valid until the next call */
};

void hv_rsp_feed(struct hv_rsp_reader *r, const void *bytes, size_t len_bytes);
/* Consumes the next item. Counts acknowledgements (+) before it. */
enum hv_rsp_next hv_rsp_next(struct hv_rsp_reader *r);
void hv_rsp_reader_deinit(struct hv_rsp_reader *r);
