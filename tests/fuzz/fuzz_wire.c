/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes a client's frames: every accepted frame must be within the input. */
#include <stdlib.h>

#include "cli/service/frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hv_span in = {data, size};
	struct wire_frame frame;
	size_t used;

	while (wire_decode(in, &frame, &used) == WIRE_FRAME) {
		HV_AUTO_FREE char *s = NULL;

		if (used < WIRE_HEAD_LEN || used > in.len_bytes ||
		    frame.data.data + frame.data.len_bytes != in.data + used)
			abort();
		if (wire_string(frame.data, 64, &s) && strlen(s) != frame.data.len_bytes)
			abort();
		in.data += used;
		in.len_bytes -= used;
	}
	return 0;
}
