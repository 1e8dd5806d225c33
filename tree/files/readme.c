/* README: the files there are, and the help of each. */
#include "tree/files/files.h"

static char *join(const char *path, const char *name)
{
	return hv_format("%s%s%s", path, *path ? "/" : "", name);
}

/* The file at PATH, and behind it its help, indented line by line. */
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

/* N at PATH, and what is below it. HELP NULL: N has no line of its own. The directories of
 * instances/ are the root once more, and left out. */
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
