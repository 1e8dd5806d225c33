/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/utf8.h"

#include "base/guard.h"

/* Returns the length of a character with the first byte C, or 0 if C is invalid. */
static size_t utf8_len(unsigned char c)
{
	if (c < 0x80)
		return 1;
	if (c >= 0xc2 && c < 0xe0)
		return 2;
	if (c >= 0xe0 && c < 0xf0)
		return 3;
	return c >= 0xf0 && c < 0xf5 ? 4 : 0;
}

size_t hv_utf8_safe(const char *bytes, size_t left)
{
	/* Bounds of the second byte by first byte. They exclude surrogates, code points above
	 * U+10FFFF, and overlong encodings. */
	static const struct {
		unsigned char first, from, to;
	} bounds[] = {{0xc2, 0xa0, 0xbf},
		      {0xe0, 0xa0, 0xbf},
		      {0xed, 0x80, 0x9f},
		      {0xf0, 0x90, 0xbf},
		      {0xf4, 0x80, 0x8f}};
	const unsigned char *at = (const unsigned char *)bytes;
	size_t len = utf8_len(at[0]);

	if (!len || len > left || at[0] < 0x20 || at[0] == 0x7f)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	for (size_t i = 0; i < HV_ARRAY_LEN(bounds); i++)
		if (at[0] == bounds[i].first && (at[1] < bounds[i].from || at[1] > bounds[i].to))
			return 0;
	return len;
}

bool hv_utf8_is_begin(const char *at, size_t left)
{
	for (size_t i = 1; i < left; i++)
		if (((unsigned char)at[i] & 0xc0) != 0x80)
			return false;
	return left && left < utf8_len((unsigned char)at[0]);
}
