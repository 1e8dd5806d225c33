/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds per-CPU variables, which are separate symbols or members of struct pcpu_hot. */
#include "kernel/core/fields.h"
#include "kernel/arch/x86_64/x86_64.h"

/* struct pcpu_hot contains all of them from 6.2 (d7b6d709a76a and others) to 6.14. */
static struct hv_err *read_pcpu_hot(const struct hv_kernel_core *core, struct hv_gva hot,
				    struct hv_percpu_places *ret)
{
	uint32_t cpu, current, preempt;
	const struct hv_field fields[] = {
		{"cpu_number", 4, &cpu},
		{"current_task", 8, &current},
		{"preempt_count", 4, &preempt},
	};
	struct hv_err *err = hv_fields_find(core, "pcpu_hot", fields, HV_ARRAY_LEN(fields));

	if (err)
		return err;
	ret->cpu_number = hot.v + cpu;
	ret->current = hot.v + current;
	ret->preempt_count = hot.v + preempt;
	return NULL;
}

/* struct kvm_steal_time (arch/x86/kernel/kvm.c), written by the host. Stays 0 if the host does not
 * support it. */
static void find_steal_time(const struct hv_kernel_core *core, struct hv_percpu_places *ret)
{
	struct hv_gva at;
	uint32_t off, len, version_off, version_len;

	ret->has_steal_time =
		hv_core_symbol(core, "steal_time", &at) &&
		hv_btf_member(core->btf, "kvm_steal_time", "steal", &off, &len) &&
		len == sizeof(uint64_t) &&
		hv_btf_member(core->btf, "kvm_steal_time", "version", &version_off, &version_len) &&
		version_len == sizeof(uint32_t);
	ret->steal_time = ret->has_steal_time ? at.v + off : 0;
	ret->steal_version = ret->has_steal_time ? at.v + version_off : 0;
}

struct hv_err *x86_64_find_percpu(const struct hv_kernel_core *core, struct hv_percpu_places *ret)
{
	struct hv_gva hot, cpu, current, preempt;
	struct hv_err *err;

	find_steal_time(core, ret);
	if (hv_core_symbol(core, "pcpu_hot", &hot))
		return read_pcpu_hot(core, hot, ret);
	err = hv_core_need(core, "cpu_number", &cpu);
	if (!err)
		err = hv_core_need(core, "current_task", &current);
	if (!err)
		err = hv_core_need(core, "__preempt_count", &preempt);
	if (err)
		return err;
	ret->cpu_number = cpu.v;
	ret->current = current.v;
	ret->preempt_count = preempt.v;
	return NULL;
}

bool x86_64_percpu_variable(const struct hv_kernel_core *core, const char *symbol,
			    const char *hot_member, uint64_t *ret)
{
	struct hv_gva at;
	uint32_t off;

	if (hv_core_symbol(core, symbol, &at)) {
		*ret = at.v;
		return true;
	}
	if (!hot_member || !hv_core_symbol(core, "pcpu_hot", &at) ||
	    !hv_btf_member(core->btf, "pcpu_hot", hot_member, &off, NULL))
		return false;
	*ret = at.v + off;
	return true;
}
