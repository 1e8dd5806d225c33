/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads untrusted files in a process without rights: if a library crashes on a file or loops, the
 * file cannot be shown, and nothing else happens. report.c reads and prints. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct report_apart {
	const char *path; /* names the file in errors */
	int dir_fd;	  /* a directory whose files are opened by name; -1: not used */
	/* Called in the process before it gives up its rights, to load libraries. May be NULL. */
	void (*prepare)(void *ctx);
	/* Prints to standard output. DIR is the directory in this process. Sets *RET_CANNOT_PRINT
	 * if standard output fails. */
	struct hv_err *(*show)(void *ctx, const char *dir, bool *ret_cannot_print);
	void *ctx;
};

/* Copies SHOW's output to standard output, and returns its error. EINVAL: the process crashed, or
 * used a minute of CPU time without output, or 2 GiB of memory. */
struct hv_err *report_apart(const struct report_apart *r, bool *ret_cannot_print) hv_must_use;
