/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The range of a `bl` in the image. The kernel places its image anywhere in vmalloc()'s address
 * range and all modules in the same 2 GiB as the image. If modules have to reach each other with
 * `bl`, it first tries 128 MiB of them (arch/arm64/kernel/module.c; before 6.5 (3e35d303ab7d)
 * arch/arm64/kernel/kaslr.c). It maps nothing else there, because vmalloc() starts at the lowest
 * address, more than 30 TiB below a relocated image. */
#include "kernel/arch/arm64/arm64.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)

#define REACH	     (128 * MIB) /* range of bl */
#define CODE_LEN     (1 * MIB)	 /* stubs and detours */
#define DIRECT_BYTES (128 * MIB)
#define AREA_BYTES   (2 * GIB)
#define MODULE_BYTES (64 * MIB) /* more than guests load */
#define WINDOW_BYTES (1 * GIB)	/* above the image; rings need not be in reach */

/* An image that was not relocated is at the start of vmalloc()'s range, up to 2 GiB above the start
 * of the window. */
#define NOT_MOVED (4 * GIB)

/* Returns the part of the window, which ends at END, that is in range of the first MODULE_BYTES
 * from MODULES. */
static struct hv_gva_range find_landings(const struct hv_kernel_core *core, uint64_t modules,
					 uint64_t end)
{
	uint64_t start = modules + MODULE_BYTES - (REACH - CODE_LEN);
	uint64_t lowest = core->as.arch->image_window.start.v;

	if (start < lowest)
		start = lowest;
	if (end > modules + REACH - CODE_LEN)
		end = modules + REACH - CODE_LEN;
	return (struct hv_gva_range){{start}, {start < end ? end : start}};
}

struct hv_err *arm64_find_reach(const struct hv_kernel_core *core, struct hv_reach *ret)
{
	struct hv_gva_range image = core->image.all;
	uint64_t start = image.end.v - REACH, end = image.start.v + WINDOW_BYTES, lowest = start;
	struct arm64_module_areas areas;
	enum arm64_level level;
	struct hv_err *err = arm64_find_level(core, &level);

	if (!err)
		err = arm64_find_module_areas(core, &areas);
	if (err)
		return err;
	if (image.end.v - image.start.v > REACH - CODE_LEN)
		return hv_err_new(ENOTSUP, "the kernel's image is larger than the reach of a call");
	if (image.start.v - core->as.arch->image_window.start.v < NOT_MOVED) {
		end = image.start.v;
		start = areas.all < start ? areas.all : start;
		/* There is little room below the image, and its sites are all in its text. */
		lowest = core->image.text.end.v - REACH;
	}
	*ret = (struct hv_reach){
		.text_base = {areas.all - HV_TEXT_BIT},
		.free_window = {{start}, {end}},
		.code = {{lowest}, {image.start.v + REACH - CODE_LEN}},
		.code_else = {{start}, {lowest}},
		.module_areas = {{{areas.all}, {areas.all + AREA_BYTES}}},
	};
	if (areas.direct)
		ret->module_areas[1] =
			(struct hv_gva_range){{areas.direct}, {areas.direct + DIRECT_BYTES}};
	ret->landings = find_landings(core, areas.direct ? areas.direct : areas.all, end);
	return NULL;
}
