/* From a path to what it names in the tree. */
#pragma once

#include "tree/node.h"

/* RET: where PATH leads, slashes before, between and behind names counting once. ENOENT, ENOTDIR.
 */
struct hv_err *hv_lookup(struct hv_tree *tree, const char *path, struct hv_place *ret) hv_must_use;
/* The directory PATH would be in, and its name there (owned by the caller; "" for the top itself).
 */
struct hv_err *hv_lookup_parent(struct hv_tree *tree, const char *path, struct hv_place *ret,
				char **ret_name) hv_must_use;
/* The INDEXth name in DIR, a directory, in the order of a listing. False: there is none any more.
 * AT, if not NULL, is what it names. */
bool hv_place_name(const struct hv_place *dir, size_t index, struct hv_text *ret_name);
/* Permission bits. */
unsigned hv_node_mode(const struct hv_node *n);
