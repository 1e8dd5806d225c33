/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/code/calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "kernel/kernel.h"

static void add(struct hv_calls *c, const struct hv_call *call)
{
	c->list = hv_grow(c->list, c->nr, &c->cap, 8, sizeof(*c->list));
	c->list[c->nr++] = *call;
}

struct hv_err *hv_calls_find(const struct hv_kernel *k, struct hv_gva function,
			     struct hv_gva_range targets, struct hv_calls *ret)
{
	const struct hv_arch *arch = k->core.as.arch;
	uint64_t len = hv_kernel_symbol_size(k, function);
	const struct hv_symbols *symbols;
	uint8_t code[HV_CALLS_FUNCTION_BYTES];
	struct hv_gva_range text;
	struct hv_err *err;

	if (!hv_kernel_code_at(k, function, &text, &symbols))
		return NULL;
	if (len > sizeof(code))
		len = sizeof(code);
	if (len > text.end.v - function.v)
		len = text.end.v - function.v;
	err = hv_read(&k->core.as, function, code, len);
	for (size_t off = 0; !err && off + arch->site_len_bytes <= len; off++) {
		struct hv_call call = {.at = hv_gva_add(function, off)};

		call.kind = arch->classify_site(code + off, call.at, &call.target);
		if ((call.kind == HV_SITE_CALL || call.kind == HV_SITE_JUMP) &&
		    hv_gva_in(call.target, targets))
			add(ret, &call);
	}
	return err;
}

struct hv_err *hv_calls_find_in(const struct hv_kernel *k, const char *prefix,
				struct hv_gva_range targets, struct hv_calls *ret)
{
	size_t len = strlen(prefix);
	struct hv_err *err = NULL;

	for (size_t i = 0; i < k->core.symbols.nr && !err; i++) {
		const struct hv_symbol *symbol = &k->core.symbols.by_addr[i];

		if (strncmp(symbol->name, prefix, len) == 0)
			err = hv_calls_find(k, symbol->addr, targets, ret);
	}
	return err;
}

void hv_calls_deinit(struct hv_calls *c)
{
	free(c->list);
	*c = (struct hv_calls){0};
}
