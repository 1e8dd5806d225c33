/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames of lib/wire.h as text, for the service. */
#pragma once

#include "base/text.h"
#include "lib/frames.h"

/* Appends FRAME with the version filled in. FRAME has at most WIRE_DATA_MAX bytes of data. */
void wire_encode(struct hv_text *out, const struct wire_frame *frame);

/* Copies DATA as a string. False: DATA contains a NUL or exceeds MAX_BYTES. The caller owns
 * *RET. */
bool wire_string(struct hv_span data, size_t max_bytes, char **ret);
