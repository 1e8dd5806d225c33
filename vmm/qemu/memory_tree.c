/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/qemu/memory_tree.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/prefix.h"

/* -- lines ------------------------------------------------------------------------------------- */

/* The lines of a text from a VMM. Each line is scanned once and copied into a fixed-size buffer, so
 * that parsing takes time proportional to the text: sscanf(3) and strstr(3) on the text would
 * search for its end for each line. Pure. */

#define HV_TEXT_LINE_MAX 1024 /* with its NUL */

struct text_line {
	char bytes[HV_TEXT_LINE_MAX]; /* without the line end; "" if the line is too long */
	const char *at;		      /* its start in the text */
	size_t len_bytes;	      /* in the text */
};

/* Copies the line at *AT and advances *AT to the next one. LF, CR and CR LF end a line. Returns
 * false at the end of the text. */
static bool next_line(const char **at, struct text_line *ret)
{
	const char *end = *at + strcspn(*at, "\r\n");

	if (!**at)
		return false;
	ret->at = *at;
	ret->len_bytes = (size_t)(end - *at);
	ret->bytes[0] = '\0';
	if (ret->len_bytes < sizeof(ret->bytes)) {
		memcpy(ret->bytes, *at, ret->len_bytes);
		ret->bytes[ret->len_bytes] = '\0';
	}
	end += strspn(end, "\r");
	*at = end + (*end == '\n');
	return true;
}

/* -- possible RAM ------------------------------------------------------------------------------ */

#define DEPTH_MAX      8    /* aliases of aliases */
#define RANGES_MAX     4096 /* regions; a region counts once for each alias that shows it */
#define LINES_MAX      65536
#define REGIONS_MAX    1024
#define VISITS_MAX     262144 /* lines, for all aliases together */
#define NAME_MAX_BYTES 255

struct range {
	uint64_t first;
	uint64_t last;
};

/* "    0000000000000000-00000000bfffffff (prio 0, i/o): alias ram-below-4g @pc.ram
 * 0000000000000000-00000000bfffffff parent:{obj path=/machine/unattached}" */
struct line {
	struct range range;
	bool is_ram;
	bool is_of_device;
	bool is_alias;
	bool is_end; /* no line of a tree: the tree before it ends here */
	struct range target;
	const char *name; /* in the text; for an alias, the name of its target */
	size_t name_len;
};

/* A separate tree that aliases refer to. */
struct region {
	const char *name; /* in the text */
	size_t name_len;
	size_t first_line;
};

/* The text, with each line decoded once. */
struct lines {
	struct line *list; /* the lines that could be parsed; owned */
	size_t nr, cap;
	struct region *regions; /* owned */
	size_t nr_regions, cap_regions;
	size_t system;	 /* first line of address space "memory"; SIZE_MAX if it is missing */
	bool is_in_head; /* between the heading of this address space and its tree */
};

struct walk {
	const struct lines *lines;
	size_t nr_visits;
	struct range *seen; /* the part of the address space that each region covers */
	size_t nr_seen, cap_seen;
	struct range *ram; /* the parts with RAM */
	size_t nr_ram, cap_ram;
	struct hv_memory_tree *tree;
};

/* A name can contain blanks. It ends before one of these strings. */
static size_t name_len(const char *name)
{
	static const char *const after[] = {" owner:{", " parent:{", " [disabled]"};
	size_t len = strlen(name);

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
	const char *at = memmem(l->name, l->name_len, " @", 2);
	size_t tail = strlen(" 0000000000000000-0000000000000000");
	const char *numbers;

	if (!at || l->name_len < (size_t)(at + 2 - l->name) + tail + 1)
		return false;
	numbers = l->name + l->name_len - tail;
	if (sscanf(numbers, " %16" SCNx64 "-%16" SCNx64, &l->target.first, &l->target.last) != 2 ||
	    l->target.last < l->target.first)
		return false;
	l->name = at + 2;
	l->name_len = (size_t)(numbers - l->name);
	return true;
}

static bool parse_line(const struct text_line *text, struct line *ret)
{
	struct line l = {0};
	char type[16];
	int prio, name_off = 0;

	if (sscanf(text->bytes, " %16" SCNx64 "-%16" SCNx64 " (prio %d, %15[^)]): %n",
		   &l.range.first, &l.range.last, &prio, type, &name_off) != 4 ||
	    !name_off || l.range.last < l.range.first)
		return false;
	l.name = text->bytes + name_off;
	l.name_len = name_len(l.name);
	l.is_ram = !strcmp(type, "ram") || !strcmp(type, "nv-ram");
	l.is_of_device = hv_starts_with(l.name + l.name_len, " owner:{dev ");
	l.is_alias = hv_starts_with(l.name, "alias ");
	if (l.is_alias && !parse_alias(&l))
		return false;
	if (l.name_len > NAME_MAX_BYTES)
		return false;
	l.name = text->at + (l.name - text->bytes);
	*ret = l;
	return true;
}

static bool add_line(struct lines *lines, const struct line *l)
{
	if (lines->nr == LINES_MAX)
		return false;
	lines->list = hv_grow(lines->list, lines->nr, &lines->cap, 256, sizeof(*l));
	lines->list[lines->nr++] = *l;
	return true;
}

static bool add_region(struct lines *lines, const char *name, size_t len)
{
	if (lines->nr_regions == REGIONS_MAX)
		return false;
	lines->regions = hv_grow(lines->regions, lines->nr_regions, &lines->cap_regions, 64,
				 sizeof(*lines->regions));
	lines->regions[lines->nr_regions++] =
		(struct region){.name = name, .name_len = len, .first_line = lines->nr};
	return true;
}

/* An unindented line ends the previous tree and may start another one. Returns false if there are
 * too many lines or trees. */
static bool take_head(struct lines *lines, const struct text_line *text)
{
	static const char region[] = "memory-region: ", space[] = "address-space: ";
	static const struct line end = {.is_end = true};
	bool is_space = hv_starts_with(text->bytes, space);

	if (lines->nr && !lines->list[lines->nr - 1].is_end && !add_line(lines, &end))
		return false;
	if (lines->system == SIZE_MAX && !strcmp(text->bytes, "address-space: memory"))
		lines->is_in_head = true;
	if (lines->is_in_head && !is_space) {
		lines->is_in_head = false;
		lines->system = lines->nr;
	}
	return !hv_starts_with(text->bytes, region) ||
	       text->len_bytes - strlen(region) > NAME_MAX_BYTES ||
	       add_region(lines, text->at + strlen(region), text->len_bytes - strlen(region));
}

/* Returns false if the text has too many lines. */
static bool take_lines(const char *text, struct lines *ret)
{
	struct text_line line;
	bool fits = true;

	while (fits && next_line(&text, &line)) {
		struct line l;

		if (*line.at != ' ') {
			fits = take_head(ret, &line);
			continue;
		}
		if (ret->is_in_head) {
			ret->is_in_head = false;
			ret->system = ret->nr;
		}
		if (parse_line(&line, &l))
			fits = add_line(ret, &l);
	}
	return fits;
}

static const struct region *find_region(const struct lines *lines, const char *name, size_t len)
{
	for (size_t i = 0; i < lines->nr_regions; i++) {
		const struct region *r = &lines->regions[i];

		if (r->name_len == len && !memcmp(r->name, name, len))
			return r;
	}
	return NULL;
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

static void show(struct walk *w, size_t line, struct range part, uint64_t at, unsigned depth);

/* Adds PART of the target of alias L at address AT. */
static void show_target(struct walk *w, const struct line *l, struct range part, uint64_t at,
			unsigned depth)
{
	const struct region *region = find_region(w->lines, l->name, l->name_len);
	uint64_t off = part.first - l->range.first, len = part.last - part.first;
	const struct line *head;

	if (!region || region->first_line >= w->lines->nr || depth >= DEPTH_MAX)
		return;
	head = &w->lines->list[region->first_line];
	part.first = head->range.first + l->target.first + off;
	part.last = part.first + len;
	if (!head->is_end && part.last >= part.first)
		show(w, region->first_line, part, at, depth + 1);
}

/* Adds the regions in the lines from LINE on, clipped to PART, whose first byte is at address
 * AT. */
static void show(struct walk *w, size_t line, struct range part, uint64_t at, unsigned depth)
{
	for (; line < w->lines->nr && w->nr_seen < RANGES_MAX && w->nr_visits < VISITS_MAX;
	     line++) {
		const struct line *l = &w->lines->list[line];
		struct range r, shown;

		if (l->is_end)
			return;
		w->nr_visits++;
		r = (struct range){.first = l->range.first > part.first ? l->range.first
									: part.first,
				   .last = l->range.last < part.last ? l->range.last : part.last};
		shown = (struct range){.first = at + (r.first - part.first),
				       .last = at + (r.last - part.first)};
		if (r.last < r.first || shown.last < shown.first)
			continue;
		w->seen = hv_grow(w->seen, w->nr_seen, &w->cap_seen, 64, sizeof(shown));
		w->seen[w->nr_seen++] = shown;
		if (l->is_alias) {
			show_target(w, l, r, shown.first, depth);
		} else if (l->is_ram && !l->is_of_device) {
			w->ram = hv_grow(w->ram, w->nr_ram, &w->cap_ram, 64, sizeof(shown));
			w->ram[w->nr_ram++] = shown;
			add_name(w->tree, l);
		}
	}
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
	t->pieces = hv_grow(t->pieces, t->nr_pieces, &t->cap_pieces, 64, sizeof(*t->pieces));
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

/* Returns false if the tree is too large. */
static bool walk(struct walk *w)
{
	bool fits;

	show(w, w->lines->system, (struct range){.last = UINT64_MAX}, 0, 0);
	fits = w->nr_seen < RANGES_MAX && w->nr_visits < VISITS_MAX;
	if (fits)
		cut_up(w);
	free(w->seen);
	free(w->ram);
	return fits;
}

bool hv_memory_tree_parse(const char *text, struct hv_memory_tree *ret)
{
	struct hv_memory_tree tree = {0};
	struct lines lines = {.system = SIZE_MAX};
	struct walk w = {.lines = &lines, .tree = &tree};
	bool done = take_lines(text, &lines) && lines.system != SIZE_MAX && walk(&w);

	free(lines.list);
	free(lines.regions);
	if (!done) {
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
	t->nr_pieces = t->cap_pieces = 0;
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

/* -- free addresses ---------------------------------------------------------------------------- */

#define GIB	    (1ull << 30)
#define BITS_MIN    36
#define BITS_MAX    52
#define SPACE_BYTES (1ull << 51)
#define HT_BYTES    (16 * GIB) /* size of HyperTransport's hole, rounded up */

void hv_taken_add(struct hv_taken_list *t, uint64_t start, uint64_t end)
{
	t->list = hv_grow(t->list, t->nr, &t->cap, 256, sizeof(*t->list));
	t->list[t->nr++] = (struct hv_taken){start, end};
}

void hv_taken_deinit(struct hv_taken_list *t)
{
	free(t->list);
	*t = (struct hv_taken_list){0};
}

bool hv_taken_parse(struct hv_taken_list *t, const char *text)
{
	struct text_line line;

	while (next_line(&text, &line)) {
		uint64_t start, last;

		if (sscanf(line.bytes, " %16" SCNx64 "-%16" SCNx64 " (prio", &start, &last) != 2 ||
		    last < start || last - start >= SPACE_BYTES)
			continue;
		if (t->nr == HV_TAKEN_MAX)
			return false;
		hv_taken_add(t, start, last + 1);
	}
	return true;
}

static int by_end_descending(const void *a, const void *b)
{
	const struct hv_taken *one = a, *other = b;

	return one->end > other->end ? -1 : one->end < other->end;
}

/* Moves *AT down until the LEN bytes there overlap none of the NR ranges in T. Returns false if
 * there is not enough room. */
static bool move_down(struct hv_taken *t, size_t nr, uint64_t len_bytes, uint64_t *at)
{
	qsort(t, nr, sizeof(*t), by_end_descending);
	for (size_t i = 0; i < nr && *at < t[i].end; i++) {
		if (t[i].start >= *at + len_bytes)
			continue;
		if (t[i].start < len_bytes)
			return false;
		*at = (t[i].start - len_bytes) & ~(HV_FREE_GPA_UNIT - 1);
	}
	return true;
}

bool hv_free_gpa_choose(const struct hv_taken_list *taken, unsigned phys_bits, uint64_t floor,
			uint64_t len_bytes, struct hv_gpa *ret)
{
	HV_AUTO_FREE struct hv_taken *sorted = hv_alloc((taken->nr + 1) * sizeof(*sorted));
	uint64_t at;

	if (phys_bits < BITS_MIN || !len_bytes || len_bytes > GIB)
		return false;
	if (phys_bits > BITS_MAX)
		phys_bits = BITS_MAX;
	if (floor < 4 * GIB)
		floor = 4 * GIB;
	at = ((3ull << (phys_bits - 2)) - HT_BYTES - len_bytes) & ~(HV_FREE_GPA_UNIT - 1);
	if (taken->nr)
		memcpy(sorted, taken->list, taken->nr * sizeof(*sorted));
	if (!move_down(sorted, taken->nr, len_bytes, &at) || at < floor)
		return false;
	*ret = hv_gpa(at);
	return true;
}
