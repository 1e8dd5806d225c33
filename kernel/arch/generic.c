/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/arch/generic.h"

#include "kernel/core/fields.h"

struct hv_err *hv_thread_info_percpu(const struct hv_kernel_core *core, const char *preempt_count,
				     struct hv_percpu_places *ret)
{
	uint32_t cpu, preempt;
	const struct hv_field fields[] = {
		{"thread_info.cpu", 4, &cpu},
		{preempt_count, 4, &preempt},
	};
	struct hv_err *err = hv_fields_find(core, "task_struct", fields, HV_ARRAY_LEN(fields));

	if (err)
		return err;
	*ret = (struct hv_percpu_places){
		.in_task = true,
		.cpu_number = cpu,
		.preempt_count = preempt,
	};
	return NULL;
}

#define OVERFLOW_BYTES 4096u /* OVERFLOW_STACK_SIZE */

/* irq_stack_ptr points to the start of a stack, not to its end. */
struct hv_err *hv_irq_stacks_read(const struct hv_kernel_core *core, unsigned cpu,
				  uint64_t irq_stack_bytes, struct hv_cpu_stack *ret,
				  size_t *ret_nr)
{
	struct hv_gva pointer, overflow, at;
	size_t nr = 0;
	uint64_t start = 0;
	struct hv_err *err = hv_core_need(core, "irq_stack_ptr", &pointer);

	if (!err)
		err = hv_core_percpu(core, pointer.v, cpu, &at);
	if (!err)
		err = hv_read_u64(&core->as, at, &start);
	if (!err && start)
		ret[nr++] = (struct hv_cpu_stack){
			.range = {hv_gva(start), hv_gva(start + irq_stack_bytes)},
			.kind = HV_CPU_STACK_INTERRUPT,
			.name = "irq stack",
		};
	if (!err && hv_core_symbol(core, "overflow_stack", &overflow)) {
		err = hv_core_percpu(core, overflow.v, cpu, &at);
		ret[nr++] = (struct hv_cpu_stack){
			.range = {at, hv_gva(at.v + OVERFLOW_BYTES)},
			.kind = HV_CPU_STACK_EXCEPTION,
			.name = "overflow stack",
		};
	}
	*ret_nr = nr;
	return err;
}

/* Stubs recognise a stack by the aligned block that it fills. In kernels that do not map their
 * stacks (no VMAP_STACK), interrupt stacks are arrays without that alignment. */
struct hv_err *hv_irq_stacks_find(const struct hv_kernel_core *core, uint64_t irq_stack_bytes,
				  uint64_t *ret)
{
	struct hv_gva pointer, at;
	uint64_t start = 0;
	struct hv_err *err = hv_core_need(core, "irq_stack_ptr", &pointer);

	*ret = 0;
	if (!err)
		err = hv_core_percpu(core, pointer.v, 0, &at);
	if (!err)
		err = hv_read_u64(&core->as, at, &start);
	if (!err)
		*ret = pointer.v;
	if (!err &&
	    (!irq_stack_bytes || start % irq_stack_bytes || hv_core_symbol(core, "irq_stack", &at)))
		err = hv_err_new(EOPNOTSUPP, "stacks of interrupts are not aligned to their size");
	return err;
}

#define STACK_BYTES_MAX	   (256u << 10)
#define STACK_FALLBACK	   (16u << 10)
#define MAPPED_STACK_TASKS 16

static bool is_stack_len(uint64_t len)
{
	return len >= 4096 && len <= STACK_BYTES_MAX && !(len & (len - 1));
}

/* Returns the size of the boot CPU's idle stack. */
static bool read_idle_stack(const struct hv_kernel_core *core, uint32_t *ret)
{
	static const char *const bounds[][2] = {
		{"__start_init_stack", "__end_init_stack"}, /* 6.10, 8f69cba096b5 */
		{"__start_init_task", "__end_init_task"},
	};
	struct hv_gva start, end;

	for (size_t i = 0; i < HV_ARRAY_LEN(bounds); i++) {
		if (!hv_core_symbol(core, bounds[i][0], &start) ||
		    !hv_core_symbol(core, bounds[i][1], &end) || !is_stack_len(end.v - start.v))
			continue;
		*ret = (uint32_t)(end.v - start.v);
		return true;
	}
	return false;
}

/* Checks the first tasks after init_task for a mapped stack (VMAP_STACK): the descriptor of the
 * mapping contains the number of pages. */
static bool read_mapped_stack(const struct hv_kernel_core *core, uint32_t *ret)
{
	uint32_t tasks, stack, area, addr, nr_pages;
	const struct hv_field task[] = {
		{"tasks.next", 8, &tasks}, {"stack", 8, &stack}, {"stack_vm_area", 8, &area}};
	const struct hv_field mapping[] = {{"addr", 8, &addr}, {"nr_pages", 4, &nr_pages}};
	struct hv_gva init_task, at;
	HV_AUTO_ERR struct hv_err *err =
		hv_fields_find(core, "task_struct", task, HV_ARRAY_LEN(task));

	if (!err)
		err = hv_fields_find(core, "vm_struct", mapping, HV_ARRAY_LEN(mapping));
	if (err || !hv_core_symbol(core, "init_task", &init_task))
		return false;
	at = init_task;
	for (unsigned i = 0; !err && i < MAPPED_STACK_TASKS; i++) {
		uint64_t next = 0, base = 0, of = 0, mapped = 0;
		uint32_t nr = 0;

		err = hv_read_u64(&core->as, hv_gva_add(at, tasks), &next);
		at = hv_gva(next - tasks);
		if (!err)
			err = hv_read_u64(&core->as, hv_gva_add(at, stack), &base);
		if (!err)
			err = hv_read_u64(&core->as, hv_gva_add(at, area), &of);
		if (err || !of)
			continue;
		err = hv_read_u64(&core->as, hv_gva(of + addr), &mapped);
		if (!err)
			err = hv_read_u32(&core->as, hv_gva(of + nr_pages), &nr);
		if (err || mapped != base || !is_stack_len(nr * core->as.arch->entry_span(1)))
			continue;
		*ret = (uint32_t)(nr * core->as.arch->entry_span(1));
		return true;
	}
	return false;
}

uint32_t hv_stack_bytes(const struct hv_kernel_core *core)
{
	uint32_t len;

	if (read_idle_stack(core, &len) || (core->btf && read_mapped_stack(core, &len)))
		return len;
	return STACK_FALLBACK;
}

struct hv_err *hv_stack_bytes_read(const struct hv_kernel_core *core, uint32_t *ret)
{
	struct hv_gva at;

	if (read_idle_stack(core, ret) || read_mapped_stack(core, ret))
		return NULL;
	*ret = STACK_FALLBACK;
	return core->unnamed.nr ? hv_core_need(core, "__start_init_task", &at) : NULL;
}
