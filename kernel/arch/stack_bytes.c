/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/arch/stack_bytes.h"

#include "kernel/core/fields.h"

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
