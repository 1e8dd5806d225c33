/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/events/syscall_work.h"

#include "kernel/core/fields.h"
#include "kernel/kernel.h"
#include "kernel/arch/kernel_arch.h"

/* Since 5.11 the flag is in thread_info.syscall_work on every architecture with the generic entry
 * code (3136b93c3fb2), and its number is an enumerator. Before, it is one of the architecture's
 * thread flags. */
static struct hv_err *find_flag(const struct hv_kernel_core *core, struct hv_syscall_work *w)
{
	const struct hv_field flags[] = {{"thread_info.flags", 4, &w->flag_off}};
	int64_t bit = hv_kernel_arch_of(core)->syscall_tracepoint_bit;
	struct hv_err *err = NULL;

	if (!hv_btf_member(core->btf, "task_struct", "thread_info.syscall_work", &w->flag_off,
			   NULL))
		err = hv_fields_find(core, "task_struct", flags, HV_ARRAY_LEN(flags));
	else if (!hv_btf_enumerator(core->btf, "SYSCALL_WORK_BIT_SYSCALL_TRACEPOINT", &bit))
		err = hv_err_new(ENOENT, "btf: no enumerator SYSCALL_WORK_BIT_SYSCALL_TRACEPOINT");
	if (!err && (bit < 0 || bit > 31))
		err = hv_err_new(ENOENT, "the flag of tasks for system calls is not known");
	if (err)
		return err;
	w->flag_off += (uint32_t)bit / 8;
	w->flag = (uint8_t)(1u << bit % 8);
	return NULL;
}

struct hv_err *hv_syscall_work_find(const struct hv_kernel *k, struct hv_syscall_work *ret)
{
	struct hv_syscall_work w = {0};
	const struct hv_kernel_core *core = &k->core;
	const struct hv_field task[] = {{"thread_node", 16, &w.node_off}};
	const struct hv_field node[] = {{"next", 8, &w.next_off}, {"prev", 8, &w.prev_off}};
	struct hv_err *err = hv_core_need(core, "syscall_regfunc", &w.reg);

	if (!err)
		err = hv_core_need(core, "syscall_unregfunc", &w.unreg);
	if (!err)
		err = hv_core_need(core, "sys_tracepoint_refcount", &w.count);
	if (!err)
		err = hv_core_need(core, "__tracepoint_sys_enter", &w.tracepoints[0]);
	if (!err)
		err = hv_core_need(core, "__tracepoint_sys_exit", &w.tracepoints[1]);
	if (!err)
		err = hv_fields_find(core, "task_struct", task, HV_ARRAY_LEN(task));
	if (!err)
		err = hv_fields_find(core, "list_head", node, HV_ARRAY_LEN(node));
	if (!err)
		err = find_flag(core, &w);
	if (!err)
		*ret = w;
	return err;
}
