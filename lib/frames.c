/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/frames.h"

#include <assert.h>

enum wire_result wire_decode(struct hv_span in, struct wire_frame *ret, size_t *ret_used)
{
	struct wire_frame frame = {0};
	uint32_t len;

	if (!hv_span_u32(in, 0, &len))
		return WIRE_MORE;
	if (len < WIRE_HEAD_LEN || len > WIRE_HEAD_LEN + WIRE_DATA_MAX)
		return WIRE_BAD;
	if (!hv_span_has(in, 0, len))
		return WIRE_MORE;
	hv_span_u16(in, 4, &frame.version);
	hv_span_u16(in, 6, &frame.kind);
	hv_span_u32(in, 8, &frame.handle);
	hv_span_u32(in, 12, &frame.arg);
	hv_span_u32(in, 16, &frame.wait_ms);
	hv_span_u32(in, 20, &frame.tag);
	frame.data = (struct hv_span){in.data + WIRE_HEAD_LEN, len - WIRE_HEAD_LEN};
	*ret = frame;
	*ret_used = len;
	return WIRE_FRAME;
}

void wire_head(const struct wire_frame *frame, uint8_t ret[WIRE_HEAD_LEN])
{
	uint32_t len = WIRE_HEAD_LEN + (uint32_t)frame->data.len_bytes;
	uint16_t version = WIRE_VERSION;

	assert(frame->data.len_bytes <= WIRE_DATA_MAX);
	memcpy(ret, &len, sizeof(len));
	memcpy(ret + 4, &version, sizeof(version));
	memcpy(ret + 6, &frame->kind, sizeof(frame->kind));
	memcpy(ret + 8, &frame->handle, sizeof(frame->handle));
	memcpy(ret + 12, &frame->arg, sizeof(frame->arg));
	memcpy(ret + 16, &frame->wait_ms, sizeof(frame->wait_ms));
	memcpy(ret + 20, &frame->tag, sizeof(frame->tag));
}
