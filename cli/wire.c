/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/wire.h"

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

void wire_encode(struct hv_text *out, const struct wire_frame *frame)
{
	uint32_t len = WIRE_HEAD_LEN + (uint32_t)frame->data.len_bytes;
	uint16_t version = WIRE_VERSION;

	assert(frame->data.len_bytes <= WIRE_DATA_MAX);
	hv_text_add_bytes(out, &len, sizeof(len));
	hv_text_add_bytes(out, &version, sizeof(version));
	hv_text_add_bytes(out, &frame->kind, sizeof(frame->kind));
	hv_text_add_bytes(out, &frame->handle, sizeof(frame->handle));
	hv_text_add_bytes(out, &frame->arg, sizeof(frame->arg));
	hv_text_add_bytes(out, &frame->wait_ms, sizeof(frame->wait_ms));
	hv_text_add_bytes(out, &frame->tag, sizeof(frame->tag));
	if (frame->data.len_bytes)
		hv_text_add_bytes(out, frame->data.data, frame->data.len_bytes);
}

bool wire_string(struct hv_span data, size_t max_bytes, char **ret)
{
	char *s;

	if (data.len_bytes > max_bytes || memchr(data.data, '\0', data.len_bytes))
		return false;
	s = hv_alloc(data.len_bytes + 1);
	memcpy(s, data.data, data.len_bytes);
	*ret = s;
	return true;
}
