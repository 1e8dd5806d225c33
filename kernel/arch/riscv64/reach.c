/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The range of an auipc and a jalr in the kernel and its modules: 2 GiB. Modules are in the 2 GiB
 * that end with the image, from the lowest address up; BPF programs are in the last 128 MiB below
 * the image (arch/riscv/include/asm/pgtable.h: MODULES_VADDR, BPF_JIT_REGION_START). The addresses
 * between them can be called from everywhere. The addresses above the image are unused, but the
 * first modules cannot reach them. */
#include "kernel/arch/riscv64/riscv64.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)

#define PAGE_BYTES   4096u
#define MODULE_BYTES (2 * GIB) /* including the image */
#define BPF_BYTES    (128 * MIB)

/* A task interrupted between the two instructions of a site has computed an address from the old
 * first instruction and then executes the new second one, which contains the low bits of the
 * distance. Therefore all call targets of sites have the same low bits. If the kernel keeps the
 * first instruction at unused sites, they also match the kernel's own target: such a task then
 * calls ftrace_caller, which finds that nothing is traced. */
static struct hv_err *find_entry(const struct hv_kernel_core *core, struct hv_reach *ret)
{
	struct hv_gva caller;
	struct hv_err *err = hv_core_need(core, "ftrace_caller", &caller);

	if (err)
		return err;
	ret->entry_bytes = PAGE_BYTES;
	ret->entry_off = caller.v % PAGE_BYTES;
	return NULL;
}

struct hv_err *riscv64_find_reach(const struct hv_kernel_core *core, struct hv_reach *ret)
{
	struct hv_gva_range window = core->as.arch->free_window;
	struct hv_gva start, end;
	uint64_t modules, bpf;
	struct hv_err *err = hv_core_need(core, "_start", &start);

	if (!err)
		err = hv_core_need(core, "_end", &end);
	if (err)
		return err;
	modules = (end.v + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES - MODULE_BYTES;
	bpf = start.v - BPF_BYTES;
	if (modules < window.start.v || bpf < modules || end.v <= start.v || end.v > window.end.v)
		return hv_err_new(ENOTSUP, "the kernel's image is not where modules can be called");
	*ret = (struct hv_reach){
		.text_base = {modules - HV_TEXT_BIT},
		.free_window = {{modules}, window.end},
		.code = {{modules}, {bpf}},
		.code_else = {end, window.end},
		.module_areas = {{{modules}, {bpf}}},
		.kept = {{bpf}, start},
	};
	return find_entry(core, ret);
}
