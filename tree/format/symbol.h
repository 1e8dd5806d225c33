/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The symbol to show for an address, from the kernel or from a section's saved symbols. */
#pragma once

#include "base/addr.h"
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
