/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What verbs show on a terminal: colours, unless NO_COLOR is set (no-color.org), and lines that are
 * folded at words, so that columns stay columns. To files and pipes lines go as they are. Leaves to
 * others: whole screens (verbs/top/screen.h), what takes long (progress.h). */
#pragma once

#include "base/text.h"

struct terminal {
	int has_cursor; /* it understands the usual sequences that move the cursor */
	int has_color;
	unsigned width; /* columns; 0: it is none */
};

/* What FD is. */
struct terminal terminal_of(int fd);

enum terminal_color { TERMINAL_PLAIN, TERMINAL_RED, TERMINAL_GREEN, TERMINAL_YELLOW };

/* Lines that begin with BEGIN are shown in COLOR, from behind their first KEEP characters on. */
struct terminal_mark {
	const char *begin;
	enum terminal_color color;
	unsigned keep;
	int is_whole; /* it is not folded, so that it can be copied */
};

/* Adds LINES, each of which ends with a newline, as T shows them. What does not fit follows in
 * lines that begin with INDENT blanks. */
void terminal_add(struct hv_text *out, const struct terminal *t, const char *lines, unsigned indent,
		  const struct terminal_mark *marks, size_t nr_marks);
