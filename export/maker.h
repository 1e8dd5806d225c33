/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes files below one directory for a format or a collector that may itself have no rights there.
 * Names are relative and lead through no symbolic link and no "..". Every function returns 0 or an
 * errno. Leaves to others: in which process that happens (cli/errand.h). */
#pragma once

#include <stddef.h>

struct hv_maker {
	void *ctx;
	/* A new file, open for reading and writing. EEXIST: there is something of that name. */
	int (*make_file)(void *ctx, const char *name, int *ret_fd);
	/* A new directory, open. EEXIST: there is a directory of that name. ENOTDIR: there is
	 * something else. */
	int (*make_dir)(void *ctx, const char *name, int *ret_fd);
	/* A file that has these bytes, in place of the one that is there. Readers see the one or
	 * the other. */
	int (*put_file)(void *ctx, const char *name, const void *bytes, size_t len_bytes);
	/* Removes a file. */
	int (*remove_file)(void *ctx, const char *name);
};

/* Makes them itself, below the directory *FD, which it borrows. */
struct hv_maker hv_maker_of(const int *fd);
