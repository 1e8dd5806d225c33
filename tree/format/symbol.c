/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/symbol.h"

#include <inttypes.h>
#include <string.h>

#include "kernel/kernel.h"
#include "tracer/sections/section_tracer.h"

#define NAME_LEN_MAX 512 /* KSYM_NAME_LEN */

bool hv_format_symbol(const struct hv_style *style, struct hv_gva addr, struct hv_shown_symbol *ret)
{
	const struct hv_section_name *kept =
		style->section ? hv_section_name_at(style->section, addr) : NULL;
	struct hv_shown_symbol s = {.name = NULL};

	if (kept)
		s = (struct hv_shown_symbol){kept->name, kept->module, kept->off, kept->len_bytes};
	else if (hv_kernel_symbol_at(style->kernel, addr, &s.name, &s.module, &s.off))
		s.len_bytes = hv_kernel_symbol_size(style->kernel, addr);
	*ret = s;
	return s.name && s.name[0];
}

/* The module is shown only with the offset (sprint_symbol(), trace_seq_print_sym()). */
void hv_format_address(struct hv_text *out, const struct hv_style *style, struct hv_gva addr)
{
	bool is_plain = !hv_style_is_on(style, HV_OPT_SYM_OFFSET) &&
			!hv_style_is_on(style, HV_OPT_SYM_ADDR);
	struct hv_symbol_texts *texts = is_plain ? style->symbols : NULL;
	size_t start = out->len_bytes;
	struct hv_shown_symbol symbol;

	if (!addr.v) {
		hv_text_add(out, "0");
		return;
	}
	if (hv_symbol_texts_add(texts, out, addr, HV_SYMBOL_PLAIN))
		return;
	if (!hv_format_symbol(style, addr, &symbol)) {
		hv_text_printf(out, "0x%08" PRIx64, addr.v);
	} else {
		hv_text_add_guest(out, symbol.name, NAME_LEN_MAX);
		if (hv_style_is_on(style, HV_OPT_SYM_OFFSET))
			hv_text_printf(out, "+0x%" PRIx64 "/0x%" PRIx64, symbol.off,
				       symbol.len_bytes);
		if (hv_style_is_on(style, HV_OPT_SYM_OFFSET) && symbol.module) {
			hv_text_add(out, " [");
			hv_text_add_guest(out, symbol.module, NAME_LEN_MAX);
			hv_text_add(out, "]");
		}
	}
	if (hv_style_is_on(style, HV_OPT_SYM_ADDR))
		hv_text_printf(out, " <%016" PRIx64 ">", addr.v);
	hv_symbol_texts_keep(texts, out, start, addr, HV_SYMBOL_PLAIN);
}

/* -- cache of texts ---------------------------------------------------------------------------- */

#define NR_KEPT	   8192 /* a power of two */
#define NR_WAYS	   4	/* ways of the set-associative cache; a power of two */
#define TEXT_MAX   54	/* makes an element as large as a cache line */
#define HASH_SHIFT (64 - 11)

struct kept {
	uint64_t addr; /* 0: unused */
	uint8_t form;
	uint8_t len;
	char text[TEXT_MAX];
};

_Static_assert(sizeof(struct kept) == 64, "a cache line");
_Static_assert(NR_KEPT / NR_WAYS == UINT64_C(1) << (64 - HASH_SHIFT),
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
static size_t set_of(struct hv_gva addr)
{
	return (size_t)(addr.v * UINT64_C(0x9e3779b97f4a7c15) >> HASH_SHIFT) * NR_WAYS;
}

/* Returns NULL if it is not cached. */
static inline const struct kept *find(const struct hv_symbol_texts *t, struct hv_gva addr,
				      enum hv_symbol_form form)
{
	const struct kept *k = &t->list[set_of(addr)];

	for (unsigned i = 0; i < NR_WAYS && addr.v; i++, k++)
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
static struct kept *entry_for(struct hv_symbol_texts *t, struct hv_gva addr)
{
	struct kept *first = &t->list[set_of(addr)];

	for (unsigned i = 0; i < NR_WAYS; i++)
		if (first[i].addr == addr.v || !first[i].addr)
			return &first[i];
	return &first[t->nr_replaced++ % NR_WAYS];
}

void hv_symbol_texts_keep(struct hv_symbol_texts *t, const struct hv_text *out, size_t start,
			  struct hv_gva addr, enum hv_symbol_form form)
{
	size_t len = out->len_bytes - start;
	struct kept *k;

	if (!t || len > TEXT_MAX || !addr.v)
		return;
	k = entry_for(t, addr);
	k->addr = addr.v;
	k->form = (uint8_t)form;
	k->len = (uint8_t)len;
	memcpy(k->text, out->data + start, len);
}
