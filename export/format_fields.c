/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/format_fields.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FIELD	   "\tfield:"
#define OFFSET	   ";\toffset:"
#define SIZE	   ";\tsize:"
#define SIGN	   ";\tsigned:"
#define BEGIN	   "format:"
#define END	   "print fmt:"
#define DIGITS	   "0123456789"
#define DIGITS_MAX 9

static bool begins_with(const char *at, const char *end, const char *word)
{
	size_t len = strlen(word);

	return (size_t)(end - at) >= len && memcmp(at, word, len) == 0;
}

/* Parses WORD and a number, and advances *AT. Returns false if they are not there. */
static bool take_number(const char **at, const char *end, const char *word, size_t *ret)
{
	size_t nr = 0, value = 0;

	if (!begins_with(*at, end, word))
		return false;
	*at += strlen(word);
	for (; *at + nr < end && nr <= DIGITS_MAX && strchr(DIGITS, (*at)[nr]) && (*at)[nr]; nr++)
		value = value * 10 + (size_t)((*at)[nr] - '0');
	*at += nr;
	*ret = value;
	return nr && nr <= DIGITS_MAX;
}

/* LINE excludes the newline. As in parsers, the name ends at the first semicolon. */
static bool is_field_within(const char *line, const char *end, size_t max_bytes)
{
	const char *at = memchr(line, ';', (size_t)(end - line));
	size_t off, size, sign;

	if (!begins_with(line, end, FIELD) || !at || !take_number(&at, end, OFFSET, &off) ||
	    !take_number(&at, end, SIZE, &size) || !take_number(&at, end, SIGN, &sign) ||
	    !begins_with(at, end, ";") || at + 1 != end)
		return false;
	return off <= max_bytes && size <= max_bytes - off;
}

void hv_format_fields_add(struct hv_text *out, struct hv_export_text format, size_t max_bytes)
{
	const char *at = format.text, *end = at + format.len_bytes;
	bool is_in = false;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;
		size_t len = (size_t)(stop - at) + (newline != NULL);

		if (begins_with(at, stop, END)) {
			hv_text_add_bytes(out, at, (size_t)(end - at));
			return;
		}
		if (!is_in || at == stop || is_field_within(at, stop, max_bytes))
			hv_text_add_bytes(out, at, len);
		is_in = is_in || begins_with(at, stop, BEGIN);
		at += len;
	}
}
