/* From a path to what it names in the tree, and what a directory has. */
#pragma once

#include "tree/files/file.h"

/* RET: where PATH leads. Several slashes count as one; those before and behind do not count.
 * ENOENT, ENOTDIR. */
struct hv_err *hv_lookup(struct hv_tree *tree, const char *path, struct hv_place *ret) hv_must_use;
/* RET: the directory that PATH would be in. RET_NAME: its name there, which the caller frees; ""
 * for the top itself. ENOENT, ENOTDIR. */
struct hv_err *hv_lookup_parent(struct hv_tree *tree, const char *path, struct hv_place *ret,
				char **ret_name) hv_must_use;
/* Adds the INDEXth name of DIR, a directory, in the order of a listing; names of directories end
 * with '/'. False: there are no more. */
bool hv_place_name(const struct hv_place *dir, size_t index, struct hv_text *ret_name);
/* Permission bits. */
unsigned hv_node_mode(const struct hv_node *n);
