/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounded little-endian reads from a private copy of guest bytes. Reading outside the span returns
 * false and leaves the result untouched; callers must expect this because guests are untrusted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct hv_span {
	const uint8_t *data; /* borrowed */
	size_t len_bytes;
};

static inline bool hv_span_has(struct hv_span s, size_t off, size_t len)
{
	return off <= s.len_bytes && len <= s.len_bytes - off;
}

static inline bool hv_span_copy(struct hv_span s, size_t off, void *to, size_t len)
{
	if (!hv_span_has(s, off, len))
		return false;
	memcpy(to, s.data + off, len);
	return true;
}

static inline bool hv_span_u8(struct hv_span s, size_t off, uint8_t *ret)
{
	return hv_span_copy(s, off, ret, sizeof(*ret));
}

static inline bool hv_span_u16(struct hv_span s, size_t off, uint16_t *ret)
{
	return hv_span_copy(s, off, ret, sizeof(*ret));
}

static inline bool hv_span_u32(struct hv_span s, size_t off, uint32_t *ret)
{
	return hv_span_copy(s, off, ret, sizeof(*ret));
}

static inline bool hv_span_u64(struct hv_span s, size_t off, uint64_t *ret)
{
	return hv_span_copy(s, off, ret, sizeof(*ret));
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "hosts and guests are little endian");
