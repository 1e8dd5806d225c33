/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/lookup.h"

#include <string.h>

#define NAME_LEN_MAX 255

static bool is_seen(const struct hv_path *dir, const struct hv_child *c)
{
	if (c->only_top && !hv_instance_is_top(dir->instance))
		return false;
	return !c->is_in || c->is_in(dir);
}

/* Moves AT to its child or entry NAME. Returns false if there is none. */
static bool step(struct hv_path *at, const char *name)
{
	const struct hv_node *dir = at->node;

	for (const struct hv_child *c = dir->children; c && c->name; c++) {
		if (strcmp(c->name, name) != 0 || !is_seen(at, c))
			continue;
		at->node = c->node;
		at->name = c->name;
		return true;
	}
	if (!dir->entries || !dir->entries->find(at, name))
		return false;
	at->node = dir->entry;
	at->name = dir->entries->shown_as;
	return true;
}

static struct hv_err *not_a_dir(const char *path, const struct hv_path *at)
{
	return hv_err_in(hv_err_new(ENOTDIR, "'%s' is not a directory", at->name), "%s", path);
}

/* Resolves the first LEN bytes of PATH from the root, name by name. */
static struct hv_err *walk(struct hv_tree *tree, const char *path, size_t len, struct hv_path *ret)
{
	const char *whole = path, *end = path + len;
	struct hv_path at = {
		.tree = tree,
		.instance = hv_instances_top(tree->instances),
		.node = tree->root,
		.name = "",
		.cpu = HV_ALL_CPUS,
	};

	while (path < end) {
		char name[NAME_LEN_MAX + 1];
		size_t name_len = strcspn(path, "/");

		if (path + name_len > end)
			name_len = (size_t)(end - path);
		if (!hv_node_is_dir(at.node))
			return not_a_dir(whole, &at);
		if (name_len > NAME_LEN_MAX)
			return hv_err_new(ENAMETOOLONG, "a name has %zu bytes, more than %d",
					  name_len, NAME_LEN_MAX);
		memcpy(name, path, name_len);
		name[name_len] = '\0';
		if (name_len && !step(&at, name))
			return hv_err_in(hv_err_new(ENOENT, "no such file"), "%s", whole);
		path += name_len + (path + name_len < end);
	}
	*ret = at;
	return NULL;
}

struct hv_err *hv_lookup(struct hv_tree *tree, const char *path, struct hv_path *ret)
{
	size_t len = strlen(path);
	struct hv_err *err = walk(tree, path, len, ret);

	if (!err && len && path[len - 1] == '/' && !hv_node_is_dir(ret->node))
		return not_a_dir(path, ret);
	return err;
}

struct hv_err *hv_lookup_parent(struct hv_tree *tree, const char *path, struct hv_path *ret,
				char **ret_name)
{
	size_t len = strlen(path), dir_len;
	struct hv_path at;
	struct hv_err *err;
	char *name;

	while (len && path[len - 1] == '/')
		len--;
	for (dir_len = len; dir_len && path[dir_len - 1] != '/';)
		dir_len--;
	err = walk(tree, path, dir_len, &at);
	if (err)
		return err;
	if (!hv_node_is_dir(at.node))
		return not_a_dir(path, &at);
	name = hv_alloc(len - dir_len + 1);
	memcpy(name, path + dir_len, len - dir_len);
	*ret = at;
	*ret_name = name;
	return NULL;
}

bool hv_path_name(const struct hv_path *dir, size_t index, struct hv_text *ret_name)
{
	const struct hv_node *n = dir->node;
	size_t nr = 0;

	for (const struct hv_child *c = n->children; c && c->name; c++) {
		if (!is_seen(dir, c) || nr++ != index)
			continue;
		hv_text_printf(ret_name, "%s%s", c->name, hv_node_is_dir(c->node) ? "/" : "");
		return true;
	}
	if (!n->entries || !n->entries->name(dir, index - nr, ret_name))
		return false;
	hv_text_add(ret_name, hv_node_is_dir(n->entry) ? "/" : "");
	return true;
}

/* The modes are those of the kernel's tracefs_create_file() calls: TRACE_MODE_WRITE,
 * TRACE_MODE_READ, and 0220. */
unsigned hv_node_mode(const struct hv_node *n)
{
	if (n->mode)
		return n->mode;
	if (hv_node_is_dir(n))
		return 0750;
	if (!n->show && !n->fill)
		return 0220;
	return n->write ? 0640 : 0440;
}
