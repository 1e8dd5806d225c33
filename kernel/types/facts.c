/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source of the format: Documentation/bpf/btf.rst. */
#include "kernel/types/facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "kernel/types/btf_kinds.h"
#include "kernel/types/btf_writer.h"

enum {
	ID_U8 = 1, /* the first four types are integers */
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

struct making {
	const struct hv_facts *facts;
	struct hv_btf_writer out;
	const char **names; /* owned; names of the structures */
	uint32_t nr_names;
	uint32_t nr_arrays;
};

static void making_deinit(struct making *m)
{
	hv_btf_writer_deinit(&m->out);
	free(m->names);
}

static void add_type(struct making *m, const char *name, uint32_t kind, uint32_t nr, uint32_t size)
{
	hv_btf_write_type(&m->out, name ? hv_btf_write_string(&m->out, name) : 0, kind, nr, size);
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
		flag |= facts->list[i].bits ? HV_BTF_KIND_FLAG : 0;
	}
	add_type(m, name, HV_BTF_KIND_STRUCT | flag, nr, size_of(facts, name));
	for (size_t i = 0; i < facts->nr; i++) {
		const struct hv_fact *f = &facts->list[i];

		if (strcmp(f->type, name) != 0)
			continue;
		hv_btf_write_word(&m->out, hv_btf_write_string(&m->out, f->member));
		hv_btf_write_word(&m->out, is_array(facts, f)
						   ? ID_STRUCTS + m->nr_names + m->nr_arrays++
						   : element_id(m, f));
		hv_btf_write_word(&m->out, (uint32_t)f->bits << 24 | (f->off * 8 + f->bit));
	}
}

static void add_array(struct making *m, const struct hv_fact *f)
{
	uint32_t element = f->of ? size_of(m->facts, f->of) : 1;

	add_type(m, NULL, HV_BTF_KIND_ARRAY, 0, 0);
	hv_btf_write_word(&m->out, f->of ? ID_STRUCTS + index_of(m, f->of) : ID_U8);
	hv_btf_write_word(&m->out, ID_U32);
	hv_btf_write_word(&m->out, element ? f->len_bytes / element : 0);
}

static void add_types(struct making *m)
{
	const struct hv_facts *facts = m->facts;

	hv_btf_write_string(&m->out, "");
	for (unsigned i = 0; i < 4; i++) {
		add_type(m, (const char *[]){"u8", "u16", "u32", "u64"}[i], HV_BTF_KIND_INT, 0,
			 1u << i);
		hv_btf_write_word(&m->out, 8u << i);
	}
	add_type(m, NULL, HV_BTF_KIND_ENUM, (uint32_t)facts->nr_numbers, 4);
	for (size_t i = 0; i < facts->nr_numbers; i++) {
		hv_btf_write_word(&m->out, hv_btf_write_string(&m->out, facts->numbers[i].name));
		hv_btf_write_word(&m->out, (uint32_t)facts->numbers[i].value);
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
	uint8_t *bytes;
	size_t len_bytes;

	add_types(&m);
	bytes = hv_btf_write_end(&m.out, &len_bytes);
	return hv_btf_new_take(bytes, len_bytes, ret);
}
