/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Encodes and decodes the frames of wire.h. Pure. For conn.h, which speaks for all clients, and for
 * the service; scripts/check-layers refuses other users. */
#pragma once

#include "lib/wire.h"

enum wire_result {
	WIRE_MORE,  /* the frame is incomplete */
	WIRE_FRAME, /* *ret is a frame of *ret_used bytes */
	WIRE_BAD,   /* not a frame; the connection is out of sync */
};

/* Decodes the first frame of IN. Its data points into IN. */
enum wire_result wire_decode(struct hv_span in, struct wire_frame *ret, size_t *ret_used);

/* Encodes the head of FRAME, with the version filled in. FRAME has at most WIRE_DATA_MAX bytes of
 * data, which follow the head. */
void wire_head(const struct wire_frame *frame, uint8_t ret[WIRE_HEAD_LEN]);
