/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The symbol to show for an address, from the kernel or from a section's saved symbols. */
#pragma once

#include <stdbool.h>

#include "base/addr.h"
#include "base/text.h"
#include "tree/format/style.h"

struct hv_shown_symbol {
	const char *name;   /* untrusted, not empty */
	const char *module; /* untrusted; NULL: core kernel */
	uint64_t off;
	uint64_t len_bytes;
};

/* Returns false if ADDR has no symbol. */
bool hv_format_symbol(const struct hv_style *style, struct hv_gva addr,
		      struct hv_shown_symbol *ret);
/* Adds ADDR as a symbol, in the form that the options select. */
void hv_format_address(struct hv_text *out, const struct hv_style *style, struct hv_gva addr);

/* -- cache of texts ---------------------------------------------------------------------------- */

/* Cache for the text of recently shown symbols. A trace shows few functions many times, and a
 * symbol lookup costs several cache misses. format.c and graph.c make the texts; files/listing.c
 * detects changed symbols. */

struct hv_symbol_texts;

enum hv_symbol_form {
	HV_SYMBOL_PLAIN,       /* its name */
	HV_SYMBOL_WITH_MODULE, /* its name, then the module in brackets */
};

struct hv_symbol_texts *hv_symbol_texts_new(void) hv_must_use;
void hv_symbol_texts_free(struct hv_symbol_texts *t);
/* Clears the cache if VERSION differs from the previous call (symbols_version of struct
 * hv_kernel). */
void hv_symbol_texts_of(struct hv_symbol_texts *t, uint64_t version);

/* Adds the text of ADDR. Returns false and adds nothing if it is not cached. T may be NULL. */
bool hv_symbol_texts_add(const struct hv_symbol_texts *t, struct hv_text *out, struct hv_gva addr,
			 enum hv_symbol_form form);
/* Writes the text to AT, which has room for HV_SYMBOL_TEXT_MAX bytes; bytes after its end are
 * undefined. Returns its end, or NULL if it is not cached. */
#define HV_SYMBOL_TEXT_MAX 54
char *hv_symbol_texts_put(const struct hv_symbol_texts *t, struct hv_gva addr,
			  enum hv_symbol_form form, char *at);
/* Caches the text of ADDR: the part of OUT from START on. T may be NULL. */
void hv_symbol_texts_keep(struct hv_symbol_texts *t, const struct hv_text *out, size_t start,
			  struct hv_gva addr, enum hv_symbol_form form);
