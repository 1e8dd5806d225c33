/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/protobuf.h"

enum { WIRE_VARINT = 0, WIRE_LENGTH = 2 };

/* Seven bits per byte, the lowest first; bit 7 is set if more bytes follow. */
void hv_protobuf_element(struct hv_text *list, uint64_t value)
{
	uint8_t bytes[10];
	size_t nr = 0;

	for (; value >> 7; value >>= 7)
		bytes[nr++] = (uint8_t)(value | 0x80);
	bytes[nr++] = (uint8_t)value;
	hv_text_add_bytes(list, bytes, nr);
}

void hv_protobuf_number(struct hv_text *out, unsigned field, uint64_t value)
{
	hv_protobuf_element(out, field << 3 | WIRE_VARINT);
	hv_protobuf_element(out, value);
}

void hv_protobuf_string(struct hv_text *out, unsigned field, const char *s, size_t len_bytes)
{
	hv_protobuf_element(out, field << 3 | WIRE_LENGTH);
	hv_protobuf_element(out, len_bytes);
	hv_text_add_bytes(out, len_bytes ? s : "", len_bytes);
}

void hv_protobuf_message(struct hv_text *out, unsigned field, const struct hv_text *message)
{
	hv_protobuf_string(out, field, message->data, message->len_bytes);
}
