/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses scripts of operations on a tree (golden transcripts, the conformance player). */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Replaces the escapes \n, \t, \0, \\ and \xNN in S. Returns the resulting length in bytes. */
static inline size_t unescape(char *s)
{
	char *to = s;

	for (char *from = s; *from; from++) {
		if (*from != '\\') {
			*to++ = *from;
			continue;
		}
		from++;
		if (*from == 'x') {
			char hex[3] = {from[1], from[2], 0};

			*to++ = (char)strtoul(hex, NULL, 16);
			from += 2;
			continue;
		}
		*to++ = *from == 'n' ? '\n' : *from == 't' ? '\t' : *from == '0' ? '\0' : *from;
	}
	*to = '\0';
	return (size_t)(to - s);
}

/* Returns the next word of *LINE, or "" at the end, and advances *LINE past it. */
static inline char *next_word(char **line)
{
	char *word;

	*line += strspn(*line, " ");
	word = *line;
	*line += strcspn(*line, " ");
	if (**line)
		*(*line)++ = '\0';
	return word;
}

/* Returns the next word as a number, or 0 if it is not a number. */
static inline uint64_t next_number(char **line)
{
	return strtoull(next_word(line), NULL, 0);
}
