/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/layout.h"

#include "kernel/core/btf_members.h"
#include "kernel/core/function_code.h"
#include "kernel/arch/generic.h"
#include "kernel/arch/kernel_arch.h"

/* CONFIG_MAXSMP; the limit of all kernels. */
#define NR_CPUS_MAX 8192

#define COMM_BYTES 16

static struct hv_err *read_task(const struct hv_kernel_core *core, struct hv_layout *ret)
{
	const struct hv_field fields[] = {
		{"pid", 4, &ret->task_pid_off},
		{"tgid", 4, &ret->task_tgid_off},
		{"comm", COMM_BYTES, &ret->task_comm_off},
		{"thread_info.flags", 4, &ret->task_flags_off},
		{"flags", 4, &ret->task_pf_off},
	};

	struct hv_err *err = hv_member_find_proved(core, "task_struct", "stack",
						   &ret->task_stack_off, &ret->has_task_stack);

	/* All SMP kernels have migration_disabled since 5.11 (af449901b84c); PREEMPT_RT had it
	 * before. */
	if (!err)
		err = hv_member_find_proved(core, "task_struct", "migration_disabled",
					    &ret->task_migrate_off, &ret->has_migrate);
	if (!err)
		err = hv_fields_find_proved(core, "task_struct", fields, HV_ARRAY_LEN(fields));
	return err;
}

static bool read_task_line(const struct hv_kernel_core *core, struct hv_layout *ret)
{
	const struct hv_field task[] = {{"static_prio", 4, &ret->task_prio_off},
					{"policy", 4, &ret->task_policy_off},
					{"rt_priority", 4, &ret->task_rt_prio_off},
					{"cred", 8, &ret->task_cred_off}};
	const struct hv_field cred[] = {{"uid", 4, &ret->cred_uid_off}};
	HV_AUTO_ERR struct hv_err *err =
		hv_fields_find_proved(core, "task_struct", task, HV_ARRAY_LEN(task));

	if (!err)
		err = hv_fields_find_proved(core, "cred", cred, HV_ARRAY_LEN(cred));
	return !err;
}

/* Requires both the count in the task and a field for it in trace events. */
static struct hv_err *read_lazy(const struct hv_kernel_core *core, struct hv_layout *ret)
{
	uint32_t shown_off;
	struct hv_gva at;
	struct hv_err *err = NULL;

	if (hv_btf_member(core->btf, "trace_entry", "preempt_lazy_count", &shown_off, NULL))
		err = hv_member_find_proved(core, "task_struct", "thread_info.preempt_lazy_count",
					    &ret->task_lazy_off, &ret->has_lazy);
	if (!err && ret->has_lazy && core->as.arch->find_lazy_resched &&
	    hv_core_symbol(core, "resched_curr_lazy", &at))
		ret->lazy_mask = core->as.arch->find_lazy_resched(hv_image_at(&core->image, at),
								  ret->task_flags_off);
	return err;
}

/* Kernels with the function named here compute the flags of a trace line from the task's count;
 * older kernels (5.10) use only the preempt count. */
static struct hv_err *read_softirqs(const struct hv_kernel_core *core, struct hv_layout *ret)
{
	struct hv_gva at;

	if (!hv_core_symbol(core, "tracing_gen_ctx_irq_test", &at))
		return NULL;
	return hv_member_find_proved(core, "task_struct", "softirq_disable_cnt",
				     &ret->task_softirqs_off, &ret->has_task_softirqs);
}

/* The masks are 0 if the code cannot be decoded. */
static struct hv_context_bits find_resched(const struct hv_kernel_core *core, bool has_lazy)
{
	static const char *const setters[] = {"__resched_curr", "resched_curr"};
	struct hv_context_bits masks = {0};
	struct hv_gva at;
	int64_t flag;

	if (!core->as.arch->find_need_resched)
		return masks;
	for (size_t i = 0; i < HV_ARRAY_LEN(setters) && !masks.need; i++)
		if (hv_core_symbol(core, setters[i], &at))
			masks.need =
				core->as.arch->find_need_resched(hv_image_at(&core->image, at));
	/* If the kernel's tracer supports the lazy flag, it is the bit above need_resched, in the
	 * older and in the generic numbering of thread flags. PREEMPT_RT's own flag is
	 * elsewhere. */
	if (!has_lazy && hv_btf_enumerator(core->btf, "TRACE_FLAG_NEED_RESCHED_LAZY", &flag))
		masks.lazy = (uint16_t)(masks.need << 1);
	return masks;
}

/* nr_cpu_ids is the highest possible CPU plus 1. With FORCE_NR_CPUS (6.1) it is a constant without
 * a symbol: then the mask of possible CPUs determines the number. */
static struct hv_err *read_nr_cpus(const struct hv_kernel_core *core, unsigned *ret)
{
	uint8_t mask[NR_CPUS_MAX / 8];
	struct hv_gva at;
	uint32_t nr = 0, mask_len;
	struct hv_err *err;

	if (hv_core_symbol(core, "nr_cpu_ids", &at)) {
		err = hv_read_u32(&core->as, at, &nr);
		if (err)
			return hv_err_in(err, "nr_cpu_ids");
	} else {
		err = hv_core_need(core, "__cpu_possible_mask", &at);
		if (!err &&
		    (!hv_btf_size(core->btf, "cpumask", &mask_len) || mask_len > sizeof(mask)))
			err = hv_err_new(ENOENT, "BTF: no struct cpumask of at most %zu bytes",
					 sizeof(mask));
		if (!err)
			err = hv_read(&core->as, at, mask, mask_len);
		if (err)
			return err;
		for (uint32_t cpu = 0; cpu < mask_len * 8; cpu++)
			if (mask[cpu / 8] & 1u << cpu % 8)
				nr = cpu + 1;
	}
	if (nr == 0 || nr > NR_CPUS_MAX)
		return hv_err_new(EINVAL, "nr_cpu_ids is %u, not 1..%u", nr, NR_CPUS_MAX);
	*ret = nr;
	return NULL;
}

static struct hv_err *no_types(const struct hv_kernel_core *core)
{
	struct hv_err *err = hv_err_new(ENOENT, "kernel without BTF (CONFIG_DEBUG_INFO_BTF): "
						"cannot find its structures");

	if (core->no_types)
		err = hv_err_add(err, "; %s", core->no_types->message);
	return hv_err_mark(err, HV_ERR_NEEDS_BTF);
}

struct hv_err *hv_layout_read(const struct hv_kernel_core *core, struct hv_layout *ret)
{
	const struct hv_kernel_arch *arch = hv_kernel_arch_of(core);
	struct hv_percpu_layout percpu = {0};
	struct hv_layout layout = {0};
	struct hv_err *err;

	if (!core->btf)
		return no_types(core);
	err = arch->find_percpu(core, &percpu);
	if (!err)
		err = read_task(core, &layout);
	if (!err)
		err = read_nr_cpus(core, &layout.nr_cpus);
	if (!err)
		err = hv_stack_bytes_read(core, &layout.stack_bytes);
	if (!err)
		err = read_lazy(core, &layout);
	if (!err)
		err = read_softirqs(core, &layout);
	if (err)
		return err;
	layout.in_task = percpu.in_task;
	layout.cpu_number_percpu = percpu.cpu_number;
	layout.current_percpu = percpu.current;
	layout.preempt_count_percpu = percpu.preempt_count;
	layout.steal_time_percpu = percpu.steal_time;
	layout.steal_version_percpu = percpu.steal_version;
	layout.has_steal_time = percpu.has_steal_time;
	layout.by_hypervisor = percpu.by_hypervisor;
	layout.may_host = percpu.may_host;
	hv_err_free(arch->find_irq_stack(core, &layout.irq_stack_percpu));
	layout.has_task_line = read_task_line(core, &layout);
	layout.context_bits = find_resched(core, layout.has_lazy);
	layout.context_bits.count_shift = hv_preempt_count_shift(core, percpu.preempt_count);
	layout.has_wide_count = hv_preempt_count_is_wide(core, percpu.preempt_count);
	*ret = layout;
	return NULL;
}
