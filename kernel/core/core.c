/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/core/core.h"

#include <stdlib.h>

#include "kernel/core/orc_form.h"
#include "kernel/types/facts.h"

bool hv_core_symbol(const struct hv_kernel_core *core, const char *name, struct hv_gva *ret)
{
	return hv_symbols_find(&core->symbols, name, ret) ||
	       hv_symbols_find(&core->unnamed, name, ret);
}

struct hv_err *hv_core_need(const struct hv_kernel_core *core, const char *name, struct hv_gva *ret)
{
	struct hv_gva data;

	if (hv_core_symbol(core, name, ret))
		return NULL;
	/* Every kernel has this variable. */
	if (!hv_symbols_find(&core->symbols, "linux_banner", &data))
		return hv_err_mark(hv_err_new(ENOENT,
					      "kernel has no symbol %s: it was built without "
					      "CONFIG_KALLSYMS_ALL",
					      name),
				   HV_ERR_NEEDS_VMLINUX);
	return hv_err_new(ENOENT, "kernel has no symbol %s", name);
}

struct hv_err *hv_core_percpu(const struct hv_kernel_core *core, uint64_t percpu, unsigned cpu,
			      struct hv_gva *ret)
{
	struct hv_gva offsets;
	uint64_t offset;
	struct hv_err *err = hv_core_need(core, "__per_cpu_offset", &offsets);

	if (!err)
		err = hv_read_u64(&core->as, hv_gva_add(offsets, 8ull * cpu), &offset);
	if (!err)
		*ret = hv_gva(percpu + offset);
	return err;
}

void hv_orc_found_free(struct hv_orc_found *f)
{
	if (f)
		hv_err_free(f->none);
	free(f);
}

void hv_core_deinit(struct hv_kernel_core *core)
{
	hv_orc_found_free(core->orc);
	hv_err_free(core->no_reach);
	hv_err_free(core->no_types);
	free(core->types.path);
	if (core->types.facts)
		hv_facts_deinit(core->types.facts);
	free(core->types.facts);
	hv_btf_free(core->types.replaced);
	hv_btf_free(core->btf);
	hv_symbols_deinit(&core->unnamed);
	hv_symbols_deinit(&core->symbols);
	hv_image_deinit(&core->image);
	*core = (struct hv_kernel_core){0};
}

struct hv_reach hv_reach_of(const struct hv_kernel_core *core)
{
	const struct hv_arch *arch = core->as.arch;

	if (!arch->text_base.v)
		return core->reach;
	return (struct hv_reach){
		.text_base = arch->text_base,
		.free_range = arch->free_range,
		.code = arch->chosen_range,
	};
}
