/* SPDX-License-Identifier: GPL-2.0-or-later */
/* README: the names of all files, with a help text for each. */
#include "tree/files/files.h"

static char *join(const char *path, const char *name)
{
	return hv_format("%s%s%s", path, *path ? "/" : "", name);
}

/* Adds the file at PATH and its help, with each line indented. */
static void add_help(struct hv_text *out, const struct hv_node *n, const char *path,
		     const char *help)
{
	hv_text_printf(out, "  %s%s\n\t\t\t- ", path, hv_node_is_dir(n) ? "/" : "");
	for (; *help; help++) {
		hv_text_add_bytes(out, help, 1);
		if (*help == '\n')
			hv_text_add(out, "\t\t\t  ");
	}
	hv_text_add(out, "\n");
}

/* Adds N at PATH, and everything below it. HELP NULL: N itself has no line. Leaves out the
 * directories of instances/, since they contain the same files as the root. */
static void add_node(struct hv_text *out, const struct hv_node *root, const struct hv_node *n,
		     const char *help, const char *path)
{
	if (help)
		add_help(out, n, path, help);
	for (const struct hv_child *c = n->children; c && c->name; c++) {
		HV_AUTO_FREE char *at = join(path, c->name);

		add_node(out, root, c->node, c->help ? c->help : c->node->help, at);
	}
	if (n->entries && n->entry->children != root->children) {
		HV_AUTO_FREE char *at = join(path, n->entries->shown_as);

		add_node(out, root, n->entry, n->entry->help, at);
	}
}

static void show_readme(struct hv_file *f)
{
	const struct hv_node *root = f->at.tree->root;

	hv_text_add(&f->text, "tracing mini-HOWTO:\n\n"
			      "# echo 0 > tracing_on : quick way to disable tracing\n"
			      "# echo 1 > tracing_on : quick way to re-enable tracing\n\n");
	add_node(&f->text, root, root, NULL, "");
}

const struct hv_node hv_readme_node = {
	.help = "this text",
	.show = show_readme,
};
