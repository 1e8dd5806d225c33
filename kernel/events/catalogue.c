/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/events/catalogue.h"

#include <stdalign.h>
#include <string.h>

#include "base/bisect.h"
#include "base/prefix.h"

/* -- memory ------------------------------------------------------------------------------------ */

#define BLOCK_BYTES 65536u

struct hv_store_block {
	struct hv_store_block *next;
	size_t used_bytes, cap_bytes;
	alignas(max_align_t) uint8_t bytes[];
};

void hv_store_deinit(struct hv_store *s)
{
	while (s->blocks) {
		struct hv_store_block *next = s->blocks->next;

		free(s->blocks);
		s->blocks = next;
	}
	s->len_bytes = 0;
}

static void *take(struct hv_store *s, size_t len_bytes, size_t align)
{
	struct hv_store_block *block = s->blocks;
	size_t at = block ? (block->used_bytes + align - 1) / align * align : 0;

	if (!block || at > block->cap_bytes || len_bytes > block->cap_bytes - at) {
		size_t cap = len_bytes > BLOCK_BYTES ? len_bytes : BLOCK_BYTES;

		block = hv_alloc(sizeof(*block) + cap);
		block->cap_bytes = cap;
		block->next = s->blocks;
		s->blocks = block;
		at = 0;
	}
	block->used_bytes = at + len_bytes;
	s->len_bytes += len_bytes;
	return block->bytes + at;
}

void *hv_store_alloc(struct hv_store *s, size_t len_bytes)
{
	return take(s, len_bytes, alignof(max_align_t));
}

char *hv_store_string(struct hv_store *s, const char *string, size_t len_bytes)
{
	char *copy = take(s, len_bytes + 1, 1);

	memcpy(copy, string, len_bytes);
	return copy;
}

/* -- events ------------------------------------------------------------------------------------ */

/* Builds the indices of a catalogue, and looks up systems, events and fields. */

void hv_catalogue_deinit(struct hv_catalogue *c)
{
	free(c->types);
	free(c->systems);
	free(c->by_name);
	free(c->by_id);
	hv_store_deinit(&c->store);
	*c = (struct hv_catalogue){0};
}

static int by_name(const void *pa, const void *pb, void *types)
{
	uint32_t ia = *(const uint32_t *)pa, ib = *(const uint32_t *)pb;
	const struct hv_event_type *a = (struct hv_event_type *)types + ia;
	const struct hv_event_type *b = (struct hv_event_type *)types + ib;
	int order = strcmp(a->system, b->system);

	if (!order)
		order = strcmp(a->name, b->name);
	return order ? order : (ia < ib ? -1 : ia > ib);
}

static int by_id(const void *pa, const void *pb, void *types)
{
	uint32_t ia = *(const uint32_t *)pa, ib = *(const uint32_t *)pb;
	const struct hv_event_type *a = (struct hv_event_type *)types + ia;
	const struct hv_event_type *b = (struct hv_event_type *)types + ib;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return ia < ib ? -1 : ia > ib;
}

static uint32_t *sorted(const struct hv_catalogue *c,
			int (*order)(const void *a, const void *b, void *types))
{
	uint32_t *indices = hv_realloc_array(NULL, c->nr, sizeof(*indices));

	for (size_t i = 0; i < c->nr; i++)
		indices[i] = (uint32_t)i;
	if (c->nr)
		qsort_r(indices, c->nr, sizeof(*indices), order, c->types);
	return indices;
}

static bool is_char(const struct hv_event_field *field)
{
	return hv_starts_with(field->type, "char") && (!field->type[4] || field->type[4] == '[');
}

/* Returns whether char is signed, from any field with that type. Every kernel has such fields. */
static bool find_char_sign(const struct hv_catalogue *c)
{
	for (size_t i = 0; i < c->nr; i++)
		for (size_t j = 0; j < c->types[i].fields.nr; j++)
			if (is_char(&c->types[i].fields.list[j]))
				return c->types[i].fields.list[j].is_signed;
	return false;
}

/* Removes types with a duplicate name from by_name; keeps the first. Returns the number of
 * remaining names. */
static size_t drop_namesakes(struct hv_catalogue *c)
{
	const struct hv_event_type *last = NULL;
	size_t nr = 0;

	for (size_t i = 0; i < c->nr; i++) {
		const struct hv_event_type *t = &c->types[c->by_name[i]];

		if (last && !strcmp(last->system, t->system) && !strcmp(last->name, t->name))
			continue;
		c->by_name[nr++] = c->by_name[i];
		last = t;
	}
	return nr;
}

/* NR_NAMES is the number of types in by_name. */
static void index_systems(struct hv_catalogue *c, size_t nr_names)
{
	c->systems = hv_realloc_array(NULL, nr_names, sizeof(*c->systems));
	c->nr_systems = 0;
	for (size_t i = 0; i < nr_names; i++) {
		const char *name = c->types[c->by_name[i]].system;
		struct hv_event_system *last =
			c->nr_systems ? &c->systems[c->nr_systems - 1] : NULL;

		if (last && strcmp(last->name, name) == 0)
			last->nr++;
		else
			c->systems[c->nr_systems++] = (struct hv_event_system){name, i, 1};
	}
}

void hv_catalogue_index(struct hv_catalogue *c)
{
	free(c->systems);
	free(c->by_name);
	free(c->by_id);
	c->by_name = sorted(c, by_name);
	c->by_id = sorted(c, by_id);
	c->char_is_signed = find_char_sign(c);
	index_systems(c, drop_namesakes(c));
}

/* Removes all types with id ID from the list. Returns whether there were any. */
static bool take_out(struct hv_catalogue *c, uint32_t id)
{
	size_t nr = 0, before = c->nr;

	for (size_t i = 0; i < before; i++) {
		if (c->types[i].id == id)
			continue;
		if (nr < i)
			c->types[nr] = c->types[i];
		nr++;
	}
	c->nr = nr;
	return nr < before;
}

void hv_catalogue_add(struct hv_catalogue *c, const struct hv_event_type *type)
{
	take_out(c, type->id);
	c->types = hv_realloc_array(c->types, c->nr + 1, sizeof(*c->types));
	c->types[c->nr++] = *type;
}

void hv_catalogue_remove(struct hv_catalogue *c, uint32_t id)
{
	if (take_out(c, id))
		hv_catalogue_index(c);
}

const struct hv_event_system *hv_catalogue_system(const struct hv_catalogue *c, const char *name)
{
	const struct hv_event_system *s = c->systems;
	size_t at = HV_BISECT(i, c->nr_systems, strcmp(s[i].name, name) < 0);

	return at < c->nr_systems && strcmp(s[at].name, name) == 0 ? &s[at] : NULL;
}

const struct hv_event_type *hv_catalogue_at(const struct hv_catalogue *c,
					    const struct hv_event_system *system, size_t index)
{
	return &c->types[c->by_name[system->first + index]];
}

const struct hv_event_type *hv_catalogue_find(const struct hv_catalogue *c, const char *system,
					      const char *name)
{
	const struct hv_event_system *s = hv_catalogue_system(c, system);
	size_t nr = s ? s->nr : 0;
	size_t at = HV_BISECT(i, nr, strcmp(hv_catalogue_at(c, s, i)->name, name) < 0);

	if (at == nr || strcmp(hv_catalogue_at(c, s, at)->name, name) != 0)
		return NULL;
	return hv_catalogue_at(c, s, at);
}

const struct hv_event_type *hv_catalogue_by_id(const struct hv_catalogue *c, uint32_t id)
{
	size_t at = HV_BISECT(i, c->nr, c->types[c->by_id[i]].id < id);

	if (at == c->nr || c->types[c->by_id[at]].id != id)
		return NULL;
	return &c->types[c->by_id[at]];
}

static const struct hv_event_field *find_in(const struct hv_event_fields *fields, const char *name)
{
	for (size_t i = 0; i < fields->nr; i++)
		if (strcmp(fields->list[i].name, name) == 0)
			return &fields->list[i];
	return NULL;
}

const struct hv_event_field *hv_event_type_field(const struct hv_catalogue *c,
						 const struct hv_event_type *type, const char *name)
{
	const struct hv_event_field *field = find_in(&type->fields, name);

	return field ? field : find_in(&c->common, name);
}

bool hv_event_type_is_marker(const struct hv_event_type *type)
{
	return strcmp(type->system, "ftrace") == 0 && strcmp(type->name, "print") == 0;
}
