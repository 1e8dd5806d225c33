/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/types/btf_writer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "kernel/types/btf_kinds.h"

enum { BTF_MAGIC = 0xeb9f, BTF_VERSION = 1, HEADER_WORDS = 6 };

static void add(struct hv_btf_bytes *b, const void *from, size_t nr)
{
	while (b->cap - b->nr < nr)
		b->list = hv_grow(b->list, b->cap, &b->cap, 4096, 1);
	memcpy(b->list + b->nr, from, nr);
	b->nr += nr;
}

void hv_btf_writer_deinit(struct hv_btf_writer *w)
{
	free(w->types.list);
	free(w->strings.list);
	*w = (struct hv_btf_writer){0};
}

uint32_t hv_btf_write_string(struct hv_btf_writer *w, const char *text)
{
	uint32_t off = (uint32_t)w->strings.nr;

	add(&w->strings, text, strlen(text) + 1);
	return off;
}

void hv_btf_write_word(struct hv_btf_writer *w, uint32_t word)
{
	add(&w->types, &word, sizeof(word));
}

void hv_btf_write_type(struct hv_btf_writer *w, uint32_t name, uint32_t kind, uint32_t nr,
		       uint32_t size_or_type)
{
	uint32_t flag = kind & HV_BTF_KIND_FLAG;

	hv_btf_write_word(w, name);
	hv_btf_write_word(w, flag | (kind ^ flag) << 24 | nr);
	hv_btf_write_word(w, size_or_type);
}

uint8_t *hv_btf_write_end(const struct hv_btf_writer *w, size_t *ret_len_bytes)
{
	const uint32_t types = (uint32_t)w->types.nr, strings = (uint32_t)w->strings.nr;
	const uint32_t header[HEADER_WORDS] = {
		BTF_MAGIC | BTF_VERSION << 16, HEADER_WORDS * 4, 0, types, types, strings};
	uint8_t *all = hv_alloc(sizeof(header) + types + strings);

	assert(types && strings);
	memcpy(all, header, sizeof(header));
	memcpy(all + sizeof(header), w->types.list, types);
	memcpy(all + sizeof(header) + types, w->strings.list, strings);
	*ret_len_bytes = sizeof(header) + types + strings;
	return all;
}
