/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/qemu/memory_tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/guard.h"

#define DEPTH_MAX  8	/* aliases of aliases */
#define RANGES_MAX 4096 /* regions; one that several aliases show counts for each */

struct range {
	uint64_t first;
	uint64_t last;
};

struct walk {
	const char *text;
	struct range *seen; /* the part of the address space of every region */
	size_t nr_seen;
	struct range *ram; /* those of RAM */
	size_t nr_ram;
	struct hv_memory_tree *tree;
};

/* "    0000000000000000-00000000bfffffff (prio 0, i/o): alias ram-below-4g @pc.ram
 * 0000000000000000-00000000bfffffff parent:{obj path=/machine/unattached}" */
struct line {
	struct range range;
	bool is_ram;
	bool is_of_device;
	bool is_alias;
	struct range target;
	const char *name; /* of an alias: the name of its target */
	size_t name_len;
};

static const char *line_end(const char *line)
{
	return line + strcspn(line, "\n\r");
}

static const char *next_line(const char *line)
{
	line = line_end(line);
	return line + strspn(line, "\r") + (line[strspn(line, "\r")] == '\n');
}

static bool begins(const char *line, const char *word)
{
	return !strncmp(line, word, strlen(word));
}

/* A name may have blanks in it, and is followed by one of these. */
static size_t name_len(const char *name)
{
	static const char *const after[] = {" owner:{", " parent:{", " [disabled]"};
	size_t len = (size_t)(line_end(name) - name);

	for (size_t i = 0; i < HV_ARRAY_LEN(after); i++) {
		const char *at = memmem(name, len, after[i], strlen(after[i]));

		if (at)
			len = (size_t)(at - name);
	}
	return len;
}

/* "alias NAME @TARGET FIRST-LAST" */
static bool parse_alias(struct line *l)
{
	const char *end = l->name + l->name_len;
	const char *at = memmem(l->name, l->name_len, " @", 2);
	const char *numbers = end - strlen(" 0000000000000000-0000000000000000");

	if (!at || numbers <= at + 2 ||
	    sscanf(numbers, " %16" SCNx64 "-%16" SCNx64, &l->target.first, &l->target.last) != 2 ||
	    l->target.last < l->target.first)
		return false;
	l->name = at + 2;
	l->name_len = (size_t)(numbers - l->name);
	return true;
}

static bool parse_line(const char *text, struct line *ret)
{
	struct line l = {0};
	char type[16];
	int prio, name_off = 0;

	if (sscanf(text, " %16" SCNx64 "-%16" SCNx64 " (prio %d, %15[^)]): %n", &l.range.first,
		   &l.range.last, &prio, type, &name_off) != 4 ||
	    !name_off || text + name_off > line_end(text) || l.range.last < l.range.first)
		return false;
	l.name = text + name_off;
	l.name_len = name_len(l.name);
	l.is_ram = !strcmp(type, "ram") || !strcmp(type, "nv-ram");
	l.is_of_device = begins(l.name + l.name_len, " owner:{dev ");
	l.is_alias = begins(l.name, "alias ");
	if (l.is_alias && !parse_alias(&l))
		return false;
	*ret = l;
	return true;
}

/* The first line of the region NAME, which an alias refers to; NULL: the text does not have it. */
static const char *find_region(const char *text, const char *name, size_t len)
{
	static const char head[] = "memory-region: ";

	for (const char *line = text; *line; line = next_line(line)) {
		const char *at = line + sizeof(head) - 1;

		if (begins(line, head) && (size_t)(line_end(line) - at) == len &&
		    !memcmp(at, name, len))
			return next_line(line);
	}
	return NULL;
}

static void add(struct range **list, size_t *nr, struct range r)
{
	*list = hv_realloc_array(*list, *nr + 1, sizeof(r));
	(*list)[(*nr)++] = r;
}

static void add_name(struct hv_memory_tree *t, const struct line *l)
{
	char *name = strndup(l->name, l->name_len);

	if (!name)
		abort();
	if (hv_memory_tree_has(t, name)) {
		free(name);
		return;
	}
	t->names = hv_realloc_array(t->names, t->nr_names + 1, sizeof(*t->names));
	t->names[t->nr_names++] = name;
}

static void show(struct walk *w, const char *line, struct range part, uint64_t at, unsigned depth);

/* Adds PART of what the alias L refers to, at address AT. */
static void show_target(struct walk *w, const struct line *l, struct range part, uint64_t at,
			unsigned depth)
{
	const char *region = find_region(w->text, l->name, l->name_len);
	uint64_t off = part.first - l->range.first, len = part.last - part.first;
	struct line head;

	if (!region || !parse_line(region, &head) || depth >= DEPTH_MAX)
		return;
	part.first = head.range.first + l->target.first + off;
	part.last = part.first + len;
	if (part.last >= part.first)
		show(w, region, part, at, depth + 1);
}

/* Adds the regions of the lines from LINE on, as far as they lie in PART, whose first byte is at
 * address AT. */
static void show(struct walk *w, const char *line, struct range part, uint64_t at, unsigned depth)
{
	for (; *line == ' ' && w->nr_seen < RANGES_MAX; line = next_line(line)) {
		struct line l;
		struct range r, shown;

		if (!parse_line(line, &l))
			continue;
		r = (struct range){.first = l.range.first > part.first ? l.range.first : part.first,
				   .last = l.range.last < part.last ? l.range.last : part.last};
		shown = (struct range){.first = at + (r.first - part.first),
				       .last = at + (r.last - part.first)};
		if (r.last < r.first || shown.last < shown.first)
			continue;
		add(&w->seen, &w->nr_seen, shown);
		if (l.is_alias) {
			show_target(w, &l, r, shown.first, depth);
		} else if (l.is_ram && !l.is_of_device) {
			add(&w->ram, &w->nr_ram, shown);
			add_name(w->tree, &l);
		}
	}
}

/* Finds the tree of address space "memory". The names of all address spaces with the same tree come
 * before it. */
static const char *find_system(const char *text)
{
	static const char head[] = "address-space: memory";

	while (*text && (!begins(text, head) || text + sizeof(head) - 1 != line_end(text)))
		text = next_line(text);
	if (!*text)
		return NULL;
	while (begins(text, "address-space: "))
		text = next_line(text);
	return text;
}

static int compare(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

static bool is_in(const struct walk *w, uint64_t first, uint64_t last)
{
	for (size_t i = 0; i < w->nr_ram; i++)
		if (w->ram[i].first <= first && w->ram[i].last >= last)
			return true;
	return false;
}

static void add_piece(struct hv_memory_tree *t, uint64_t start, uint64_t end)
{
	t->pieces = hv_realloc_array(t->pieces, t->nr_pieces + 1, sizeof(*t->pieces));
	t->pieces[t->nr_pieces++] =
		(struct hv_tree_piece){.start = hv_gpa(start), .len_bytes = end - start};
}

static void cut_up(struct walk *w)
{
	HV_AUTO_FREE uint64_t *cuts = hv_alloc((2 * w->nr_seen + 1) * sizeof(*cuts));
	size_t nr = 0;

	for (size_t i = 0; i < w->nr_seen; i++) {
		cuts[nr++] = w->seen[i].first;
		if (w->seen[i].last != UINT64_MAX)
			cuts[nr++] = w->seen[i].last + 1;
	}
	qsort(cuts, nr, sizeof(*cuts), compare);
	for (size_t i = 0; i + 1 < nr; i++)
		if (cuts[i] < cuts[i + 1] && is_in(w, cuts[i], cuts[i + 1] - 1))
			add_piece(w->tree, cuts[i], cuts[i + 1]);
}

bool hv_memory_tree_parse(const char *text, struct hv_memory_tree *ret)
{
	struct hv_memory_tree tree = {0};
	struct walk w = {.text = text, .tree = &tree};
	const char *line = find_system(text);

	if (!line)
		return false;
	show(&w, line, (struct range){.last = UINT64_MAX}, 0, 0);
	if (w.nr_seen < RANGES_MAX)
		cut_up(&w);
	free(w.seen);
	free(w.ram);
	if (w.nr_seen == RANGES_MAX) {
		hv_memory_tree_deinit(&tree);
		return false;
	}
	*ret = tree;
	return true;
}

void hv_memory_tree_deinit(struct hv_memory_tree *t)
{
	for (size_t i = 0; i < t->nr_names; i++)
		free(t->names[i]);
	free(t->names);
	free(t->pieces);
	*t = (struct hv_memory_tree){0};
}

void hv_memory_tree_cut(struct hv_memory_tree *t, struct hv_gpa start, uint64_t len_bytes)
{
	HV_AUTO_FREE struct hv_tree_piece *old = t->pieces;
	size_t nr = t->nr_pieces;
	uint64_t end = start.v + len_bytes;

	t->pieces = NULL;
	t->nr_pieces = 0;
	for (size_t i = 0; i < nr; i++) {
		uint64_t first = old[i].start.v, last = first + old[i].len_bytes;

		if (last <= start.v || first >= end) {
			add_piece(t, first, last);
			continue;
		}
		if (first < start.v)
			add_piece(t, first, start.v);
		if (last > end)
			add_piece(t, end, last);
	}
}

bool hv_memory_tree_has(const struct hv_memory_tree *t, const char *name)
{
	for (size_t i = 0; i < t->nr_names; i++)
		if (!strcmp(t->names[i], name))
			return true;
	return false;
}
