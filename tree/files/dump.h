/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of a dump (instance/core/dump.h), as a file without a name in the tree.
 * instance/demux/demux.c starts dumps; tree.h returns them to the caller. */
#pragma once

#include "tree/files/file.h"

/* Opens the waiting dump; NULL if there is none. Read it to the end, which consumes its events, and
 * close it. No other dump starts before that. */
struct hv_file *hv_dump_open(struct hv_tree *tree) hv_must_use;
