/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What verbs show on a terminal: text without anything that a terminal acts on, colours, unless
 * NO_COLOR is set (no-color.org), and lines that are folded at words, so that columns stay columns.
 * Files and pipes get all bytes as they are.
 *
 * A guest, a service that it has taken over, a VMM, or a file may have chosen the text. So all that
 * the program prints passes one filter here, by whatever way: put_out(), printf(), fprintf(stderr).
 * Newlines and tabulators stay; every other control character becomes '?', those from U+0080 to
 * U+009F and DEL included, and so does each byte that is not of a character of UTF-8.
 * Not filtered: the console of `hvtrace run`, which is the guest's terminal.
 * Leaves to others: whole screens (verbs/top/screen.h), what takes long (progress.h). */
#pragma once

#include <sys/types.h>

#include "base/text.h"

struct terminal {
	int is_terminal;
	int has_cursor; /* it understands the usual sequences that move the cursor */
	int has_color;
	unsigned width; /* columns; 0: it is none */
};

/* What FD is. */
struct terminal terminal_of(int fd);

/* From now on what goes to standard output and standard error, by stdio and by terminal_put(), is
 * filtered where they are a terminal. Called first, once. */
void terminal_filter_output(void);
/* Writes all of BYTES to FD, standard output or standard error. A character may be split between
 * two calls. Returns 0, or the errno. */
int terminal_put(int fd, const void *bytes, size_t len_bytes);
/* As terminal_put(), without the filter: for hvtrace's own colours, and for what terminal_add() has
 * made. */
int terminal_put_own(int fd, const char *text);
/* Adds BYTES, filtered. */
void terminal_add_text(struct hv_text *out, const char *bytes, size_t len_bytes);
/* As write(2), but all of BYTES, filtered: for files that turn out to be a terminal. */
ssize_t terminal_write(int fd, const void *bytes, size_t len_bytes);

enum terminal_color { TERMINAL_PLAIN, TERMINAL_RED, TERMINAL_GREEN, TERMINAL_YELLOW };

/* Lines that begin with BEGIN are shown in COLOR, from behind their first KEEP characters on. */
struct terminal_mark {
	const char *begin;
	enum terminal_color color;
	unsigned keep;
	int is_whole; /* it is not folded, so that it can be copied */
};

/* Adds the lines of TEXT, each of which ends with a newline, as T shows them, filtered if it is
 * one. What does not fit follows in lines that begin with INDENT blanks. */
void terminal_add(struct hv_text *out, const struct terminal *t, const char *text, unsigned indent,
		  const struct terminal_mark *marks, size_t nr_marks);
