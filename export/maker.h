/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Creates files below a directory on behalf of a format or collector that may lack the permissions.
 *
 * Names are relative. They must not contain "..", or pass through symbolic links. All functions
 * return 0 or an errno. cli/errand.h implements it in another process. */
#pragma once

#include <stddef.h>

struct hv_maker {
	void *ctx;
	/* Creates a file, open for reading and writing. EEXIST: the name exists. */
	int (*make_file)(void *ctx, const char *name, int *ret_fd);
	/* Creates and opens a directory. EEXIST: the directory exists. ENOTDIR: the name exists and
	 * is no directory. */
	int (*make_dir)(void *ctx, const char *name, int *ret_fd);
	/* Replaces the contents of a file atomically, or creates it. */
	int (*put_file)(void *ctx, const char *name, const void *bytes, size_t len_bytes);
	/* Removes a file. */
	int (*remove_file)(void *ctx, const char *name);
};

/* Returns a maker that creates files itself, below the directory *FD. FD is borrowed. */
struct hv_maker hv_maker_of(const int *fd);
