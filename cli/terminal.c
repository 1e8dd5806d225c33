/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#define WIDTH_MIN 40 /* narrower ones fold by themselves */

struct terminal terminal_of(int fd)
{
	const char *no_color = getenv("NO_COLOR"), *name = getenv("TERM");
	struct terminal t = {0};
	struct winsize size;

	if (!isatty(fd))
		return t;
	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= WIDTH_MIN)
		t.width = size.ws_col;
	t.has_cursor = name && *name && strcmp(name, "dumb") != 0;
	t.has_color = t.has_cursor && !(no_color && *no_color);
	return t;
}

/* In columns, where each character of UTF-8 is one. */
static unsigned columns(const char *text, size_t len)
{
	unsigned nr = 0;

	for (size_t i = 0; i < len; i++)
		nr += ((unsigned char)text[i] & 0xc0) != 0x80;
	return nr;
}

/* How many bytes of LINE go into WIDTH columns: up to a blank, or all of a longer word. */
static size_t fitting(const char *line, size_t len, unsigned width)
{
	size_t end = 0;

	if (columns(line, len) <= width)
		return len;
	for (size_t i = 1; i < len; i++)
		if (line[i] == ' ' && line[i - 1] != ' ' && (!end || columns(line, i) <= width))
			end = i;
	return end ? end : len;
}

static void add_folded(struct hv_text *out, const struct terminal *t, const char *line, size_t len,
		       unsigned indent)
{
	unsigned width = t->width;
	size_t lead = 0;

	if (!width || indent + WIDTH_MIN / 2 > width) {
		hv_text_add_bytes(out, line, len);
		return;
	}
	while (lead < len && line[lead] == ' ')
		lead++;
	hv_text_add_bytes(out, line, lead);
	line += lead, len -= lead, width -= (unsigned)lead < width ? (unsigned)lead : 0;
	for (;;) {
		size_t fits = fitting(line, len, width);

		hv_text_add_bytes(out, line, fits);
		while (fits < len && line[fits] == ' ')
			fits++;
		line += fits, len -= fits, width = t->width - indent;
		if (!len)
			return;
		hv_text_add_char(out, '\n');
		hv_text_add_fill(out, ' ', indent);
	}
}

static const struct terminal_mark *mark_of(const char *line, size_t len,
					   const struct terminal_mark *marks, size_t nr_marks)
{
	for (size_t i = 0; i < nr_marks; i++) {
		size_t begin = strlen(marks[i].begin);

		if (begin <= len && memcmp(line, marks[i].begin, begin) == 0)
			return &marks[i];
	}
	return NULL;
}

void terminal_add(struct hv_text *out, const struct terminal *t, const char *lines, unsigned indent,
		  const struct terminal_mark *marks, size_t nr_marks)
{
	static const char *const colors[] = {[TERMINAL_PLAIN] = "",
					     [TERMINAL_RED] = "\033[31m",
					     [TERMINAL_GREEN] = "\033[32m",
					     [TERMINAL_YELLOW] = "\033[33m"};

	for (size_t len; *lines; lines += len + (lines[len] == '\n')) {
		HV_AUTO_TEXT struct hv_text folded = {0};
		const struct terminal_mark *mark;
		unsigned keep;

		len = strcspn(lines, "\n");
		mark = mark_of(lines, len, marks, nr_marks);
		if (mark && mark->is_whole)
			hv_text_add_bytes(&folded, lines, len);
		else
			add_folded(&folded, t, lines, len, indent);
		mark = t->has_color && mark && mark->color ? mark : NULL;
		hv_text_add(&folded, "");
		keep = mark && mark->keep < folded.len_bytes ? mark->keep : 0;
		hv_text_add_bytes(out, folded.data, keep);
		hv_text_add(out, mark ? colors[mark->color] : "");
		hv_text_add(out, folded.data + keep);
		hv_text_add(out, mark ? "\033[m\n" : "\n");
	}
}
