/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/qemu/rsp.h"

#include <string.h>

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static unsigned sum_of(const char *bytes, size_t len)
{
	unsigned sum = 0;

	for (size_t i = 0; i < len; i++)
		sum += (unsigned char)bytes[i];
	return sum & 0xff;
}

void hv_rsp_frame(struct hv_text *out, const char *payload, size_t len_bytes)
{
	static const char hex[] = "0123456789abcdef";
	unsigned sum = sum_of(payload, len_bytes);
	char tail[3] = {'#', hex[sum >> 4], hex[sum & 15]};

	hv_text_add_bytes(out, "$", 1);
	hv_text_add_bytes(out, payload, len_bytes);
	hv_text_add_bytes(out, tail, sizeof(tail));
}

void hv_rsp_feed(struct hv_rsp_reader *r, const void *bytes, size_t len_bytes)
{
	if (r->taken_bytes) {
		memmove(r->in.data, r->in.data + r->taken_bytes, r->in.len_bytes - r->taken_bytes);
		r->in.len_bytes -= r->taken_bytes;
		r->taken_bytes = 0;
	}
	hv_text_add_bytes(&r->in, bytes, len_bytes);
}

/* Decodes `X*n`, which means X and n - 29 more of it, and `}Y`, which means Y ^ 0x20. */
static bool expand(struct hv_text *out, const char *raw, size_t len)
{
	hv_text_clear(out);
	for (size_t i = 0; i < len; i++) {
		char c = raw[i];
		int more;

		if (c == '}') {
			if (++i >= len)
				return false;
			c = (char)(raw[i] ^ 0x20);
			hv_text_add_bytes(out, &c, 1);
			continue;
		}
		if (c != '*') {
			hv_text_add_bytes(out, &c, 1);
			continue;
		}
		if (!out->len_bytes || ++i >= len)
			return false;
		more = (unsigned char)raw[i] - 29;
		if (more < 3 || more > 97)
			return false;
		c = out->data[out->len_bytes - 1];
		while (more--)
			hv_text_add_bytes(out, &c, 1);
		if (out->len_bytes > HV_RSP_PACKET_MAX_BYTES)
			return false;
	}
	hv_text_add_bytes(out, "", 0);
	return true;
}

static enum hv_rsp_next take_packet(struct hv_rsp_reader *r)
{
	const char *start = r->in.data + r->taken_bytes + 1;
	size_t room = r->in.len_bytes - r->taken_bytes - 1;
	const char *hash = memchr(start + r->scanned_bytes, '#', room - r->scanned_bytes);
	size_t len = hash ? (size_t)(hash - start) : room;
	int high, low;

	r->scanned_bytes = len;
	if (!hash && room > HV_RSP_PACKET_MAX_BYTES) {
		r->taken_bytes = r->in.len_bytes;
		r->scanned_bytes = 0;
		return HV_RSP_BAD;
	}
	if (!hash || room - len < 3)
		return HV_RSP_MORE;
	r->scanned_bytes = 0;
	r->taken_bytes += 1 + len + 3;
	high = hex_digit(hash[1]);
	low = hex_digit(hash[2]);
	if (high < 0 || low < 0 || sum_of(start, len) != (unsigned)(high << 4 | low))
		return HV_RSP_BAD;
	return expand(&r->packet, start, len) ? HV_RSP_PACKET : HV_RSP_BAD;
}

enum hv_rsp_next hv_rsp_next(struct hv_rsp_reader *r)
{
	while (r->taken_bytes < r->in.len_bytes) {
		char c = r->in.data[r->taken_bytes];

		if (c == '$')
			return take_packet(r);
		r->taken_bytes++;
		r->nr_acks += c == '+';
		if (c == '-')
			return HV_RSP_NAK;
	}
	return HV_RSP_MORE;
}

void hv_rsp_reader_deinit(struct hv_rsp_reader *r)
{
	hv_text_deinit(&r->in);
	hv_text_deinit(&r->packet);
}
