/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the areas where arm64 kernels place modules. Two variables contain them
 * (arch/arm64/mm/init.c; before 6.10 kernel/module.c there; one before 6.5 (3e35d303ab7d),
 * arch/arm64/kernel/kaslr.c). Since 6.10 (12af2b83d0b1) the kernel also stores them in a structure
 * that its allocator reads through a pointer. In a kernel without data symbols they are read from
 * that structure. */
#include "kernel/arch/arm64/arm64.h"
#include "kernel/core/fields.h"

#define DIRECT_BYTES (128ull << 20)
#define AREA_BYTES   (2ull << 30)
#define PAGE_BYTES   4096u

static struct hv_err *read_base(const struct hv_kernel_core *core, const char *name, uint64_t *ret)
{
	struct hv_gva at;

	*ret = 0;
	return hv_core_symbol(core, name, &at) ? hv_read_u64(&core->as, at, ret) : NULL;
}

static bool is_around(const struct hv_kernel_core *core, uint64_t start)
{
	struct hv_gva_range image = core->image.all;

	return start && start <= image.start.v && image.end.v - start <= AREA_BYTES;
}

/* Reads the first range, which is for the text of modules: the preferred area and the fallback
 * area. */
bool arm64_read_execmem(const struct hv_kernel_core *core, struct hv_gva at,
			struct arm64_module_areas *ret)
{
	uint32_t start, end, else_start, else_end;
	const struct hv_field fields[] = {{"ranges.start", 8, &start},
					  {"ranges.end", 8, &end},
					  {"ranges.fallback_start", 8, &else_start},
					  {"ranges.fallback_end", 8, &else_end}};
	uint64_t info = 0, value[HV_ARRAY_LEN(fields)] = {0};
	HV_AUTO_ERR struct hv_err *err =
		hv_fields_find(core, "execmem_info", fields, HV_ARRAY_LEN(fields));

	if (!err)
		err = hv_read_u64(&core->as, at, &info);
	if (err || !hv_gva_in(hv_gva(info), core->image.all))
		return false;
	for (size_t i = 0; !err && i < HV_ARRAY_LEN(fields); i++)
		err = hv_read_u64(&core->as, hv_gva(info + *fields[i].off), &value[i]);
	if (err || value[0] % PAGE_BYTES || value[2] % PAGE_BYTES)
		return false;
	if (!value[2] && !value[3] && value[1] - value[0] == AREA_BYTES)
		*ret = (struct arm64_module_areas){.all = value[0]};
	else if (value[1] - value[0] == DIRECT_BYTES && value[3] - value[2] == AREA_BYTES)
		*ret = (struct arm64_module_areas){.all = value[2], .direct = value[0]};
	else
		return false;
	return is_around(core, ret->all) &&
	       (!ret->direct ||
		(ret->direct >= ret->all && ret->direct + DIRECT_BYTES <= ret->all + AREA_BYTES));
}

struct hv_err *arm64_find_module_areas(const struct hv_kernel_core *core,
				       struct arm64_module_areas *ret)
{
	struct hv_gva at;
	struct hv_err *err = read_base(core, "module_plt_base", &ret->all);

	if (!err && !ret->all)
		err = read_base(core, "module_alloc_base", &ret->all);
	if (!err)
		err = read_base(core, "module_direct_base", &ret->direct);
	if (err || is_around(core, ret->all))
		return err;
	if (!ret->all && hv_core_symbol(core, "execmem_info", &at) &&
	    arm64_read_execmem(core, at, ret))
		return NULL;
	return hv_err_new(ENOTSUP, "cannot find the addresses of this kernel's modules");
}
