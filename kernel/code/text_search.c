/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/code/text_search.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/prefix.h"
#include "kernel/kernel.h"
#include "kernel/tasks/unwind.h"

#define TEXT_MAX (256u << 20)

/* Sets *RET_READ to whether the text could be read. */
static struct hv_err *search(const struct hv_kernel *k, struct hv_gva_range range, hv_text_fn fn,
			     void *ctx, bool *ret_read)
{
	size_t len = range.end.v - range.start.v;
	HV_AUTO_FREE uint8_t *bytes = NULL;
	struct hv_err *err;

	if (len > TEXT_MAX)
		return hv_err_new(EINVAL, "%zu bytes of text are too many to search", len);
	bytes = hv_alloc(len + 1);
	err = hv_read(&k->core.as, range.start, bytes, len);
	*ret_read = !err;
	return err ? err : fn(ctx, (struct hv_span){bytes, len}, range.start);
}

struct hv_err *hv_text_search(const struct hv_kernel *k, hv_text_fn fn, void *ctx)
{
	bool was_read = false;
	struct hv_err *err = search(k, k->text, fn, ctx, &was_read);

	for (size_t i = 0; !err && i < k->modules.nr; i++) {
		was_read = false;
		err = search(k, k->modules.list[i].text, fn, ctx, &was_read);
		if (err && !was_read) {
			hv_err_free(err);
			err = NULL;
		}
	}
	return err;
}

bool hv_text_function(const struct hv_kernel *k, struct hv_span text, struct hv_gva start,
		      struct hv_gva at, struct hv_span *ret, struct hv_gva *ret_start)
{
	const char *name, *module;
	uint64_t off, len, from;

	if (!hv_kernel_symbol_at(k, at, &name, &module, &off) || off > at.v - start.v)
		return false;
	from = at.v - start.v - off;
	len = hv_kernel_symbol_size(k, at);
	if (len > text.len_bytes - from)
		len = text.len_bytes - from;
	*ret = (struct hv_span){text.data + from, len};
	*ret_start = hv_gva_add(start, from);
	return true;
}

bool hv_text_caller(const struct hv_arch *arch, struct hv_orc *orc, struct hv_gva at,
		    uint32_t *ret_off)
{
	const struct hv_unwind_rule *entry = &arch->entry_rule;
	struct hv_unwind_rule rule;

	if (!orc || !hv_orc_find(orc, at, &rule) || rule.kind != HV_UNWIND_CALL ||
	    rule.sp_reg != entry->sp_reg || rule.sp_off < entry->sp_off)
		return false;
	*ret_off = (uint32_t)(rule.sp_off - entry->sp_off);
	return true;
}

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
	struct hv_err *err = NULL;

	for (size_t i = 0; i < k->core.symbols.nr && !err; i++) {
		const struct hv_symbol *symbol = &k->core.symbols.by_addr[i];

		if (hv_starts_with(symbol->name, prefix))
			err = hv_calls_find(k, symbol->addr, targets, ret);
	}
	return err;
}

void hv_calls_deinit(struct hv_calls *c)
{
	free(c->list);
	*c = (struct hv_calls){0};
}
