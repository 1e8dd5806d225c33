/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A growing string, used to render tracefs text and messages; decimal numbers; and checks of UTF-8.
 * A zeroed text is empty and valid. It is NUL-terminated after the first append. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/guard.h"

struct hv_text {
	char *data; /* owned; NULL when empty */
	size_t len_bytes;
	size_t cap_bytes;
};

void hv_text_deinit(struct hv_text *t);
void hv_text_clear(struct hv_text *t); /* empties it but keeps the memory */
void hv_text_add(struct hv_text *t, const char *s);
void hv_text_add_bytes(struct hv_text *t, const void *bytes, size_t len_bytes);
void hv_text_printf(struct hv_text *t, const char *fmt, ...) hv_printf(2, 3);

/* Faster than hv_text_printf, for lines that are rendered per event. */
void hv_text_add_char(struct hv_text *t, char c);
void hv_text_add_fill(struct hv_text *t, char c, size_t nr);
/* Appends VALUE in decimal, padded with spaces to WIDTH characters. */
void hv_text_add_number(struct hv_text *t, uint64_t value, unsigned width);

/* Reserves LEN_BYTES and returns a pointer to them. Call hv_text_end() with the end of the written
 * data before any other append. */
char *hv_text_room(struct hv_text *t, size_t len_bytes) hv_must_use;
void hv_text_end(struct hv_text *t, char *end);

/* Appends a name from the guest, up to MAX_BYTES or its NUL. Bytes that a terminal would interpret
 * become '?'. */
void hv_text_add_guest(struct hv_text *t, const char *name, size_t max_bytes);
/* Like hv_text_add_guest(), for readers that require UTF-8 (JSON): invalid UTF-8 also becomes
 * '?'. */
void hv_text_add_utf8(struct hv_text *t, const char *name, size_t max_bytes);
/* Appends UTF-8 lines from an unprivileged process. Control characters become '?'. */
void hv_text_add_lines(struct hv_text *t, const char *lines);

/* Returns the string, which the caller frees, and empties the text. Never NULL. */
char *hv_text_take(struct hv_text *t) hv_must_use;

/* Returns the plural suffix of a noun after the number NR: "" for 1, else "s". */
static inline const char *hv_plural(unsigned long long nr)
{
	return nr == 1 ? "" : "s";
}

#define HV_AUTO_TEXT hv_cleanup(hv_text_deinit)

/* -- digits ------------------------------------------------------------------------------------ */

/* Fast decimal formatting for lines that are rendered per event. The caller provides the space; no
 * NUL is written. */

#define HV_DIGITS_MAX 20 /* for a uint64_t */

/* Writes VALUE, which must have at most NR digits, padded with zeros to NR. Returns the end. */
static inline char *hv_put_digits(char *at, uint64_t value, unsigned nr)
{
	for (unsigned i = nr; i-- > 0; value /= 10)
		at[i] = (char)('0' + value % 10);
	return at + nr;
}

/* Writes VALUE right-aligned in at least WIDTH characters. Returns the end. */
static inline char *hv_put_number(char *at, uint64_t value, unsigned width)
{
	unsigned nr = 1;

	for (uint64_t rest = value; rest >= 10; rest /= 10)
		nr++;
	for (; width > nr; width--)
		*at++ = ' ';
	return hv_put_digits(at, value, nr);
}

/* -- UTF-8 ------------------------------------------------------------------------------------- */

/* Validates UTF-8 in untrusted bytes. */

/* Returns the length of the character at AT. Returns 0 if it is invalid or a control character
 * (including U+0080 to U+009F). LEFT, the number of bytes available, is at least 1. */
size_t hv_utf8_safe(const char *at, size_t left);
/* Returns whether the LEFT bytes at AT are an incomplete but so far valid character. */
bool hv_utf8_is_begin(const char *at, size_t left);
