/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LINE_MAX_BYTES 512
#define OFF_MAX	       65536

/* Copies the line at *TEXT, cut to LINE_MAX_BYTES, and moves *TEXT to the next one. Returns false
 * at the end. */
static bool next_line(const char **text, char ret[LINE_MAX_BYTES])
{
	size_t len = strcspn(*text, "\n");
	size_t kept = len < LINE_MAX_BYTES ? len : LINE_MAX_BYTES - 1;

	if (!**text)
		return false;
	memcpy(ret, *text, kept);
	ret[kept] = '\0';
	*text += len + ((*text)[len] == '\n');
	return true;
}

bool format_id(const char *text, uint16_t *ret)
{
	char line[LINE_MAX_BYTES];

	while (next_line(&text, line))
		if (sscanf(line, "ID: %" SCNu16, ret) == 1)
			return true;
	return false;
}

/* LINE is "field:TYPE NAME;  offset:N;  size:N;  signed:N;". */
static bool is_field(const char *line, const char *name, struct format_field *ret)
{
	const char *declaration = strstr(line, "field:");
	const char *end = declaration ? strchr(declaration, ';') : NULL;
	size_t len = strlen(name);
	uint32_t off, size;

	if (!end || end < declaration + len + 1 || memcmp(end - len, name, len) != 0 ||
	    (end[-(ptrdiff_t)len - 1] != ' ' && end[-(ptrdiff_t)len - 1] != '*'))
		return false;
	if (sscanf(end, "; offset:%" SCNu32 "; size:%" SCNu32 ";", &off, &size) != 2)
		return false;
	if (off > OFF_MAX || (size != 1 && size != 2 && size != 4 && size != 8))
		return false;
	*ret = (struct format_field){off, size};
	return true;
}

bool format_field(const char *text, const char *name, struct format_field *ret)
{
	char line[LINE_MAX_BYTES];

	while (next_line(&text, line))
		if (is_field(line, name, ret))
			return true;
	return false;
}

bool format_value(const struct format_field *f, struct hv_span entry, uint64_t *ret)
{
	uint64_t value = 0;

	if (!hv_span_copy(entry, f->off, &value, f->len_bytes))
		return false;
	*ret = value;
	return true;
}
