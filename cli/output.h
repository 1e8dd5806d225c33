/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens the output file that a user names for a verb. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

enum output_links {
	OUTPUT_FOLLOWS_LINKS, /* the user named the file */
	OUTPUT_FOLLOWS_NONE,
};

/* Opens PATH for reading and writing, or creates it (0600); keeps its contents. Like the kernel
 * with fs.protected_regular, refuses another user's file in a world-writable directory (EACCES),
 * because its owner could read or change the output. */
struct hv_err *output_open(const char *path, enum output_links links, int *ret_fd,
			   bool *ret_new) hv_must_use;
