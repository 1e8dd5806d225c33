/* Framing of gdb's remote serial protocol: `$payload#checksum`, escapes, run-length expansion
 * (gdb manual, "Overview" of appendix "GDB Remote Serial Protocol"). Pure: bytes in, packets out.
 * Leaves to others: what packets say, when to acknowledge. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

#define HV_RSP_PACKET_MAX_BYTES (1u << 20) /* received, expanded */

void hv_rsp_frame(struct hv_text *out, const char *payload, size_t len_bytes);

enum hv_rsp_next {
	HV_RSP_MORE,   /* needs more bytes */
	HV_RSP_PACKET, /* PACKET holds one */
	HV_RSP_NAK,    /* the peer did not understand what we sent */
	HV_RSP_BAD,    /* checksum, expansion or size is wrong; the packet is skipped */
};

/* Zero-initialised is valid. */
struct hv_rsp_reader {
	struct hv_text in;     /* received, not yet taken */
	size_t taken_bytes;    /* of IN */
	uint64_t nr_acks;      /* taken */
	struct hv_text packet; /* the last packet's payload, expanded; valid until the next call */
};

void hv_rsp_feed(struct hv_rsp_reader *r, const void *bytes, size_t len_bytes);
/* Acknowledgements (+) before it are counted. */
enum hv_rsp_next hv_rsp_next(struct hv_rsp_reader *r);
void hv_rsp_reader_deinit(struct hv_rsp_reader *r);
