#include "tree/lookup.h"

#include <string.h>

#define NAME_LEN_MAX 255

static bool is_seen(const struct hv_place *dir, const struct hv_node *n)
{
	return !n->only_top || dir->instance == &dir->tree->instances.top;
}

static bool find_child(struct hv_place *at, const char *name)
{
	const struct hv_node *dir = at->node;

	for (const struct hv_node *n = dir->children; n && n->name; n++) {
		if (strcmp(n->name, name) != 0 || !is_seen(at, n))
			continue;
		at->node = n;
		at->arg = n->arg;
		return true;
	}
	if (!dir->entry || !dir->find_entry(at, name))
		return false;
	at->node = dir->entry;
	return true;
}

/* The first LEN bytes of PATH, one name after the other. */
static struct hv_err *walk(struct hv_tree *tree, const char *path, size_t len, struct hv_place *ret)
{
	const char *whole = path, *end = path + len;
	struct hv_place at = {
		.tree = tree,
		.instance = &tree->instances.top,
		.node = &hv_root_node,
		.cpu = HV_ALL_CPUS,
	};

	while (path < end) {
		char name[NAME_LEN_MAX + 1];
		size_t name_len = strcspn(path, "/");

		if (path + name_len > end)
			name_len = (size_t)(end - path);
		if (!hv_node_is_dir(at.node))
			return hv_err_new(ENOTDIR, "%s: '%s' is not a directory", whole,
					  at.node->name);
		if (name_len > NAME_LEN_MAX)
			return hv_err_new(ENAMETOOLONG, "a name of %zu bytes", name_len);
		memcpy(name, path, name_len);
		name[name_len] = '\0';
		if (name_len && !find_child(&at, name))
			return hv_err_new(ENOENT, "%s: no such file", whole);
		path += name_len + (path + name_len < end);
	}
	*ret = at;
	return NULL;
}

struct hv_err *hv_lookup(struct hv_tree *tree, const char *path, struct hv_place *ret)
{
	size_t len = strlen(path);
	struct hv_err *err = walk(tree, path, len, ret);

	if (!err && len && path[len - 1] == '/' && !hv_node_is_dir(ret->node))
		return hv_err_new(ENOTDIR, "%s: '%s' is not a directory", path, ret->node->name);
	return err;
}

struct hv_err *hv_lookup_parent(struct hv_tree *tree, const char *path, struct hv_place *ret,
				char **ret_name)
{
	size_t len = strlen(path), dir_len;
	struct hv_place at;
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
		return hv_err_new(ENOTDIR, "%s: '%s' is not a directory", path, at.node->name);
	name = hv_alloc(len - dir_len + 1);
	memcpy(name, path + dir_len, len - dir_len);
	*ret = at;
	*ret_name = name;
	return NULL;
}

bool hv_place_name(const struct hv_place *dir, size_t index, struct hv_text *ret_name)
{
	size_t nr = 0;

	for (const struct hv_node *n = dir->node->children; n && n->name; n++) {
		if (!is_seen(dir, n) || nr++ != index)
			continue;
		hv_text_printf(ret_name, "%s%s", n->name, hv_node_is_dir(n) ? "/" : "");
		return true;
	}
	if (!dir->node->entry || !dir->node->entry_name(dir, index - nr, ret_name))
		return false;
	hv_text_add(ret_name, hv_node_is_dir(dir->node->entry) ? "/" : "");
	return true;
}

/* tracefs_create_file's modes: TRACE_MODE_WRITE, TRACE_MODE_READ, 0220. */
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
