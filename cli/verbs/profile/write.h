/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file that `hvtrace profile -o` writes. A helper process keeps the user's rights and removes a
 * new file if nothing was written to it; the verb has given up its rights by then. */
#pragma once

#include "base/err.h"
#include "base/text.h"
#include "cli/errand.h"

struct profile_file {
	const char *path;     /* borrowed */
	int fd;		      /* -1: not open */
	struct errand helper; /* runs if the file is new */
};
#define PROFILE_FILE_NONE                                                                          \
	{                                                                                          \
		.fd = -1, .helper = ERRAND_NONE                                                    \
	}

/* Opens the file PATH, or creates it; keeps its contents. Call this while the process has its
 * rights. F must not move afterwards. */
struct hv_err *profile_file_open(struct profile_file *f, const char *path) hv_must_use;
/* Replaces the contents of the file. */
struct hv_err *profile_file_write(struct profile_file *f, const struct hv_text *text) hv_must_use;
/* Closes the file, which need not be open, and removes it if it is new and was not written. */
void profile_file_close(struct profile_file *f);
