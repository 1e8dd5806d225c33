/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/symbol_texts.h"

#include <string.h>

#define NR_KEPT	   8192 /* a power of two */
#define NR_PLACES  4	/* ways of the set-associative cache; a power of two */
#define TEXT_MAX   54	/* makes an element as large as a cache line */
#define HASH_SHIFT (64 - 11)

struct kept {
	uint64_t addr; /* 0: unused */
	uint8_t form;
	uint8_t len;
	char text[TEXT_MAX];
};

_Static_assert(sizeof(struct kept) == 64, "a cache line");
_Static_assert(NR_KEPT / NR_PLACES == UINT64_C(1) << (64 - HASH_SHIFT),
	       "as many as the hash has values");
_Static_assert(HV_SYMBOL_TEXT_MAX >= TEXT_MAX, "room");

struct hv_symbol_texts {
	uint64_t version;
	uint64_t nr_replaced;
	struct kept list[NR_KEPT];
};

struct hv_symbol_texts *hv_symbol_texts_new(void)
{
	return hv_alloc(sizeof(struct hv_symbol_texts));
}

void hv_symbol_texts_free(struct hv_symbol_texts *t)
{
	free(t);
}

void hv_symbol_texts_of(struct hv_symbol_texts *t, uint64_t version)
{
	if (t->version != version)
		memset(t, 0, sizeof(*t));
	t->version = version;
}

/* Returns the first element of ADDR's set. */
static size_t place_of(struct hv_gva addr)
{
	return (size_t)(addr.v * UINT64_C(0x9e3779b97f4a7c15) >> HASH_SHIFT) * NR_PLACES;
}

/* Returns NULL if it is not cached. */
static inline const struct kept *find(const struct hv_symbol_texts *t, struct hv_gva addr,
				      enum hv_symbol_form form)
{
	const struct kept *k = &t->list[place_of(addr)];

	for (unsigned i = 0; i < NR_PLACES && addr.v; i++, k++)
		if (k->addr == addr.v && k->form == form)
			return k;
	return NULL;
}

bool hv_symbol_texts_add(const struct hv_symbol_texts *t, struct hv_text *out, struct hv_gva addr,
			 enum hv_symbol_form form)
{
	const struct kept *k = t ? find(t, addr, form) : NULL;

	if (!k)
		return false;
	hv_text_add_bytes(out, k->text, k->len);
	return true;
}

char *hv_symbol_texts_put(const struct hv_symbol_texts *t, struct hv_gva addr,
			  enum hv_symbol_form form, char *at)
{
	const struct kept *k = find(t, addr, form);

	if (!k)
		return NULL;
	memcpy(at, k->text, TEXT_MAX);
	return at + k->len;
}

/* Returns the element with ADDR's text, else an unused one, else the one to replace. */
static struct kept *place_for(struct hv_symbol_texts *t, struct hv_gva addr)
{
	struct kept *first = &t->list[place_of(addr)];

	for (unsigned i = 0; i < NR_PLACES; i++)
		if (first[i].addr == addr.v || !first[i].addr)
			return &first[i];
	return &first[t->nr_replaced++ % NR_PLACES];
}

void hv_symbol_texts_keep(struct hv_symbol_texts *t, const struct hv_text *out, size_t start,
			  struct hv_gva addr, enum hv_symbol_form form)
{
	size_t len = out->len_bytes - start;
	struct kept *k;

	if (!t || len > TEXT_MAX || !addr.v)
		return;
	k = place_for(t, addr);
	k->addr = addr.v;
	k->form = (uint8_t)form;
	k->len = (uint8_t)len;
	memcpy(k->text, out->data + start, len);
}
