/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/graph/trampolines.h"

static const char *const symbols[] = {
	"arch_rethook_trampoline", /* kretprobes and fprobes since 54ecbe6f1ed5 */
	"__kretprobe_trampoline",  /* kretprobes since adf8a61a940c */
	"kretprobe_trampoline",	   /* kretprobes before that */
	"return_to_handler",	   /* function_graph */
};
_Static_assert(HV_ARRAY_LEN(symbols) == HV_ARRAY_LEN(((struct hv_trampolines *)0)->list), "list");

void hv_trampolines_find(const struct hv_kernel *k, struct hv_trampolines *ret)
{
	*ret = (struct hv_trampolines){0};
	for (size_t i = 0; i < HV_ARRAY_LEN(symbols); i++) {
		struct hv_trampoline *t = &ret->list[ret->nr];

		if (!hv_kernel_symbol(k, symbols[i], &t->code.start))
			continue;
		t->symbol = symbols[i];
		t->code.end = hv_gva_add(t->code.start, hv_kernel_symbol_size(k, t->code.start));
		ret->nr++;
	}
}

const struct hv_trampoline *hv_trampolines_entry(const struct hv_trampolines *t, uint64_t address)
{
	for (unsigned i = 0; i < t->nr; i++)
		if (t->list[i].code.start.v == address)
			return &t->list[i];
	return NULL;
}

const struct hv_trampoline *hv_trampolines_inside(const struct hv_trampolines *t, uint64_t address)
{
	for (unsigned i = 0; i < t->nr; i++)
		if (hv_gva_in(hv_gva(address), t->list[i].code) &&
		    address != t->list[i].code.start.v)
			return &t->list[i];
	return NULL;
}
