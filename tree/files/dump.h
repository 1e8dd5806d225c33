/* The text of a dump (instance/dump.h): a file without a name in the tree.
 * Leaves to others: when one is asked for, where it is written (tree.h). */
#pragma once

#include "tree/files/file.h"

/* The dump that waits, as an open file; NULL: none waits. It is read to its end, which takes what
 * is read out of the buffer, and closed. Until then no other dump begins. */
struct hv_file *hv_dump_open(struct hv_tree *tree) hv_must_use;
