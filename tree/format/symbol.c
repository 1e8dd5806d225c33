/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/symbol.h"

#include <inttypes.h>

#include "kernel/kernel.h"
#include "tracer/section.h"
#include "tree/format/symbol_texts.h"

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
