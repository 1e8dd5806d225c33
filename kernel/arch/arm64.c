/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Linux on arm64: the table of its kernels. */
#include "kernel/arch/arm64.h"

#include "kernel/arch/generic.h"
#include "kernel/core/fields.h"
#include "kernel/sites/modules.h"

/* The stacks of a CPU (arch/arm64/kernel/irq.c, traps.c). The interrupt stack has the size of a
 * task's stack (include/asm/memory.h). */

struct hv_err *arm64_find_irq_stack(const struct hv_kernel_core *core, uint64_t *ret)
{
	return hv_irq_stacks_find(core, hv_stack_bytes(core), ret);
}

/* Exceptions run on the interrupted stack. The only exception with a separate stack is a stack
 * overflow, after which the kernel does not continue. */
static struct hv_err *check_exception_stacks(const struct hv_kernel_core *core)
{
	(void)core;
	return NULL;
}

struct hv_err *arm64_read_stacks(const struct hv_kernel_core *core, unsigned cpu,
				 struct hv_cpu_stack *ret, size_t *ret_nr)
{
	return hv_irq_stacks_read(core, cpu, hv_stack_bytes(core), ret, ret_nr);
}

/* Finds the areas where arm64 kernels place modules. Two variables contain them, since 6.10 in
 * arch/arm64/mm/init.c, since 6.5 in arch/arm64/kernel/module.c. Before 6.5 (3e35d303ab7d) one
 * variable does, in arch/arm64/kernel/kaslr.c. Since 6.10 (12af2b83d0b1) the kernel also stores the
 * areas in a structure that its allocator reads through a pointer. In a kernel without data symbols
 * they are read from that structure. */

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

/* Reads the struct execmem_info that the pointer at AT points to (mm/execmem.c). Returns false if
 * AT is not such a pointer. Reads the first range, which is for the text of modules: the preferred
 * area and the fallback area. */
static bool read_execmem(const struct hv_kernel_core *core, struct hv_gva at,
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
	if (!ret->all && hv_core_symbol(core, "execmem_info", &at) && read_execmem(core, at, ret))
		return NULL;
	return hv_err_new(ENOTSUP, "cannot find the addresses of this kernel's modules");
}

/* Determines the exception level in which the kernel executes. A kernel that is started in EL2
 * stays there if the CPU has VHE, unless its command line forbids it
 * (arch/arm64/kernel/hyp-stub.S), and then patches its own instructions. This code looks at those
 * instructions rather than at CPU features and the command line. */

#define CODE_BYTES 64u

/* Finds whether the kernel executes in EL2, from the register that it uses for per-CPU variables:
 * call_on_irq_stack() reads one at its start (arch/arm64/kernel/entry.S, since 5.14). */
static bool reads_by_el2(const struct hv_kernel_core *core, bool *ret)
{
	struct hv_gva at;
	struct hv_span code;

	if (!hv_core_symbol(core, "call_on_irq_stack", &at))
		return false;
	code = hv_image_part(&core->image, at, CODE_BYTES);
	return core->as.arch->classify_percpu(code, ret);
}

struct hv_err *arm64_find_level(const struct hv_kernel_core *core, enum arm64_level *ret)
{
	struct hv_gva at;
	uint32_t mode = 0;
	bool in_el2 = false;
	struct hv_err *err = hv_core_need(core, "__boot_cpu_mode", &at);

	if (!err)
		err = hv_read_u32(&core->as, at, &mode);
	if (err)
		return err;
	if (mode != ARM64_BOOTED_IN_EL1 && !reads_by_el2(core, &in_el2))
		return hv_err_new(
			ENOTSUP,
			"the kernel was started in EL2: cannot tell whether it stayed there");
	*ret = mode == ARM64_BOOTED_IN_EL1 ? ARM64_IN_EL1
	       : in_el2			   ? ARM64_IN_EL2
					   : ARM64_IN_EL1_ABOVE;
	return NULL;
}

/* The range of a `bl` in the image. The kernel places its image anywhere in vmalloc()'s address
 * range and all modules in the same 2 GiB as the image. If modules have to reach each other with
 * `bl`, it first tries 128 MiB of them (arch/arm64/kernel/module.c; before 6.5 (3e35d303ab7d)
 * arch/arm64/kernel/kaslr.c). It maps nothing else there, because vmalloc() starts at the lowest
 * address, more than 30 TiB below a relocated image. */

#define MIB (1ull << 20)
#define GIB (1ull << 30)

#define REACH	     (128 * MIB) /* range of bl */
#define CODE_LEN     (1 * MIB)	 /* trampolines and detours */
#define MODULE_BYTES (64 * MIB)	 /* more than guests load */
#define WINDOW_BYTES (1 * GIB)	 /* above the image; rings need not be in reach */

/* An image that was not relocated is at the start of vmalloc()'s range, up to 2 GiB above the start
 * of image_range. */
#define NOT_MOVED (4 * GIB)

/* Returns the part of image_range below END that a `bl` in the first MODULE_BYTES from MODULES can
 * reach. */
static struct hv_gva_range find_veneers(const struct hv_kernel_core *core, uint64_t modules,
					uint64_t end)
{
	uint64_t start = modules + MODULE_BYTES - (REACH - CODE_LEN);
	uint64_t lowest = core->as.arch->image_range.start.v;

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
	if (image.start.v - core->as.arch->image_range.start.v < NOT_MOVED) {
		end = image.start.v;
		start = areas.all < start ? areas.all : start;
		/* There is little room below the image, so use all that its text can reach. The
		 * rest of the image has no sites. */
		lowest = core->image.text.end.v - REACH;
	}
	*ret = (struct hv_reach){
		.text_base = {areas.all - HV_TEXT_BIT},
		.free_range = {{start}, {end}},
		.code = {{lowest}, {image.start.v + REACH - CODE_LEN}},
		.code_else = {{start}, {lowest}},
		.module_areas = {{{areas.all}, {areas.all + AREA_BYTES}}},
	};
	if (areas.direct)
		ret->module_areas[1] =
			(struct hv_gva_range){{areas.direct}, {areas.direct + DIRECT_BYTES}};
	ret->veneers = find_veneers(core, areas.direct ? areas.direct : areas.all, end);
	return NULL;
}

/* Private variables of arm64 kernels without data symbols. */

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
	bool fits = read_execmem(core, at, &areas);
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

/* arch/arm64/include/asm/thread_info.h. struct pvclock_vcpu_stolen_time is in memory that the guest
 * maps for each CPU; the per-CPU variable only points to it (arch/arm64/kernel/paravirt.c). */
static struct hv_err *find_percpu(const struct hv_kernel_core *core, struct hv_percpu_layout *ret)
{
	struct hv_err *err = hv_thread_info_percpu(core, "thread_info.preempt.count", ret);
	enum arm64_level level = ARM64_IN_EL1;

	if (err)
		return err;
	/* Ignores the error: arm64_find_reach() fails with it, too, so the kernel cannot be
	 * traced. */
	hv_err_free(arm64_find_level(core, &level));
	ret->by_hypervisor = level == ARM64_IN_EL2;
	ret->may_host = level != ARM64_IN_EL1;
	return NULL;
}

/* Returns whether user mode uses page tables that contain only KPTI's trampoline. Then kernel
 * mappings are not global (arch/arm64/include/asm/pgtable-prot.h, since e046eb0c9bf2, v4.16). */
static bool has_kpti(const struct hv_kernel_core *core)
{
	struct hv_gva at;
	uint8_t on = 0;

	return hv_core_symbol(core, "arm64_use_ng_mappings", &at) &&
	       hv_span_u8(hv_image_part(&core->image, at, 1), 0, &on) && on;
}

static bool jumps_bare(const struct hv_kernel_core *core)
{
	(void)core;
	return false;
}

static bool enters_elsewhere(const struct hv_kernel_core *core)
{
	(void)core;
	return true;
}

/* A kernel that was started in EL2 uses the physical counter, and so do its trampolines
 * (HV_ALT_HOST_CLOCK). All others use the virtual counter, provided that firmware set it up
 * (drivers/clocksource/arm_arch_timer.c). */
static struct hv_err *find_clock(const struct hv_kernel_core *core, struct hv_clock_source **ret)
{
	enum arm64_level level = ARM64_IN_EL1;

	hv_err_free(arm64_find_level(core, &level)); /* see find_percpu() */
	return hv_clock_data_find(core, level == ARM64_IN_EL1 ? "cntvct" : "cntpct",
				  "arch_sys_counter", ret);
}

const struct hv_kernel_arch hv_kernel_arch_arm64 = {
	.arch = &hv_arch_arm64,
	.find_percpu = find_percpu,
	.find_irq_stack = arm64_find_irq_stack,
	.check_exception_stacks = check_exception_stacks,
	.read_stacks = arm64_read_stacks,
	.enters_elsewhere = enters_elsewhere,
	.saved_sp = "thread.cpu_context.sp",
	.saved_fp = "thread.cpu_context.fp",
	.waits = 0xd503207f, /* wfi */
	.signing_key = "thread.keys_kernel.apia",
	/* arch/arm64/include/asm/scs.h, arch/arm64/kernel/irq.c */
	.shadow_stack = {"thread_info.scs_base", "thread_info.scs_sp", "irq_shadow_call_stack_ptr",
			 18},
	/* kernel_entry and kernel_exit, arch/arm64/kernel/entry.S */
	.hides_return = {"__entry_text_start", "__entry_text_end"},
	.links_by_register = true, /* call_on_irq_stack() there */
	/* TIF_SYSCALL_TRACEPOINT, arch/arm64/include/asm/thread_info.h */
	.syscall_tracepoint_bit = 10,
	.has_kpti = has_kpti,
	.jumps_bare = jumps_bare,
	.find_clock = find_clock,
	.find_reach = arm64_find_reach,
	.unnamed = arm64_unnamed,
	.nr_unnamed = ARM64_NR_UNNAMED,
};
