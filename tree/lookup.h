/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resolves paths in the tree, and lists directories. */
#pragma once

#include "tree/files/file.h"

/* The top directory (nodes.c). */
extern const struct hv_node hv_root_node;

/* Resolves PATH. Several slashes count as one; leading and trailing slashes are ignored. ENOENT,
 * ENOTDIR. */
struct hv_err *hv_lookup(struct hv_tree *tree, const char *path, struct hv_path *ret) hv_must_use;
/* Resolves the directory that would contain PATH, and sets RET_NAME to the name in it, which the
 * caller frees; "" for the top directory itself. ENOENT, ENOTDIR. */
struct hv_err *hv_lookup_parent(struct hv_tree *tree, const char *path, struct hv_path *ret,
				char **ret_name) hv_must_use;
/* Adds the INDEXth name of the directory DIR in the order of a listing. Names of directories end
 * with '/'. Returns false when there are no more names. */
bool hv_path_name(const struct hv_path *dir, size_t index, struct hv_text *ret_name);
/* Returns the permission bits of N. */
unsigned hv_node_mode(const struct hv_node *n);
