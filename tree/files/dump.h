/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of a dump (instance/dump.h), as a file that has no name in the tree.
 * Leaves to others: what asks for a dump (instance/obey.h), who writes it where (tree.h). */
#pragma once

#include "tree/files/file.h"

/* Opens the dump that waits; NULL if none waits. The caller reads the file to its end, which takes
 * its events out of the buffer, and closes it. Until then no other dump begins. */
struct hv_file *hv_dump_open(struct hv_tree *tree) hv_must_use;
