/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private variables of arm64 kernels, for those that have no names of their data. */
#include "kernel/arm64/arm64.h"
#include "kernel/modules.h"

#define AREA_BYTES (2ull << 30)
#define PAGE_BYTES 4096u

/* A module's text is never below the address from which the kernel looks for room for modules, and
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
		fits &= modules.list[i].text.start.v >= base &&
			modules.list[i].text.end.v - base <= AREA_BYTES;
	hv_modules_deinit(&modules);
	return !err && fits;
}

/* Two words, in which CPUs that were started in EL2 and in EL1 leave what they were started in
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
	 .argument = 2, /* from where on there may be room */
	 .called = "__vmalloc_node_range",
	 .is_at = is_module_base},
	{.name = "__boot_cpu_mode",
	 .functions = {"is_hyp_mode_available", "is_hyp_mode_mismatched"},
	 .functions_min = 1,
	 .kind = HV_DATA_READ,
	 .len_bytes = 4,
	 .is_at = is_boot_mode},
};
