/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that anybody may have written, read in a process that has no rights: if a library crashes
 * on one, or never ends, the file cannot be shown, and nothing else happens.
 * Leaves to others: what is read and printed (report.c). */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct report_apart {
	const char *path; /* names the file in errors */
	int dir_fd;	  /* a directory whose files are read by their names; -1: there is none */
	/* Called in the process before it gives up its rights, to load libraries. May be NULL. */
	void (*prepare)(void *ctx);
	/* Prints to standard output. The directory is DIR there. Returns true when nobody reads
	 * standard output any more. */
	struct hv_err *(*show)(void *ctx, const char *dir, bool *ret_cannot_print);
	void *ctx;
};

/* Copies to standard output what SHOW prints, and returns its error. EINVAL: the process crashed,
 * or took a minute of processor time or 2 GiB of memory without an end in sight. */
struct hv_err *report_apart(const struct report_apart *r, bool *ret_cannot_print) hv_must_use;
