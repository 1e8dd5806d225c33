/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private variables of arm64 kernels without data symbols. */
#include "kernel/arch/arm64/arm64.h"
#include "kernel/sites/modules.h"

#define AREA_BYTES (2ull << 30)
#define PAGE_BYTES 4096u

static bool is_in_area(const struct hv_module *m, uint64_t base)
{
	return m->text.start.v >= base && m->text.end.v - base <= AREA_BYTES;
}

/* Module text is never below the address where the kernel starts to look for room for modules, and
 * both are within 2 GiB of each other and of the image. */
static bool is_module_base(const struct hv_kernel_core *core, struct hv_gva at)
{
	struct hv_gva_range image = core->image.all;
	struct hv_modules modules = {0};
	uint64_t base = 0;
	bool fits = true;
	HV_AUTO_ERR struct hv_err *err = hv_read_u64(&core->as, at, &base);

	if (err || !base || base % PAGE_BYTES || base > image.start.v ||
	    image.end.v - base > AREA_BYTES)
		return false;
	err = hv_modules_read(core, &modules);
	for (size_t i = 0; !err && i < modules.nr; i++)
		fits &= is_in_area(&modules.list[i], base);
	hv_modules_deinit(&modules);
	return !err && fits;
}

/* Since 6.10: the pointer leads to two areas for modules with the sizes that the kernel uses. */
static bool is_execmem(const struct hv_kernel_core *core, struct hv_gva at)
{
	struct arm64_module_areas areas;
	struct hv_modules modules = {0};
	bool fits = arm64_read_execmem(core, at, &areas);
	HV_AUTO_ERR struct hv_err *err = fits ? hv_modules_read(core, &modules) : NULL;

	for (size_t i = 0; !err && i < modules.nr; i++)
		fits &= is_in_area(&modules.list[i], areas.all);
	hv_modules_deinit(&modules);
	return !err && fits;
}

/* Two words in which CPUs started in EL2 and in EL1 store their boot mode
 * (arch/arm64/kernel/head.S). */
static bool is_boot_mode(const struct hv_kernel_core *core, struct hv_gva at)
{
	uint32_t modes[2] = {0};
	HV_AUTO_ERR struct hv_err *err = hv_read(&core->as, at, modes, sizeof(modes));

	return !err && (modes[0] | 3) == 0xe13 && (modes[1] | 3) == 0xe13 && (modes[0] & 3) % 3 &&
	       (modes[1] & 3) % 3;
}

const struct hv_unnamed arm64_unnamed[ARM64_NR_UNNAMED] = {
	{.name = "module_alloc_base",
	 .functions = {"module_alloc"},
	 .functions_min = 1,
	 .kind = HV_DATA_PASS,
	 .argument = 2, /* start of the searched range */
	 .called = "__vmalloc_node_range",
	 .is_at = is_module_base},
	{.name = "__boot_cpu_mode",
	 .functions = {"is_hyp_mode_available", "is_hyp_mode_mismatched"},
	 .functions_min = 1,
	 .kind = HV_DATA_READ,
	 .len_bytes = 4,
	 .is_at = is_boot_mode},
	{.name = "execmem_info",
	 .functions = {"execmem_alloc"},
	 .functions_min = 1,
	 .kind = HV_DATA_READ,
	 .len_bytes = 8,
	 .is_at = is_execmem},
};
