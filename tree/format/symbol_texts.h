/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The texts of symbols that lines have shown lately. A trace shows few functions many times, and to
 * look one up costs several cache misses.
 * Leaves to others: what the texts are (format.c, graph.c), when symbols change (files/lines.c). */
#pragma once

#include <stdbool.h>

#include "base/addr.h"
#include "base/text.h"

struct hv_symbol_texts;

enum hv_symbol_form {
	HV_SYMBOL_PLAIN,       /* its name */
	HV_SYMBOL_WITH_MODULE, /* and, in brackets, its module */
};

struct hv_symbol_texts *hv_symbol_texts_new(void) hv_must_use;
void hv_symbol_texts_free(struct hv_symbol_texts *t);
/* Forgets all texts if VERSION is not that of the last call (hv_kernel's symbols_version). */
void hv_symbol_texts_of(struct hv_symbol_texts *t, uint64_t version);

/* Adds the text of ADDR. False: T, which may be NULL, does not have it, and nothing is added. */
bool hv_symbol_texts_add(const struct hv_symbol_texts *t, struct hv_text *out, struct hv_gva addr,
			 enum hv_symbol_form form);
/* Puts it to AT, which has room for HV_SYMBOL_TEXT_MAX bytes; those behind its end have no meaning.
 * Returns the end. NULL: T does not have it. */
#define HV_SYMBOL_TEXT_MAX 54
char *hv_symbol_texts_put(const struct hv_symbol_texts *t, struct hv_gva addr,
			  enum hv_symbol_form form, char *at);
/* Keeps the text of ADDR: what OUT has from START on. T may be NULL. */
void hv_symbol_texts_keep(struct hv_symbol_texts *t, const struct hv_text *out, size_t start,
			  struct hv_gva addr, enum hv_symbol_form form);
