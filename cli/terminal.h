/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Output of verbs to a terminal: removes control characters, adds colours unless NO_COLOR is set
 * (no-color.org), and folds lines at words so that columns stay aligned. Files and pipes receive
 * all bytes unchanged.
 *
 * A guest, a compromised service, a VMM or a file may have chosen the text. So one filter here
 * processes all output of the program: put_out(), printf(), fprintf(stderr). It keeps newlines and
 * tabs, and replaces every other control character, including DEL and U+0080 to U+009F, and each
 * byte of invalid UTF-8 by '?'. The console of `hvtrace run`, which is the guest's terminal, is not
 * filtered.
 *
 * verbs/top/screen.h does full screens. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"

struct terminal {
	int is_terminal;
	int has_cursor; /* supports the usual escape sequences that move the cursor */
	int has_color;
	unsigned width; /* columns; 0: lines are not folded */
};

/* Detects the properties of FD. */
struct terminal terminal_of(int fd);

/* From now on filters standard output and standard error, from stdio and from terminal_put(), if
 * they are a terminal. Call it once, before any output. */
void terminal_filter_output(void);
/* Writes all of BYTES to FD, standard output or standard error. A character may be split between
 * two calls. Returns 0 or the errno. */
int terminal_put(int fd, const void *bytes, size_t len_bytes);
/* Like terminal_put() without the filter: for hvtrace's own colours and for output of
 * terminal_add(). */
int terminal_put_own(int fd, const char *text);
/* Appends BYTES, filtered. */
void terminal_add_text(struct hv_text *out, const char *bytes, size_t len_bytes);
/* Like write(2), but writes all of BYTES, filtered: for files that turn out to be a terminal. */
ssize_t terminal_write(int fd, const void *bytes, size_t len_bytes);

enum terminal_color { TERMINAL_PLAIN, TERMINAL_RED, TERMINAL_GREEN, TERMINAL_YELLOW };

/* Lines that start with BEGIN are shown in COLOR, after their first KEEP characters. */
struct terminal_mark {
	const char *begin;
	enum terminal_color color;
	unsigned keep;
	int is_whole; /* never folded, so that it can be copied */
};

/* Appends the lines of TEXT as T shows them, filtered if T is a terminal. Each line of TEXT ends
 * with a newline. Continuations of folded lines are indented by INDENT blanks. */
void terminal_add(struct hv_text *out, const struct terminal *t, const char *text, unsigned indent,
		  const struct terminal_mark *marks, size_t nr_marks);

/* -- progress --------------------------------------------------------------------------------- */

/* Shows on the terminal that an operation is in progress: after one second, and every second from
 * then on, a status line on standard error names the operation and the elapsed time. The line
 * disappears at the end. Prints nothing if standard error is not a terminal. A child process prints
 * it, so the caller may block; the child ends with the caller. */

/* Zero-initialised is inactive. */
struct progress {
	pid_t pid;
	int end; /* owned; a byte written here ends the process, because the parent may lack the
		    right to signal it */
};

/* Starts the display for an operation on NAME ("attaching", "web1"). LIMIT_NS: the expected
 * duration; 0: unknown. */
void progress_begin(struct progress *p, uint64_t limit_ns, const char *what, const char *name);
/* Call it before you print anything. May be called repeatedly. */
void progress_end(struct progress *p);
