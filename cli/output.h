/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens the file that a user names for what a verb writes. Leaves to others: what is in it. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

enum output_links {
	OUTPUT_FOLLOWS_LINKS, /* the user named the file */
	OUTPUT_FOLLOWS_NONE,
};

/* Opens PATH for reading and writing, and makes it (0600) if it does not exist; its contents stay.
 * As the kernel does with fs.protected_regular, refuses a file of another user in a directory where
 * everybody can make files (EACCES), since its owner could read or change what is written. */
struct hv_err *output_open(const char *path, enum output_links links, int *ret_fd,
			   bool *ret_new) hv_must_use;
