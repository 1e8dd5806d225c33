/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/diff.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/guard.h"

#define PPM	   1000000u
#define INDENT_MAX 60

/* -- the tree ----------------------------------------------------------------------------------- */

static double share(uint64_t part, uint64_t all)
{
	return all ? (double)part / (double)all : 0;
}

/* The chains as a tree, by their nodes. */
struct tree {
	const struct hv_chains *c;
	struct node {
		uint64_t total, before;
		uint32_t child, next; /* as in struct hv_flame_node */
		uint32_t flame;	      /* its index in the flame */
	} * nodes;		      /* owned */
	uint32_t *room;		      /* owned; for a list of children */
};

static double larger_share(const struct tree *t, uint32_t at)
{
	double now = share(t->nodes[at].total, t->nodes[0].total);
	double before = share(t->nodes[at].before, t->nodes[0].before);

	return now > before ? now : before;
}

static int compare(const void *a, const void *b, void *ctx)
{
	const struct tree *t = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct hv_chain_frame *one = &t->c->frames[t->c->nodes[x].frame];
	const struct hv_chain_frame *other = &t->c->frames[t->c->nodes[y].frame];
	double first = larger_share(t, x), second = larger_share(t, y);
	int order = strcmp(one->name, other->name);

	if (first < second || first > second)
		return first < second ? 1 : -1;
	return order ? order : (int)one->kind - (int)other->kind;
}

static void sort_children(struct tree *t, uint32_t parent)
{
	uint32_t *link = &t->nodes[parent].child;
	size_t nr = 0;

	for (uint32_t at = *link; at; at = t->nodes[at].next)
		t->room[nr++] = at;
	qsort_r(t->room, nr, sizeof(*t->room), compare, t);
	for (size_t i = 0; i < nr; i++, link = &t->nodes[*link].next)
		*link = t->room[i];
	*link = 0;
}

/* A parent precedes its children in the chains. */
static void link_nodes(struct tree *t)
{
	for (size_t i = t->c->nr; i-- > 1;) {
		const struct hv_chain_node *from = &t->c->nodes[i];
		struct node *node = &t->nodes[i], *parent = &t->nodes[from->parent];

		node->total += from->self;
		node->before += from->before;
		parent->total += node->total;
		parent->before += node->before;
		node->next = parent->child;
		parent->child = (uint32_t)i;
	}
	for (size_t i = 0; i < t->c->nr; i++)
		sort_children(t, (uint32_t)i);
}

/* Adds node AT of the tree to the flame, which already has its parent and the siblings before it.
 */
static void add_node(struct hv_diff *d, struct tree *t, uint32_t at)
{
	const struct hv_chain_node *from = &t->c->nodes[at];
	const struct hv_chain_frame *frame = &t->c->frames[from->frame];
	uint32_t parent = t->nodes[from->parent].flame;
	struct node *node = &t->nodes[at];

	node->flame = (uint32_t)d->flame.nr++;
	d->before[node->flame] = (struct hv_diff_part){from->before, node->before};
	d->flame.nodes[node->flame] = (struct hv_flame_node){
		.name = frame->name,
		.kind = frame->kind,
		.self = from->self,
		.total = node->total,
		.growth = share(node->total, t->nodes[0].total) -
			  share(node->before, t->nodes[0].before),
		.parent = parent,
		.depth = d->flame.nodes[parent].depth + 1,
	};
}

static void link_flame(struct hv_flame *f)
{
	for (uint32_t i = (uint32_t)f->nr; i-- > 1;) {
		struct hv_flame_node *parent = &f->nodes[f->nodes[i].parent];

		f->nodes[i].next = parent->child;
		parent->child = i;
	}
}

void hv_diff_make(const struct hv_chains *c, struct hv_diff *ret)
{
	struct tree t = {
		.c = c,
		.nodes = hv_alloc((c->nr + 1) * sizeof(*t.nodes)),
		.room = hv_alloc((c->nr + 1) * sizeof(*t.room)),
	};
	struct hv_diff d = {
		.flame = {.nodes = hv_alloc((c->nr + 1) * sizeof(*d.flame.nodes)),
			  .nr = 1,
			  .compares = true},
		.before = hv_alloc((c->nr + 1) * sizeof(*d.before)),
	};
	uint32_t at;

	link_nodes(&t);
	d.flame.nodes[0].total = t.nodes[0].total;
	d.before[0].total = t.nodes[0].before;
	for (at = t.nodes[0].child; at;) {
		add_node(&d, &t, at);
		if (t.nodes[at].child) {
			at = t.nodes[at].child;
			continue;
		}
		while (at && !t.nodes[at].next)
			at = c->nodes[at].parent;
		at = at ? t.nodes[at].next : 0;
	}
	link_flame(&d.flame);
	free(t.nodes);
	free(t.room);
	*ret = d;
}

void hv_diff_deinit(struct hv_diff *d)
{
	hv_flame_deinit(&d->flame);
	free(d->before);
	*d = (struct hv_diff){0};
}

/* -- text --------------------------------------------------------------------------------------- */

static void add_line(const struct hv_diff *d, uint32_t at, uint64_t nr, double growth,
		     unsigned indent, struct hv_text *out)
{
	const struct hv_flame_node *node = &d->flame.nodes[at];

	hv_text_printf(out, "%5.1f %% %+6.1f", 100 * share(nr, d->flame.nodes[0].total),
		       100 * growth);
	hv_text_add_fill(out, ' ', 2 + 2 * (indent < INDENT_MAX ? indent : INDENT_MAX));
	hv_text_add_utf8(out, node->name, SIZE_MAX);
	hv_text_add(out, node->kind == HV_CHAIN_KERNEL ? " [kernel]\n" : "\n");
}

static bool is_shown(const struct hv_diff *d, uint32_t at, uint64_t min_ppm)
{
	double now = share(d->flame.nodes[at].total, d->flame.nodes[0].total);
	double before = share(d->before[at].total, d->before[0].total);

	return (now > before ? now : before) * PPM + 0.5 >= (double)min_ppm;
}

/* Returns whether AT has at least two shown children. They are sorted by the larger share. */
static bool branches(const struct hv_diff *d, uint32_t at, uint64_t min_ppm)
{
	const struct hv_flame_node *nodes = d->flame.nodes;
	uint32_t first = nodes[at].child, second = first ? nodes[first].next : 0;

	return second && is_shown(d, second, min_ppm);
}

/* The only child of an only child is not indented. */
static unsigned indent_below(const struct hv_diff *d, uint32_t at, unsigned indent,
			     uint64_t min_ppm)
{
	const struct hv_flame_node *node = &d->flame.nodes[at];
	bool indents = node->kind == HV_CHAIN_GROUP || branches(d, at, min_ppm) ||
		       branches(d, node->parent, min_ppm);

	return indents ? indent + 1 : indent;
}

void hv_diff_text(const struct hv_diff *d, uint64_t min_ppm, struct hv_text *out)
{
	HV_AUTO_FREE unsigned *indents = hv_alloc((d->flame.nr + 1) * sizeof(*indents));

	for (uint32_t at = 1; at < d->flame.nr; at++) {
		const struct hv_flame_node *node = &d->flame.nodes[at];
		unsigned indent = indents[node->parent];

		if (!is_shown(d, at, min_ppm))
			continue; /* its descendants are not shown either */
		add_line(d, at, node->total, node->growth, indent, out);
		indents[at] = indent_below(d, at, indent, min_ppm);
	}
}

struct function {
	uint32_t node; /* one of its nodes */
	uint64_t self, before;
	double growth;
};

static int compare_names(const void *a, const void *b, void *ctx)
{
	const struct hv_flame *f = ctx;
	const struct hv_flame_node *x = &f->nodes[((const struct function *)a)->node];
	const struct hv_flame_node *y = &f->nodes[((const struct function *)b)->node];
	int order = strcmp(x->name, y->name);

	return order ? order : (int)x->kind - (int)y->kind;
}

static int compare_growth(const void *a, const void *b, void *ctx)
{
	double x = ((const struct function *)a)->growth, y = ((const struct function *)b)->growth;

	x = x < 0 ? -x : x;
	y = y < 0 ? -y : y;
	if (x < y || x > y)
		return x < y ? 1 : -1;
	return compare_names(a, b, ctx);
}

/* Makes one entry of those with equal names. Returns their number. */
static size_t join(struct hv_flame *f, struct function *list, size_t nr)
{
	size_t nr_kept = 0;

	qsort_r(list, nr, sizeof(*list), compare_names, f);
	for (size_t i = 0; i < nr; i++) {
		if (nr_kept && compare_names(&list[nr_kept - 1], &list[i], f) == 0) {
			list[nr_kept - 1].self += list[i].self;
			list[nr_kept - 1].before += list[i].before;
		} else
			list[nr_kept++] = list[i];
	}
	return nr_kept;
}

void hv_diff_changed(const struct hv_diff *d, size_t max, struct hv_text *out)
{
	struct hv_flame f = d->flame;
	HV_AUTO_FREE struct function *list = hv_alloc((f.nr + 1) * sizeof(*list));
	size_t nr = 0;

	for (uint32_t i = 1; i < f.nr; i++)
		if (f.nodes[i].kind != HV_CHAIN_GROUP && (f.nodes[i].self || d->before[i].self))
			list[nr++] = (struct function){
				.node = i, .self = f.nodes[i].self, .before = d->before[i].self};
	nr = join(&f, list, nr);
	for (size_t i = 0; i < nr; i++)
		list[i].growth = share(list[i].self, f.nodes[0].total) -
				 share(list[i].before, d->before[0].total);
	qsort_r(list, nr, sizeof(*list), compare_growth, &f);
	for (size_t i = 0; i < nr && i < max; i++)
		add_line(d, list[i].node, list[i].self, list[i].growth, 0, out);
}

bool hv_diff_folded(const struct hv_diff *d, size_t max_bytes, struct hv_text *out)
{
	const struct hv_flame *f = &d->flame;
	HV_AUTO_FREE uint32_t *path = hv_alloc((f->nr + 1) * sizeof(*path));

	for (uint32_t at = 1; at < f->nr; at++) {
		path[f->nodes[at].depth] = at;
		if (!f->nodes[at].self && !d->before[at].self)
			continue;
		if (out->len_bytes >= max_bytes)
			return false;
		for (uint32_t i = 1; i <= f->nodes[at].depth; i++) {
			hv_text_add(out, i > 1 ? ";" : "");
			hv_flame_add_folded(out, &f->nodes[path[i]]);
		}
		hv_text_printf(out, " %" PRIu64 " %" PRIu64 "\n", d->before[at].self,
			       f->nodes[at].self);
	}
	return true;
}
