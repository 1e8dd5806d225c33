/* SPDX-License-Identifier: GPL-2.0-or-later */
/* README: the names of all files, with a help text for each. */
#include "tree/files/files.h"

static char *join(const char *path, const char *name)
{
	return hv_format("%s%s%s", path, *path ? "/" : "", name);
}

struct readme {
	struct hv_text *out;
	const struct hv_node *root;
	const struct hv_kernel *kernel;
};

static void add_indented(struct hv_text *out, const char *help)
{
	for (; *help; help++) {
		hv_text_add_bytes(out, help, 1);
		if (*help == '\n')
			hv_text_add(out, "\t\t\t  ");
	}
}

/* Adds the file at PATH and its help, with each line indented. */
static void add_help(const struct readme *r, const struct hv_node *n, const char *path,
		     const char *help)
{
	hv_text_printf(r->out, "  %s%s\n\t\t\t- ", path, hv_node_is_dir(n) ? "/" : "");
	add_indented(r->out, help);
	if (n->more_help)
		add_indented(r->out, n->more_help(r->kernel));
	hv_text_add(r->out, "\n");
}

/* Adds N at PATH and everything below it. HELP NULL: N itself has no line. Omits the directories in
 * instances/, which contain the same files as the root. */
static void add_node(const struct readme *r, const struct hv_node *n, const char *help,
		     const char *path)
{
	if (help)
		add_help(r, n, path, help);
	for (const struct hv_child *c = n->children; c && c->name; c++) {
		HV_AUTO_FREE char *at = join(path, c->name);

		add_node(r, c->node, c->help ? c->help : c->node->help, at);
	}
	if (n->entries && n->entry->children != r->root->children) {
		HV_AUTO_FREE char *at = join(path, n->entries->shown_as);

		add_node(r, n->entry, n->entry->help, at);
	}
}

static void show_readme(struct hv_file *f)
{
	const struct readme r = {&f->text, f->at.tree->root, hv_file_session(f)->kernel};

	hv_text_add(&f->text, "tracing mini-HOWTO:\n\n"
			      "# echo 0 > tracing_on : quick way to disable tracing\n"
			      "# echo 1 > tracing_on : quick way to re-enable tracing\n\n");
	add_node(&r, r.root, NULL, "");
}

const struct hv_node hv_readme_node = {
	.reads = HV_RIGHT_READ,
	.help = "this text",
	.show = show_readme,
};
