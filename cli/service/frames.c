/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/frames.h"

void wire_encode(struct hv_text *out, const struct wire_frame *frame)
{
	uint8_t head[WIRE_HEAD_LEN];

	wire_head(frame, head);
	hv_text_add_bytes(out, (const char *)head, sizeof(head));
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
