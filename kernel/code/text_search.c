/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/code/text_search.h"

#include <stdlib.h>

#include "kernel/kernel.h"
#include "kernel/tasks/orc.h"

#define TEXT_MAX (256u << 20)

/* Sets *RET_READ to whether the text could be read. */
static struct hv_err *search(const struct hv_kernel *k, struct hv_gva_range range, hv_text_fn fn,
			     void *ctx, bool *ret_read)
{
	size_t len = range.end.v - range.start.v;
	HV_AUTO_FREE uint8_t *bytes = NULL;
	struct hv_err *err;

	if (len > TEXT_MAX)
		return hv_err_new(EINVAL, "%zu bytes of text", len);
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
