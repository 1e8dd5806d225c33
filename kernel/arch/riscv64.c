/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Linux on riscv64: the table of its kernels. */
#include "kernel/arch/kernel_arch.h"

#include "kernel/arch/generic.h"

/* The range of an auipc and a jalr in the kernel and its modules: 2 GiB. Modules are in the 2 GiB
 * that end with the image, from the lowest address up; BPF programs are in the last 128 MiB below
 * the image (arch/riscv/include/asm/pgtable.h: MODULES_VADDR, BPF_JIT_REGION_START). The addresses
 * between them can be called from everywhere. The addresses above the image are unused, but the
 * first modules cannot reach them. */

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

static struct hv_err *find_reach(const struct hv_kernel_core *core, struct hv_reach *ret)
{
	struct hv_gva_range range = core->as.arch->free_range;
	struct hv_gva start, end;
	uint64_t modules, bpf;
	struct hv_err *err = hv_core_need(core, "_start", &start);

	if (!err)
		err = hv_core_need(core, "_end", &end);
	if (err)
		return err;
	modules = (end.v + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES - MODULE_BYTES;
	bpf = start.v - BPF_BYTES;
	if (modules < range.start.v || bpf < modules || end.v <= start.v || end.v > range.end.v)
		return hv_err_new(ENOTSUP, "the kernel's image is not where modules can be called");
	*ret = (struct hv_reach){
		.text_base = {modules - HV_TEXT_BIT},
		.free_range = {{modules}, range.end},
		.code = {{modules}, {bpf}},
		.code_else = {end, range.end},
		.module_areas = {{{modules}, {bpf}}},
		.kept = {{bpf}, start},
	};
	return find_entry(core, ret);
}

/* arch/riscv/include/asm/thread_info.h */
static struct hv_err *find_percpu(const struct hv_kernel_core *core, struct hv_percpu_layout *ret)
{
	return hv_thread_info_percpu(core, "thread_info.preempt_count", ret);
}

static struct hv_err *find_irq_stack(const struct hv_kernel_core *core, uint64_t *ret)
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

/* arch/riscv/kernel/irq.c, traps.c. All stacks except the overflow stack have THREAD_SIZE. */
static struct hv_err *read_stacks(const struct hv_kernel_core *core, unsigned cpu,
				  struct hv_cpu_stack *ret, size_t *ret_nr)
{
	return hv_irq_stacks_read(core, cpu, hv_stack_bytes(core), ret, ret_nr);
}

/* User mode uses the kernel's page tables. */
static bool has_kpti(const struct hv_kernel_core *core)
{
	(void)core;
	return false;
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

/* drivers/clocksource/timer-riscv.c: the CSR time. */
static struct hv_err *find_clock(const struct hv_kernel_core *core, struct hv_clock_source **ret)
{
	return hv_clock_data_find(core, "riscv_sched_clock", "riscv_clocksource", ret);
}

const struct hv_kernel_arch hv_kernel_arch_riscv64 = {
	.arch = &hv_arch_riscv64,
	.find_percpu = find_percpu,
	.find_irq_stack = find_irq_stack,
	.check_exception_stacks = check_exception_stacks,
	.read_stacks = read_stacks,
	.enters_elsewhere = enters_elsewhere,
	.saved_sp = "thread.sp",
	.frame_chain = {"thread.s", "s0", {"epc", "ra", "t0"}},
	.waits = 0x10500073, /* wfi */
	.shadow_stack = {.start = "thread_info.scs_base"},
	/* arch/riscv/kernel/entry.S */
	.hides_return = {"handle_exception", "ret_from_exception_end"},
	.links_by_register = true, /* call_on_irq_stack() there */
	/* TIF_SYSCALL_TRACEPOINT, arch/riscv/include/asm/thread_info.h, before 6.5 */
	.syscall_tracepoint_bit = 6,
	.has_kpti = has_kpti,
	.jumps_bare = jumps_bare,
	.find_clock = find_clock,
	.find_reach = find_reach,
};
