/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source of the format: Documentation/bpf/btf.rst. */
#include "kernel/types/facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

enum {
	BTF_MAGIC = 0xeb9f,
	HEADER_BYTES = 24,
	KIND_INT = 1,
	KIND_ARRAY = 3,
	KIND_STRUCT = 4,
	KIND_ENUM = 6,
	ID_U8 = 1, /* four integers come first */
	ID_U16,
	ID_U32,
	ID_U64,
	ID_NUMBERS, /* an enum with all numbers */
	ID_STRUCTS,
};

void hv_facts_deinit(struct hv_facts *f)
{
	free(f->list);
	free(f->numbers);
	free(f->sizes);
	for (size_t i = 0; i < f->nr_texts; i++)
		free(f->texts[i]);
	free(f->texts);
	*f = (struct hv_facts){0};
}

const char *hv_facts_own(struct hv_facts *f, char *text)
{
	f->texts = hv_grow(f->texts, f->nr_texts, &f->texts_cap, 16, sizeof(*f->texts));
	f->texts[f->nr_texts++] = text;
	return text;
}

void hv_facts_add(struct hv_facts *f, const struct hv_fact *fact)
{
	f->list = hv_grow(f->list, f->nr, &f->cap, 64, sizeof(*f->list));
	f->list[f->nr++] = *fact;
}

void hv_facts_add_number(struct hv_facts *f, const char *name, int32_t value)
{
	f->numbers = hv_grow(f->numbers, f->nr_numbers, &f->numbers_cap, 16, sizeof(*f->numbers));
	f->numbers[f->nr_numbers++] = (struct hv_number_fact){name, value};
}

void hv_facts_add_size(struct hv_facts *f, const char *type, uint32_t len_bytes)
{
	f->sizes = hv_grow(f->sizes, f->nr_sizes, &f->sizes_cap, 16, sizeof(*f->sizes));
	f->sizes[f->nr_sizes++] = (struct hv_size_fact){type, len_bytes};
}

const struct hv_fact *hv_facts_find(const struct hv_facts *f, const char *type, const char *member)
{
	for (size_t i = 0; i < f->nr; i++)
		if (!strcmp(f->list[i].type, type) && !strcmp(f->list[i].member, member))
			return &f->list[i];
	return NULL;
}

void hv_facts_shorten(struct hv_facts *f, size_t nr, size_t nr_numbers)
{
	f->nr = nr;
	f->nr_numbers = nr_numbers;
}

void hv_facts_add_proof(struct hv_facts *f, const char *type, const char *member, unsigned proofs)
{
	struct hv_fact *fact = (struct hv_fact *)hv_facts_find(f, type, member);

	if (fact)
		fact->proofs |= proofs;
}

/* A flag in the info word of a structure: the upper 8 bits of an offset are the length of a
 * bit-field. */
#define HAS_BIT_FIELDS (1u << 31)

struct bytes {
	uint8_t *list; /* owned */
	size_t nr, cap;
};

static void add_bytes(struct bytes *b, const void *from, size_t nr)
{
	while (b->cap - b->nr < nr)
		b->list = hv_grow(b->list, b->cap, &b->cap, 4096, 1);
	memcpy(b->list + b->nr, from, nr);
	b->nr += nr;
}

static void add_u32(struct bytes *b, uint32_t value)
{
	add_bytes(b, &value, sizeof(value));
}

struct making {
	const struct hv_facts *facts;
	struct bytes types, strings;
	const char **names; /* owned: of the structures */
	uint32_t nr_names;
	uint32_t nr_arrays;
};

static void making_deinit(struct making *m)
{
	free(m->types.list);
	free(m->strings.list);
	free(m->names);
}

static uint32_t add_string(struct making *m, const char *text)
{
	uint32_t off = (uint32_t)m->strings.nr;

	add_bytes(&m->strings, text, strlen(text) + 1);
	return off;
}

static void add_type(struct making *m, const char *name, unsigned kind, uint32_t nr, uint32_t size)
{
	add_u32(&m->types, name ? add_string(m, name) : 0);
	add_u32(&m->types, kind << 24 | nr);
	add_u32(&m->types, size);
}

static uint32_t index_of(struct making *m, const char *name)
{
	uint32_t i = 0;

	while (i < m->nr_names && strcmp(m->names[i], name) != 0)
		i++;
	if (i == m->nr_names)
		m->names[m->nr_names++] = name;
	return i;
}

static uint32_t size_of(const struct hv_facts *facts, const char *type)
{
	uint32_t end = 0;

	for (size_t i = 0; i < facts->nr; i++) {
		const struct hv_fact *f = &facts->list[i];

		if (!strcmp(f->type, type) && f->off + f->len_bytes > end)
			end = f->off + f->len_bytes;
	}
	for (size_t i = 0; i < facts->nr_sizes; i++)
		if (!strcmp(facts->sizes[i].type, type) && facts->sizes[i].len_bytes > end)
			end = facts->sizes[i].len_bytes;
	return end;
}

static bool is_array(const struct hv_facts *facts, const struct hv_fact *f)
{
	if (f->of)
		return f->len_bytes > size_of(facts, f->of);
	return f->len_bytes != 1 && f->len_bytes != 2 && f->len_bytes != 4 && f->len_bytes != 8;
}

static uint32_t element_id(struct making *m, const struct hv_fact *f)
{
	if (f->of)
		return ID_STRUCTS + index_of(m, f->of);
	switch (f->len_bytes) {
	case 2:
		return ID_U16;
	case 4:
		return ID_U32;
	case 8:
		return ID_U64;
	default:
		return ID_U8;
	}
}

static void add_struct(struct making *m, const char *name)
{
	const struct hv_facts *facts = m->facts;
	uint32_t nr = 0, flag = 0;

	for (size_t i = 0; i < facts->nr; i++) {
		if (strcmp(facts->list[i].type, name) != 0)
			continue;
		nr++;
		flag |= facts->list[i].bits ? HAS_BIT_FIELDS : 0;
	}
	add_type(m, name, KIND_STRUCT, nr | flag, size_of(facts, name));
	for (size_t i = 0; i < facts->nr; i++) {
		const struct hv_fact *f = &facts->list[i];

		if (strcmp(f->type, name) != 0)
			continue;
		add_u32(&m->types, add_string(m, f->member));
		add_u32(&m->types, is_array(facts, f) ? ID_STRUCTS + m->nr_names + m->nr_arrays++
						      : element_id(m, f));
		add_u32(&m->types, (uint32_t)f->bits << 24 | (f->off * 8 + f->bit));
	}
}

static void add_array(struct making *m, const struct hv_fact *f)
{
	uint32_t element = f->of ? size_of(m->facts, f->of) : 1;

	add_type(m, NULL, KIND_ARRAY, 0, 0);
	add_u32(&m->types, f->of ? ID_STRUCTS + index_of(m, f->of) : ID_U8);
	add_u32(&m->types, ID_U32);
	add_u32(&m->types, element ? f->len_bytes / element : 0);
}

static void add_types(struct making *m)
{
	const struct hv_facts *facts = m->facts;

	add_string(m, "");
	for (unsigned i = 0; i < 4; i++) {
		add_type(m, (const char *[]){"u8", "u16", "u32", "u64"}[i], KIND_INT, 0, 1u << i);
		add_u32(&m->types, 8u << i);
	}
	add_type(m, NULL, KIND_ENUM, (uint32_t)facts->nr_numbers, 4);
	for (size_t i = 0; i < facts->nr_numbers; i++) {
		add_u32(&m->types, add_string(m, facts->numbers[i].name));
		add_u32(&m->types, (uint32_t)facts->numbers[i].value);
	}
	m->names = hv_alloc((facts->nr + 1) * 2 * sizeof(*m->names));
	for (size_t i = 0; i < facts->nr; i++) {
		index_of(m, facts->list[i].type);
		if (facts->list[i].of)
			index_of(m, facts->list[i].of);
	}
	for (uint32_t i = 0; i < m->nr_names; i++)
		add_struct(m, m->names[i]);
	/* add_struct() numbered the arrays in this order. */
	for (uint32_t i = 0; i < m->nr_names; i++)
		for (size_t j = 0; j < facts->nr; j++)
			if (!strcmp(facts->list[j].type, m->names[i]) &&
			    is_array(facts, &facts->list[j]))
				add_array(m, &facts->list[j]);
}

struct hv_err *hv_facts_to_btf(const struct hv_facts *f, struct hv_btf **ret)
{
	hv_cleanup(making_deinit) struct making m = {.facts = f};
	hv_cleanup(making_deinit) struct making all = {0};

	add_types(&m);
	add_u32(&all.types, BTF_MAGIC | 1u << 16); /* version 1, no flags */
	add_u32(&all.types, HEADER_BYTES);
	add_u32(&all.types, 0);
	add_u32(&all.types, (uint32_t)m.types.nr);
	add_u32(&all.types, (uint32_t)m.types.nr);
	add_u32(&all.types, (uint32_t)m.strings.nr);
	add_bytes(&all.types, m.types.list, m.types.nr);
	add_bytes(&all.types, m.strings.list, m.strings.nr);
	return hv_btf_new((struct hv_span){all.types.list, all.types.nr}, NULL, ret);
}
