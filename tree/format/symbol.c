/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/symbol.h"

#include "kernel/kernel.h"
#include "tracer/section.h"

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
