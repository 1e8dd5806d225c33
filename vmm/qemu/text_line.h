/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of a text from a VMM. Each line is scanned once and copied into a fixed-size buffer, so
 * that parsing takes time proportional to the text: sscanf(3) and strstr(3) on the text would
 * search for its end for each line. Pure. */
#pragma once

#include <stdbool.h>
#include <string.h>

#define HV_TEXT_LINE_MAX 1024 /* with its NUL */

struct hv_text_line {
	char bytes[HV_TEXT_LINE_MAX]; /* without the line end; "" if the line is too long */
	const char *at;		      /* its start in the text */
	size_t len_bytes;	      /* in the text */
};

/* Copies the line at *AT and advances *AT to the next one. LF, CR and CR LF end a line. Returns
 * false at the end of the text. */
static inline bool hv_text_line_next(const char **at, struct hv_text_line *ret)
{
	const char *end = *at + strcspn(*at, "\r\n");

	if (!**at)
		return false;
	ret->at = *at;
	ret->len_bytes = (size_t)(end - *at);
	ret->bytes[0] = '\0';
	if (ret->len_bytes < sizeof(ret->bytes)) {
		memcpy(ret->bytes, *at, ret->len_bytes);
		ret->bytes[ret->len_bytes] = '\0';
	}
	end += strspn(end, "\r");
	*at = end + (*end == '\n');
	return true;
}
