/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The symbol that is shown for an address: the kernel's, or the one that a section has kept. */
#pragma once

#include "base/addr.h"
#include "tree/format/style.h"

struct hv_shown_symbol {
	const char *name;   /* hostile, not empty */
	const char *module; /* hostile; NULL: of the core kernel */
	uint64_t off;
	uint64_t len_bytes;
};

/* False: the address has none. */
bool hv_format_symbol(const struct hv_style *style, struct hv_gva addr,
		      struct hv_shown_symbol *ret);
/* Adds ADDR as a symbol, or as the options say. */
void hv_format_address(struct hv_text *out, const struct hv_style *style, struct hv_gva addr);
