/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/core/btf_members.h"

#include <assert.h>
#include <string.h>

#define INIT_TASK "the guest's init_task does not show it"
#define NO_CRED	  "the guest has no symbol init_cred, or its values do not show it"
#define NO_PERCPU "the guest's per-CPU memory does not show it"
#define NEVER	  "no value in the guest's memory shows it"

static const struct hv_btf_member_row rows[] = {
	/* for all trampolines, and for lines of a trace */
	{"task_struct", "pid", "the guest has no process yet"},
	{"task_struct", "tgid", "the guest has no process yet"},
	{"task_struct", "flags", "the guest has no process yet"},
	{"task_struct", "comm", INIT_TASK},
	{"task_struct", "stack", INIT_TASK},
	{"task_struct", "thread_info.flags", INIT_TASK},
	{"task_struct", "thread_info.cpu", INIT_TASK},
	{"task_struct", "thread_info.preempt_count", INIT_TASK},
	{"task_struct", "thread_info.preempt.count", INIT_TASK},
	{"task_struct", "thread_info.preempt_lazy_count", INIT_TASK},
	{"task_struct", "static_prio", INIT_TASK},
	{"task_struct", "policy", INIT_TASK},
	{"task_struct", "rt_priority", INIT_TASK},
	{"task_struct", "migration_disabled", INIT_TASK},
	{"task_struct", "softirq_disable_cnt", INIT_TASK},
	{"task_struct", "cred", NO_CRED},
	{"cred", "uid", NO_CRED},
	{"pcpu_hot", "cpu_number", NO_PERCPU},
	{"pcpu_hot", "current_task", NO_PERCPU},
	{"pcpu_hot", "preempt_count", NO_PERCPU},
	{"kvm_steal_time", "steal", "it is not where KVM writes it"},
	{"kvm_steal_time", "version", "it is not where KVM writes it"},
	/* for the guest's own events */
	{"task_struct", "thread_info.status", INIT_TASK},
	{"task_struct", "thread_info.syscall_work", INIT_TASK},
	{"task_struct", "thread_node", NEVER},
	{"static_key", "enabled", NEVER},
	{"tracepoint", "key", NEVER},
	{"tracepoint", "funcs", NEVER},
	{"tracepoint", "iterator", NEVER},
	{"tracepoint", "static_call_key", NEVER},
	{"static_call_key", "func", NEVER},
	{"tp_probes", "probes", NEVER},
	{"tracepoint_func", "func", NEVER},
	{"tracepoint_func", "data", NEVER},
	{"tracepoint_func", "prio", NEVER},
	{"trace_event_file", "flags", NEVER},
	{"trace_event_buffer", "trace_file", NEVER},
	{"trace_event_buffer", "event", NEVER},
	{"trace_event_buffer", "entry", NEVER},
	/* for claims of modules */
	{"module", "state", NEVER},
	{"module", "list", NEVER},
	{"module", "refcnt", NEVER},
};
_Static_assert(HV_ARRAY_LEN(rows) <= HV_BTF_MEMBERS_MAX, "a bit for each row");

const struct hv_btf_member_row *hv_btf_member_row(unsigned index)
{
	return index < HV_ARRAY_LEN(rows) ? &rows[index] : NULL;
}

static unsigned find_row(const char *type, const char *member)
{
	unsigned i = 0;

	while (i < HV_ARRAY_LEN(rows) &&
	       (strcmp(rows[i].type, type) != 0 || strcmp(rows[i].member, member) != 0))
		i++;
	assert(i < HV_ARRAY_LEN(rows));
	return i;
}

uint64_t hv_btf_member_bit(const char *type, const char *member)
{
	return UINT64_C(1) << find_row(type, member);
}

uint64_t hv_btf_members_never_proved(void)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < HV_ARRAY_LEN(rows); i++)
		if (!strcmp(rows[i].lacks, NEVER))
			bits |= UINT64_C(1) << i;
	return bits;
}

struct hv_err *hv_btf_need_proof(const struct hv_kernel_core *core, const char *type,
				 const char *member)
{
	unsigned row = find_row(type, member);

	if (!(core->types.unproved >> row & 1))
		return NULL;
	if (core->types.from == HV_TYPES_DERIVED)
		return hv_err_mark(hv_err_new(ENOTSUP,
					      "kernel without BTF: the offset of %s in struct %s "
					      "has only one proof",
					      member, type),
				   HV_ERR_NEEDS_BTF);
	return hv_err_new(ENOTSUP,
			  "%s of struct %s in the BTF file %s is not proved to be the guest's: %s",
			  member, type, core->types.path ? core->types.path : "", rows[row].lacks);
}

struct hv_err *hv_fields_find_proved(const struct hv_kernel_core *core, const char *type,
				     const struct hv_field *fields, size_t nr)
{
	struct hv_err *err = hv_fields_find(core, type, fields, nr);

	for (size_t i = 0; !err && i < nr; i++)
		err = hv_btf_need_proof(core, type, fields[i].path);
	return err;
}

struct hv_err *hv_member_find_proved(const struct hv_kernel_core *core, const char *type,
				     const char *member, uint32_t *ret_off, bool *ret_exists)
{
	*ret_exists = hv_btf_member(core->btf, type, member, ret_off, NULL);
	return *ret_exists ? hv_btf_need_proof(core, type, member) : NULL;
}
