/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stacks of a CPU: one for interrupts, one for each exception with a separate stack, and one
 * for the entry from user mode. struct cea_exception_stacks contains the exception stacks, each
 * after a guard page. That struct and the entry stack are in the CPU's struct cpu_entry_area
 * (arch/x86/include/asm/cpu_entry_area.h). */
#include "kernel/arch/x86_64/x86_64.h"

#define IRQ_STACK_BYTES (16u << 10)
#define PAGE_BYTES	4096u

/* Reads a per-CPU pointer; 0 if unset. */
static struct hv_err *read_pointer(const struct hv_kernel_core *core, uint64_t percpu, unsigned cpu,
				   uint64_t *ret)
{
	struct hv_gva at;
	struct hv_err *err = hv_core_percpu(core, percpu, cpu, &at);

	return err ? err : hv_read_u64(&core->as, at, ret);
}

/* The pointer points to the end of the stack, or since 5.12 (951c2a51ae75) to its last word, which
 * links to the previous stack (arch/x86/include/asm/irq_stack.h). A stack consists of whole pages,
 * so either pointer rounded up is the end. */
static bool irq_stack_pointer(const struct hv_kernel_core *core, uint64_t *ret)
{
	return x86_64_percpu_variable(core, "hardirq_stack_ptr", "hardirq_stack_ptr", ret);
}

struct hv_err *x86_64_find_irq_stack(const struct hv_kernel_core *core, uint64_t *ret)
{
	if (irq_stack_pointer(core, ret))
		return NULL;
	return hv_err_new(EOPNOTSUPP, "no symbol hardirq_stack_ptr: stacks of interrupts cannot be"
				      " recognised");
}

struct hv_err *x86_64_check_exception_stacks(const struct hv_kernel_core *core)
{
	uint64_t percpu, stacks = 0;
	struct hv_err *err;

	if (!x86_64_percpu_variable(core, "cea_exception_stacks", NULL, &percpu))
		return hv_err_new(EOPNOTSUPP, "no symbol cea_exception_stacks: stacks of exceptions"
					      " cannot be recognised");
	err = read_pointer(core, percpu, 0, &stacks);
	if (!err && !hv_gva_in(hv_gva(stacks), core->as.arch->exception_stacks))
		err = hv_err_new(
			EOPNOTSUPP,
			"stacks of exceptions are at 0x%llx, where stubs do not expect them",
			(unsigned long long)stacks);
	return err;
}

static struct hv_err *read_irq_stack(const struct hv_kernel_core *core, unsigned cpu,
				     struct hv_cpu_stack *list, size_t *nr)
{
	uint64_t percpu, end = 0;
	uint32_t len = IRQ_STACK_BYTES;
	struct hv_err *err;

	if (!irq_stack_pointer(core, &percpu))
		return NULL;
	hv_btf_size(core->btf, "irq_stack", &len);
	err = read_pointer(core, percpu, cpu, &end);
	end = (end + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
	if (!err && end > len)
		list[(*nr)++] = (struct hv_cpu_stack){
			.range = {hv_gva(end - len), hv_gva(end)},
			.kind = HV_CPU_STACK_INTERRUPT,
			.name = "irq stack",
		};
	return err;
}

static struct hv_cpu_stack exception_stack(uint64_t at, uint32_t len, const char *name)
{
	return (struct hv_cpu_stack){
		.range = {hv_gva(at), hv_gva(at + len)},
		.kind = HV_CPU_STACK_EXCEPTION,
		.name = name,
	};
}

static const char *const exceptions[][2] = {
	{"DF_stack", "double fault stack"}, {"NMI_stack", "NMI stack"},
	{"DB_stack", "debug stack"},	    {"MCE_stack", "machine check stack"},
	{"VC_stack", "VC stack"},	    {"VC2_stack", "VC2 stack"},
};
_Static_assert(1 + HV_ARRAY_LEN(exceptions) + 1 <= HV_CPU_STACKS_MAX,
	       "interrupts, exceptions, entry");

static struct hv_err *read_exception_stacks(const struct hv_kernel_core *core, unsigned cpu,
					    struct hv_cpu_stack *list, size_t *nr)
{
	uint32_t off, len, area;
	uint64_t percpu, at = 0;
	struct hv_err *err;

	if (!x86_64_percpu_variable(core, "cea_exception_stacks", NULL, &percpu))
		return NULL;
	err = read_pointer(core, percpu, cpu, &at);
	if (err || !at)
		return err;
	for (size_t i = 0; i < HV_ARRAY_LEN(exceptions); i++)
		if (hv_btf_member(core->btf, "cea_exception_stacks", exceptions[i][0], &off, &len))
			list[(*nr)++] = exception_stack(at + off, len, exceptions[i][1]);
	if (hv_btf_member(core->btf, "cpu_entry_area", "estacks", &area, NULL) &&
	    hv_btf_member(core->btf, "cpu_entry_area", "entry_stack_page", &off, &len))
		list[(*nr)++] = exception_stack(at - area + off, len, "entry stack");
	return NULL;
}

struct hv_err *x86_64_read_stacks(const struct hv_kernel_core *core, unsigned cpu,
				  struct hv_cpu_stack *ret, size_t *ret_nr)
{
	size_t nr = 0;
	struct hv_err *err = read_irq_stack(core, cpu, ret, &nr);

	if (!err)
		err = read_exception_stacks(core, cpu, ret, &nr);
	*ret_nr = nr;
	return err;
}
