/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/flame.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/guard.h"
#include "base/map.h"

/* -- the tree ---------------------------------------------------------------------------------- */

/* The number of a name, from 1: frames with one name and kind have one number. */
struct names {
	struct hv_map index; /* by a hash; the value is the number of the first frame, from 1 */
	uint32_t *of_frame;  /* owned */
};

static uint64_t hash(const struct hv_chain_frame *frame)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325) + (uint64_t)frame->kind;

	for (const char *at = frame->name; *at; at++)
		h = (h ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
	return h | 1;
}

static bool is_same(const struct hv_chain_frame *a, const struct hv_chain_frame *b)
{
	return a->kind == b->kind && strcmp(a->name, b->name) == 0;
}

static void number_names(const struct hv_chains *c, struct names *n)
{
	*n = (struct names){.of_frame = hv_alloc((c->nr_frames + 1) * sizeof(*n->of_frame))};
	for (size_t i = 0; i < c->nr_frames; i++) {
		uint64_t key = hash(&c->frames[i]);
		uintptr_t first;

		while ((first = (uintptr_t)hv_map_find(&n->index, key)) &&
		       !is_same(&c->frames[first - 1], &c->frames[i]))
			key += 2;
		if (!first)
			hv_map_add(&n->index, key, (void *)(i + 1));
		n->of_frame[i] = (uint32_t)(first ? first : i + 1);
	}
}

static uint32_t add_node(struct hv_flame *f, uint32_t parent, const struct hv_chain_frame *frame)
{
	struct hv_flame_node *node = &f->nodes[f->nr];

	*node = (struct hv_flame_node){
		.name = frame->name,
		.kind = frame->kind,
		.parent = parent,
		.depth = f->nodes[parent].depth + 1,
		.next = f->nodes[parent].child,
	};
	f->nodes[parent].child = (uint32_t)f->nr;
	return (uint32_t)f->nr++;
}

static int compare(const void *a, const void *b, void *ctx)
{
	const struct hv_flame *f = ctx;
	const struct hv_flame_node *x = &f->nodes[*(const uint32_t *)a];
	const struct hv_flame_node *y = &f->nodes[*(const uint32_t *)b];
	int order = strcmp(x->name, y->name);

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return order ? order : (int)x->kind - (int)y->kind;
}

static void sort_children(struct hv_flame *f, uint32_t parent, uint32_t *room)
{
	size_t nr = 0;
	uint32_t *link = &f->nodes[parent].child;

	for (uint32_t at = *link; at; at = f->nodes[at].next)
		room[nr++] = at;
	if (nr < 2)
		return;
	qsort_r(room, nr, sizeof(*room), compare, f);
	for (size_t i = 0; i < nr; i++, link = &f->nodes[*link].next)
		*link = room[i];
	*link = 0;
}

/* A parent precedes its children, in the chains as in the tree. */
void hv_flame_make(const struct hv_chains *c, struct hv_flame *ret)
{
	struct hv_flame f = {
		.nodes = hv_alloc((c->nr + 1) * sizeof(*f.nodes)), .nr = 1, .unit = c->unit};
	HV_AUTO_FREE uint32_t *now = hv_alloc((c->nr + 1) * sizeof(*now));
	hv_cleanup(hv_map_deinit) struct hv_map index = {0};
	struct names names;

	number_names(c, &names);
	for (size_t i = 1; i < c->nr; i++) {
		const struct hv_chain_node *node = &c->nodes[i];
		uint32_t parent = now[node->parent];
		uint64_t key = (uint64_t)parent << 32 | names.of_frame[node->frame];
		uintptr_t found = (uintptr_t)hv_map_find(&index, key);

		if (!found) {
			found = add_node(&f, parent, &c->frames[node->frame]);
			hv_map_add(&index, key, (void *)found);
		}
		now[i] = (uint32_t)found;
		f.nodes[found].self += node->self;
	}
	for (size_t i = f.nr; i-- > 0;) {
		f.nodes[i].total += f.nodes[i].self;
		if (i)
			f.nodes[f.nodes[i].parent].total += f.nodes[i].total;
	}
	for (size_t i = 0; i < f.nr; i++)
		sort_children(&f, (uint32_t)i, now);
	free(names.of_frame);
	hv_map_deinit(&names.index);
	*ret = f;
}

void hv_flame_deinit(struct hv_flame *f)
{
	free(f->nodes);
	*f = (struct hv_flame){0};
}

/* Returns the node after AT in the order of the tree: a parent, then its children. 0: the end. */
static uint32_t next_node(const struct hv_flame *f, uint32_t at, bool goes_down)
{
	if (goes_down && f->nodes[at].child)
		return f->nodes[at].child;
	while (at && !f->nodes[at].next)
		at = f->nodes[at].parent;
	return at ? f->nodes[at].next : 0;
}

/* -- text --------------------------------------------------------------------------------------- */

#define PPM	  1000000u
#define NS_PER_US 1000u /* folded lines of times have microseconds */

static uint64_t ppm_of(uint64_t part, uint64_t all)
{
	return all ? (uint64_t)((double)part / (double)all * PPM + 0.5) : 0;
}

/* Adds the percentage, and the time if there is one. */
static void add_part(const struct hv_flame *f, uint64_t part, struct hv_text *out)
{
	uint64_t all = f->nodes[0].total;

	hv_text_printf(out, "%5.1f %%", all ? 100.0 * (double)part / (double)all : 0);
	if (f->unit == HV_CHAIN_NS)
		hv_text_printf(out, " %10.3f s", (double)part / HV_NS_PER_S);
}

static const char *mark_of(const struct hv_flame_node *node)
{
	return node->kind == HV_CHAIN_KERNEL ? " [kernel]" : "";
}

static void add_line(const struct hv_flame *f, uint32_t at, unsigned indent, struct hv_text *out)
{
	const struct hv_flame_node *node = &f->nodes[at];

	add_part(f, node->total, out);
	hv_text_add_fill(out, ' ', 2 + 2 * indent);
	hv_text_add_utf8(out, node->name, SIZE_MAX);
	hv_text_add(out, mark_of(node));
	hv_text_add(out, "\n");
}

static bool is_shown(const struct hv_flame *f, uint32_t at, uint64_t min_ppm)
{
	return ppm_of(f->nodes[at].total, f->nodes[0].total) >= min_ppm;
}

/* Returns whether AT has at least two shown children. */
static bool branches(const struct hv_flame *f, uint32_t at, uint64_t min_ppm)
{
	uint32_t first = f->nodes[at].child, second = first ? f->nodes[first].next : 0;

	return second && is_shown(f, second, min_ppm);
}

/* The only child of an only child is not indented. */
static unsigned indent_below(const struct hv_flame *f, uint32_t at, unsigned indent,
			     uint64_t min_ppm)
{
	const struct hv_flame_node *node = &f->nodes[at];
	bool indents = branches(f, at, min_ppm) || branches(f, node->parent, min_ppm) ||
		       node->kind == HV_CHAIN_GROUP ||
		       ppm_of(node->self, f->nodes[0].total) >= min_ppm;

	return indents ? indent + 1 : indent;
}

#define INDENT_MAX 60

void hv_flame_text(const struct hv_flame *f, uint64_t min_ppm, struct hv_text *out)
{
	HV_AUTO_FREE unsigned *indents = hv_alloc((f->nr + 1) * sizeof(*indents));

	for (uint32_t at = next_node(f, 0, true); at;) {
		bool shows = is_shown(f, at, min_ppm);
		unsigned indent = indents[f->nodes[at].parent];

		if (shows) {
			add_line(f, at, indent < INDENT_MAX ? indent : INDENT_MAX, out);
			indents[at] = indent_below(f, at, indent, min_ppm);
		}
		at = next_node(f, at, shows);
	}
}

struct function {
	const struct hv_flame_node *node;
	uint64_t self;
};

static int compare_names(const void *a, const void *b)
{
	const struct function *x = a, *y = b;
	int order = strcmp(x->node->name, y->node->name);

	return order ? order : (int)x->node->kind - (int)y->node->kind;
}

static int compare_self(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	return compare_names(a, b);
}

void hv_flame_hottest(const struct hv_flame *f, size_t max, struct hv_text *out)
{
	HV_AUTO_FREE struct function *list = hv_alloc((f->nr + 1) * sizeof(*list));
	size_t nr = 0, nr_kept = 0;

	for (size_t i = 1; i < f->nr; i++)
		if (f->nodes[i].kind != HV_CHAIN_GROUP && f->nodes[i].self)
			list[nr++] = (struct function){&f->nodes[i], f->nodes[i].self};
	qsort(list, nr, sizeof(*list), compare_names);
	for (size_t i = 0; i < nr; i++) {
		if (nr_kept && compare_names(&list[nr_kept - 1], &list[i]) == 0)
			list[nr_kept - 1].self += list[i].self;
		else
			list[nr_kept++] = list[i];
	}
	qsort(list, nr_kept, sizeof(*list), compare_self);
	for (size_t i = 0; i < nr_kept && i < max; i++) {
		add_part(f, list[i].self, out);
		hv_text_add(out, "  ");
		hv_text_add_utf8(out, list[i].node->name, SIZE_MAX);
		hv_text_add(out, mark_of(list[i].node));
		hv_text_add(out, "\n");
	}
}

/* -- chains as lines ---------------------------------------------------------------------------- */

/* Stores the nodes from below the root to AT in PATH. Returns their number. */
static size_t path_of(const struct hv_flame *f, uint32_t at, uint32_t *path)
{
	size_t nr = f->nodes[at].depth;

	for (size_t i = nr; i-- > 0; at = f->nodes[at].parent)
		path[i] = at;
	return nr;
}

/* A semicolon separates names, so those in names become colons. */
void hv_flame_add_folded(struct hv_text *out, const struct hv_flame_node *node)
{
	size_t begin = out->len_bytes;

	hv_text_add_utf8(out, node->name, SIZE_MAX);
	for (size_t i = begin; i < out->len_bytes; i++)
		if (out->data[i] == ';')
			out->data[i] = ':';
	hv_text_add(out, node->kind == HV_CHAIN_KERNEL ? "_[k]" : "");
}

bool hv_flame_folded(const struct hv_flame *f, size_t max_bytes, struct hv_text *out)
{
	HV_AUTO_FREE uint32_t *path = hv_alloc((f->nr + 1) * sizeof(*path));
	uint64_t unit = f->unit == HV_CHAIN_NS ? NS_PER_US : 1;

	for (uint32_t at = next_node(f, 0, true); at; at = next_node(f, at, true)) {
		size_t nr = path_of(f, at, path);
		uint64_t self = (f->nodes[at].self + unit / 2) / unit;

		if (!self)
			continue;
		if (out->len_bytes >= max_bytes)
			return false;
		for (size_t i = 0; i < nr; i++) {
			hv_text_add(out, i ? ";" : "");
			hv_flame_add_folded(out, &f->nodes[path[i]]);
		}
		hv_text_printf(out, " %" PRIu64 "\n", self);
	}
	return true;
}

/* Adds NAME as a JSON string. */
static void add_json(struct hv_text *out, const char *name)
{
	HV_AUTO_TEXT struct hv_text safe = {0};

	hv_text_add_utf8(&safe, name, SIZE_MAX);
	hv_text_add_char(out, '"');
	for (size_t i = 0; i < safe.len_bytes; i++) {
		if (safe.data[i] == '"' || safe.data[i] == '\\')
			hv_text_add_char(out, '\\');
		hv_text_add_char(out, safe.data[i]);
	}
	hv_text_add_char(out, '"');
}

bool hv_flame_jsonl(const struct hv_flame *f, size_t max_bytes, struct hv_text *out)
{
	static const char *const kinds[] = {
		[HV_CHAIN_GROUP] = "group", [HV_CHAIN_KERNEL] = "kernel", [HV_CHAIN_USER] = "user"};
	HV_AUTO_FREE uint32_t *path = hv_alloc((f->nr + 1) * sizeof(*path));

	for (uint32_t at = next_node(f, 0, true); at; at = next_node(f, at, true)) {
		size_t nr = path_of(f, at, path);

		if (!f->nodes[at].self)
			continue;
		if (out->len_bytes >= max_bytes)
			return false;
		hv_text_printf(out, "{\"%s\":%" PRIu64 ",\"frames\":[",
			       f->unit == HV_CHAIN_NS ? "ns" : "samples", f->nodes[at].self);
		for (size_t i = 0; i < nr; i++) {
			hv_text_add(out, i ? ",{\"name\":" : "{\"name\":");
			add_json(out, f->nodes[path[i]].name);
			hv_text_printf(out, ",\"kind\":\"%s\"}", kinds[f->nodes[path[i]].kind]);
		}
		hv_text_add(out, "]}\n");
	}
	return true;
}

void hv_flame_perf(const struct hv_chains *c, const struct hv_flame_sample *s, const char *comm,
		   struct hv_text *out)
{
	hv_text_add_utf8(out, comm, SIZE_MAX);
	hv_text_printf(out, " %u [%03u] %" PRIu64 ".%06u: 1 cpu-clock:\n", s->pid, s->cpu,
		       s->time_ns / 1000000000u, (unsigned)(s->time_ns / 1000 % 1000000));
	for (uint32_t at = s->node; at != HV_CHAINS_ROOT; at = c->nodes[at].parent) {
		const struct hv_chain_frame *frame = &c->frames[c->nodes[at].frame];

		if (frame->kind == HV_CHAIN_GROUP)
			continue;
		hv_text_printf(out, "\t%16" PRIx64 " ", frame->value);
		hv_text_add_utf8(out, frame->name, SIZE_MAX);
		hv_text_add(out, frame->kind == HV_CHAIN_KERNEL ? " ([kernel.kallsyms])\n"
								: " ([unknown])\n");
	}
	hv_text_add(out, "\n");
}
