/* Offsets from BTF, symbols and the per-CPU area. */
#include "kernel/layout.h"
#include "kernel/fields.h"
#include "kernel/task_layout.h"

/* CONFIG_MAXSMP; no kernel can be built for more. */
#define NR_CPUS_MAX 8192

#define COMM_BYTES 16

/* struct pcpu_hot holds them all from 6.2 (d7b6d709a76a and others) to 6.14. */
static struct hv_err *read_pcpu_hot(const struct hv_kernel *k, struct hv_gva hot,
				    struct hv_layout *ret)
{
	uint32_t cpu, current, preempt;
	const struct hv_field fields[] = {
		{"cpu_number", 4, &cpu},
		{"current_task", 8, &current},
		{"preempt_count", 4, &preempt},
	};
	struct hv_err *err = hv_fields_find(k, "pcpu_hot", fields, HV_ARRAY_LEN(fields));

	if (err)
		return err;
	ret->cpu_number_percpu = hot.v + cpu;
	ret->current_percpu = hot.v + current;
	ret->preempt_count_percpu = hot.v + preempt;
	return NULL;
}

static struct hv_err *read_percpu(const struct hv_kernel *k, struct hv_layout *ret)
{
	struct hv_gva hot, cpu, current, preempt;
	struct hv_err *err;

	if (hv_kernel_symbol(k, "pcpu_hot", &hot))
		return read_pcpu_hot(k, hot, ret);
	err = hv_kernel_need(k, "cpu_number", &cpu);
	if (!err)
		err = hv_kernel_need(k, "current_task", &current);
	if (!err)
		err = hv_kernel_need(k, "__preempt_count", &preempt);
	if (err)
		return err;
	ret->cpu_number_percpu = cpu.v;
	ret->current_percpu = current.v;
	ret->preempt_count_percpu = preempt.v;
	return NULL;
}

static struct hv_err *read_task(const struct hv_kernel *k, struct hv_layout *ret)
{
	const struct hv_field fields[] = {
		{"pid", 4, &ret->task_pid_off},
		{"tgid", 4, &ret->task_tgid_off},
		{"comm", COMM_BYTES, &ret->task_comm_off},
		{"thread_info.flags", 4, &ret->task_flags_off},
	};

	ret->has_task_stack =
		hv_btf_member(k->btf, "task_struct", "stack", &ret->task_stack_off, NULL);
	/* All SMP kernels since 5.11 (af449901b84c); PREEMPT_RT before. */
	ret->has_migrate = hv_btf_member(k->btf, "task_struct", "migration_disabled",
					 &ret->task_migrate_off, NULL);
	return hv_fields_find(k, "task_struct", fields, HV_ARRAY_LEN(fields));
}

/* Both: what is counted and that traces show it. */
static void read_lazy(const struct hv_kernel *k, struct hv_layout *ret)
{
	uint32_t shown_off;
	struct hv_gva at;

	ret->has_lazy =
		hv_btf_member(k->btf, "trace_entry", "preempt_lazy_count", &shown_off, NULL) &&
		hv_btf_member(k->btf, "task_struct", "thread_info.preempt_lazy_count",
			      &ret->task_lazy_off, NULL);
	if (ret->has_lazy && hv_kernel_symbol(k, "resched_curr_lazy", &at))
		ret->lazy_mask = k->as.arch->find_lazy_resched(hv_image_at(&k->image, at),
							       ret->task_flags_off);
}

/* None when the code is not understood. */
static struct hv_resched_masks find_resched(const struct hv_kernel *k, bool has_lazy)
{
	static const char *const setters[] = {"__resched_curr", "resched_curr"};
	struct hv_resched_masks masks = {0};
	struct hv_gva at;
	int64_t flag;

	for (size_t i = 0; i < HV_ARRAY_LEN(setters) && !masks.need; i++)
		if (hv_kernel_symbol(k, setters[i], &at))
			masks.need = k->as.arch->find_need_resched(hv_image_at(&k->image, at));
	/* A kernel whose tracer knows the lazy flag has it right after the other, in both
	 * numberings; PREEMPT_RT's own is elsewhere. */
	if (!has_lazy && hv_btf_enumerator(k->btf, "TRACE_FLAG_NEED_RESCHED_LAZY", &flag))
		masks.lazy = (uint16_t)(masks.need << 1);
	return masks;
}

/* nr_cpu_ids is one more than the highest possible CPU. With FORCE_NR_CPUS (6.1) it is a constant
 * and no symbol: then the mask itself is looked at. */
static struct hv_err *read_nr_cpus(const struct hv_kernel *k, unsigned *ret)
{
	uint8_t mask[NR_CPUS_MAX / 8];
	struct hv_gva at;
	uint32_t nr = 0, mask_len;
	struct hv_err *err;

	if (hv_kernel_symbol(k, "nr_cpu_ids", &at)) {
		err = hv_read_u32(&k->as, at, &nr);
		if (err)
			return hv_err_in(err, "nr_cpu_ids");
	} else {
		err = hv_kernel_need(k, "__cpu_possible_mask", &at);
		if (!err && (!hv_btf_size(k->btf, "cpumask", &mask_len) || mask_len > sizeof(mask)))
			err = hv_err_new(ENOENT, "btf: no struct cpumask of at most %zu bytes",
					 sizeof(mask));
		if (!err)
			err = hv_read(&k->as, at, mask, mask_len);
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

struct hv_err *hv_layout_read(const struct hv_kernel *k, struct hv_layout *ret)
{
	struct hv_layout layout = {0};
	struct hv_err *err;

	if (!k->btf)
		return hv_err_mark(hv_err_new(ENOENT, "kernel without BTF (CONFIG_DEBUG_INFO_BTF): "
						      "structures are not known"),
				   HV_ERR_NEEDS_VMLINUX);
	err = read_percpu(k, &layout);
	if (!err)
		err = read_task(k, &layout);
	if (!err)
		err = read_nr_cpus(k, &layout.nr_cpus);
	if (err)
		return err;
	layout.stack_bytes = (uint32_t)hv_stack_bytes(k);
	layout.has_irq_stack = hv_percpu_find(k, "hardirq_stack_ptr", "hardirq_stack_ptr",
					      &layout.irq_stack_percpu);
	read_lazy(k, &layout);
	layout.resched = find_resched(k, layout.has_lazy);
	*ret = layout;
	return NULL;
}
