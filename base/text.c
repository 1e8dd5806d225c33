/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/guard.h"

static void grow(struct hv_text *t, size_t need)
{
	t->cap_bytes = need < 256 ? 256 : need * 2;
	t->data = hv_realloc_array(t->data, t->cap_bytes, 1);
}

/* Ensures room for MORE_BYTES and a NUL. Returns the end of the text. */
static inline char *reserve(struct hv_text *t, size_t more_bytes)
{
	size_t need = t->len_bytes + more_bytes + 1;

	if (need > t->cap_bytes)
		grow(t, need);
	return t->data + t->len_bytes;
}

/* Sets the end of the text to END. */
static inline void end_at(struct hv_text *t, char *end)
{
	*end = '\0';
	t->len_bytes = (size_t)(end - t->data);
}

char *hv_text_room(struct hv_text *t, size_t len_bytes)
{
	return reserve(t, len_bytes);
}

void hv_text_end(struct hv_text *t, char *end)
{
	end_at(t, end);
}

void hv_text_deinit(struct hv_text *t)
{
	free(t->data);
	*t = (struct hv_text){0};
}

void hv_text_clear(struct hv_text *t)
{
	t->len_bytes = 0;
	if (t->data)
		t->data[0] = '\0';
}

void hv_text_add_bytes(struct hv_text *t, const void *bytes, size_t len_bytes)
{
	char *at = reserve(t, len_bytes);

	memcpy(at, bytes, len_bytes);
	end_at(t, at + len_bytes);
}

void hv_text_add(struct hv_text *t, const char *s)
{
	hv_text_add_bytes(t, s, strlen(s));
}

void hv_text_printf(struct hv_text *t, const char *fmt, ...)
{
	va_list args;
	int len;

	reserve(t, 128);
	va_start(args, fmt);
	len = vsnprintf(t->data + t->len_bytes, t->cap_bytes - t->len_bytes, fmt, args);
	va_end(args);
	if (len < 0)
		abort();
	if ((size_t)len >= t->cap_bytes - t->len_bytes) {
		reserve(t, (size_t)len);
		va_start(args, fmt);
		vsnprintf(t->data + t->len_bytes, t->cap_bytes - t->len_bytes, fmt, args);
		va_end(args);
	}
	t->len_bytes += (size_t)len;
}

void hv_text_add_char(struct hv_text *t, char c)
{
	char *at = reserve(t, 1);

	*at = c;
	end_at(t, at + 1);
}

void hv_text_add_fill(struct hv_text *t, char c, size_t nr)
{
	char *at = reserve(t, nr);

	memset(at, c, nr);
	end_at(t, at + nr);
}

void hv_text_add_number(struct hv_text *t, uint64_t value, unsigned width)
{
	end_at(t, hv_put_number(reserve(t, width + HV_DIGITS_MAX), value, width));
}

/* Tests eight characters at a time: all must be printable ASCII. */
static inline bool are_safe(uint64_t eight)
{
	const uint64_t each = UINT64_C(0x0101010101010101), high = each << 7;
	uint64_t is_del = (eight ^ each * 0x7f) - each;

	return !((eight | (eight - each * 0x20) | is_del) & high);
}

static inline char safe(unsigned char c)
{
	return c < 0x20 || c == 0x7f || (c >= 0x80 && c < 0xa0) ? '?' : (char)c;
}

void hv_text_add_guest(struct hv_text *t, const char *name, size_t max_bytes)
{
	size_t len = strnlen(name, max_bytes);
	char *at = reserve(t, len);

	size_t i = 0;

	for (uint64_t eight; i + 8 <= len; i += 8) {
		memcpy(&eight, name + i, 8);
		if (!are_safe(eight))
			break;
		memcpy(at + i, &eight, 8);
	}
	for (; i < len; i++)
		at[i] = safe((unsigned char)name[i]);
	end_at(t, at + len);
}

/* Returns the number of printable ASCII characters and spaces at the start of the LEFT bytes at
 * AT. */
static size_t ascii_len(const char *at, size_t left)
{
	size_t len = 0;

	while (len < left && at[len] >= ' ' && at[len] <= '~')
		len++;
	return len;
}

void hv_text_add_utf8(struct hv_text *t, const char *name, size_t max_bytes)
{
	size_t len = strnlen(name, max_bytes);

	for (size_t i = 0; i < len;) {
		size_t safe_len = ascii_len(name + i, len - i);

		if (!safe_len)
			safe_len = hv_utf8_safe(name + i, len - i);

		if (safe_len)
			hv_text_add_bytes(t, name + i, safe_len);
		else
			hv_text_add_char(t, '?');
		i += safe_len ? safe_len : 1;
	}
}

/* Returns the length of the control character at AT, or 0 if it is another character. 0x80 to 0x9f
 * take two bytes in UTF-8. */
static unsigned control_bytes(const char *at)
{
	unsigned char c = (unsigned char)at[0], next = (unsigned char)at[1];

	if (c == 0xc2 && next >= 0x80 && next < 0xa0)
		return 2;
	return (c < 0x20 && c != '\n') || c == 0x7f;
}

void hv_text_add_lines(struct hv_text *t, const char *lines)
{
	while (*lines) {
		unsigned control = control_bytes(lines);

		hv_text_add_char(t, control ? '?' : *lines);
		lines += control ? control : 1;
	}
}

char *hv_text_take(struct hv_text *t)
{
	char *taken;

	reserve(t, 0);
	t->data[t->len_bytes] = '\0';
	taken = t->data;
	*t = (struct hv_text){0};
	return taken;
}

/* -- UTF-8 ------------------------------------------------------------------------------------- */

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
