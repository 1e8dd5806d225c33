/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Derives the types of the fake guest, and checks which members are known then. */
#pragma once

#include <check.h>
#include <errno.h>

#include "kernel/core/btf_members.h"
#include "tests/unit/kernel/derive/expected.h"
#include "tests/unit/kernel/derive/fake_guest.h"

#define M  HV_PROVED_BY_MEMORY
#define MM (HV_PROVED_BY_MEMORY | HV_PROVED_BY_OTHER_MEMORY)
#define C  HV_PROVED_BY_CODE
#define CC (HV_PROVED_BY_CODE | HV_PROVED_BY_OTHER_CODE)
#define I  HV_PROVED_BY_INTERFACE

static inline void derive(void)
{
	struct hv_err *err = hv_types_derive(&fk.k.core, BANNER);

	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert_int_eq(fk.k.core.types.from, HV_TYPES_DERIVED);
}

static inline void check_unknown(const char *type, const char *member)
{
	uint32_t off;
	const struct hv_field field = {member, 1, &off};
	HV_AUTO_ERR struct hv_err *err = hv_fields_find(&fk.k.core, type, &field, 1);
	HV_AUTO_FREE char *expected =
		hv_format("kernel without BTF: cannot find member %s of struct %s", member, type);

	ck_assert_msg(err, "%s of %s is known", member, type);
	ck_assert_str_eq(err->message, expected);
	ck_assert_int_eq(err->code, ENOENT);
}

static inline void check_fact(const char *type, const char *member, uint32_t off, unsigned proofs)
{
	uint32_t in_btf = 0;

	check_expected(fk.k.core.types.facts, &(struct expected){type, member, off, proofs});
	ck_assert(hv_btf_member(fk.k.core.btf, type, member, &in_btf, NULL));
	ck_assert_uint_eq(in_btf, off);
}

static inline void check_proved(const char *type, const char *member)
{
	uint32_t off;
	const struct hv_field field = {member, 1, &off};
	struct hv_err *err = hv_fields_find_proved(&fk.k.core, type, &field, 1);

	ck_assert_msg(!err, "%s", err ? err->message : "");
}

static const struct expected whole[] = {
	{"task_struct", "thread_info", 0, CC},
	{"task_struct", "stack", STACK_OFF, M | CC},
	{"task_struct", "flags", FLAGS_OFF, M | CC},
	{"task_struct", "mm", MM_OFF, M | C},
	{"task_struct", "prio", PRIO_OFF, M | C},
	{"task_struct", "static_prio", STATIC_PRIO_OFF, M | CC},
	{"task_struct", "rt_priority", RT_PRIORITY_OFF, M | HV_PROVED_BY_OTHER_MEMORY | C},
	{"task_struct", "se", SE_OFF, C},
	{"task_struct", "policy", POLICY_OFF, M | CC},
	{"task_struct", "migration_disabled", MIGRATION_OFF, CC},
	{"task_struct", "tasks", TASKS_OFF, M},
	{"task_struct", "pid", PID_OFF, M | CC},
	{"task_struct", "tgid", TGID_OFF, M | C},
	{"task_struct", "thread_node", NODE_OFF, MM},
	{"task_struct", "cred", CRED_OFF, M | CC},
	{"task_struct", "comm", COMM_OFF, M | CC},
	{"task_struct", "signal", SIGNAL_OFF, M},
	{"task_struct", "thread", SP_OFF, M | C},
	{"thread_info", "flags", 0, CC},
	{"thread_struct", "sp", 0, M | C},
	{"signal_struct", "thread_head", HEAD_OFF, M},
	{"sched_entity", "group_node", 0, C},
	{"rq", "cfs_tasks", 0xa30, C},
	{"rq", "curr", CURR_OFF, M | C},
	{"rq", "idle", IDLE_OFF, M | C},
	{"rq", "clock", CLOCK_OFF, C},
	{"cred", "uid", 8, CC},
	{"kprobe", "addr", 0x28, CC},
	{"kprobe", "flags", 0x78, C},
	{"kprobe", "hlist", 0, I},
	{"mutex", "owner", 0, C},
	{"list_head", "prev", 8, I},
	{"pcpu_hot", "current_task", 0, M | C},
	{"pcpu_hot", "preempt_count", 8, M | C},
	{"pcpu_hot", "cpu_number", 12, M | C},
	{"pcpu_hot", "hardirq_stack_ptr", 24, M},
	{"cyc2ns", "data", 0, M},
	{"cyc2ns", "seq", 32, M},
	{"cyc2ns_data", "cyc2ns_offset", 8, M},
	{"cpuinfo_x86", "x86_capability", 0x28, M},
	{"pt_regs", "ip", 128, I},
	{"kvm_steal_time", "version", 8, I},
	{"inactive_task_frame", "bp", 40, M},
	{"inactive_task_frame", "ret_addr", 48, M},
	{"cea_exception_stacks", "DF_stack", 0x1000, M},
	{"cea_exception_stacks", "NMI_stack", 0x4000, M},
	{"cea_exception_stacks", "DB_stack", 0x7000, M},
	{"cea_exception_stacks", "MCE_stack", 0xa000, M},
	{"cpu_entry_area", "entry_stack_page", 0x1000, M},
	{"cpu_entry_area", "estacks", CEA_GUARD - CEA_SP0 + 0x2000, M},
	{"exception_table_entry", "insn", 0, M},
	{"exception_table_entry", "fixup", 4, M},
	{"exception_table_entry", "data", 8, M},
	{"kprobe_blacklist_entry", "start_addr", 16, M},
	{"kprobe_blacklist_entry", "end_addr", 24, M},
	{"paravirt_patch_template", "irq", PV_IRQ_OFF + 8, M},
	{"pv_irq_ops", "irq_disable", 0, M},
};

static const struct expected of_module[] = {
	{"module", "state", 0, M | C},
	{"module", "list", LIST_OFF, MM},
	{"module", "name", NAME_OFF, M},
	{"module", "kallsyms", KALLSYMS_OFF, M},
	{"module", "refcnt", REFCNT_OFF, M | CC},
	{"mod_kallsyms", "num_symtab", 8, M},
	{"module", "arch", ARCH_OFF, M | C},
	{"mod_arch_specific", "num_orcs", 0, M},
	{"mod_arch_specific", "orc_unwind_ip", 8, M},
	{"mod_arch_specific", "orc_unwind", 16, M},
};

static inline void check_all(const struct expected *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		check_fact(list[i].type, list[i].member, list[i].off, list[i].proofs);
}
#define CHECK_ALL(list) check_all(list, HV_ARRAY_LEN(list))
