/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/derive/derive.h"

#include <string.h>

#include "arch/arch.h"
#include "base/cancel.h"
#include "kernel/core/btf_members.h"
#include "kernel/derive/clock_members.h"
#include "kernel/derive/event_members.h"
#include "kernel/derive/jump_members.h"
#include "kernel/derive/members.h"
#include "kernel/derive/module_members.h"
#include "kernel/derive/print_members.h"
#include "kernel/derive/queue_members.h"
#include "kernel/derive/table_members.h"
#include "kernel/derive/task_members.h"
#include "kernel/derive/tracepoint_members.h"
#include "kernel/derive/x86_64_members.h"

#define USE(kind) (1u << HV_MEMBER_##kind)

static const struct hv_member of_kprobe[] = {
	{"addr", 8, NULL, NULL,
	 .code = {{"arch_arm_kprobe", 0, USE(READ), 8}, {"arch_disarm_kprobe", 0, USE(READ), 8}}},
	{"flags", 4, NULL, NULL, .code = {{"register_kprobe", 0, USE(WRITE), 4, 1}}},
};

static const struct hv_member of_mutex[] = {
	{"owner", 8, NULL, NULL,
	 .code = {{"mutex_is_locked", 0, USE(READ), 8},
		  {"mutex_lock", 0, USE(WRITE), 8},
		  {"mutex_unlock", 0, USE(WRITE), 8}}},
};

/* Members whose offsets are the same in every kernel. */
static const struct hv_fact known[] = {
	{"list_head", "next", 0, 8, NULL, HV_PROVED_BY_INTERFACE},
	{"list_head", "prev", 8, 8, NULL, HV_PROVED_BY_INTERFACE},
	{"hlist_node", "next", 0, 8, NULL, HV_PROVED_BY_INTERFACE},
	{"kprobe", "hlist", 0, 8, "hlist_node", HV_PROVED_BY_INTERFACE},
};

static void add_known(struct hv_deriving *d)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(known); i++)
		hv_facts_add(&d->facts, &known[i]);
}

/* Returns the members that are written or loaded but have less than two proofs: a bit for each row
 * of btf_members.h. */
static uint64_t find_unproved(const struct hv_facts *facts)
{
	const struct hv_btf_member_row *row;
	uint64_t unproved = 0;

	for (unsigned i = 0; (row = hv_btf_member_row(i)); i++) {
		const char *dot = strchr(row->member, '.');
		const struct hv_fact *f = dot ? hv_facts_find(facts, "thread_info", dot + 1)
					      : hv_facts_find(facts, row->type, row->member);

		if (f &&
		    (!(f->proofs & HV_PROVED_BY_INTERFACE) && __builtin_popcount(f->proofs) < 2))
			unproved |= UINT64_C(1) << i;
	}
	return unproved;
}

static const struct by_arch {
	const char *name;
	void (*first)(struct hv_deriving *d);
	void (*stacks)(struct hv_deriving *d);
} by_arch[] = {
	{"x86_64", hv_x86_64_first_derive, hv_x86_64_stacks_derive},
};

static const struct by_arch *find_arch(const struct hv_arch *arch)
{
	for (size_t i = 0; arch->follow_members && i < HV_ARRAY_LEN(by_arch); i++)
		if (!strcmp(by_arch[i].name, arch->name))
			return &by_arch[i];
	return NULL;
}

static struct hv_err *refuse(const struct hv_kernel_core *core, const char *version)
{
	if (!find_arch(core->as.arch))
		return hv_err_new(ENOTSUP, "structures cannot be derived on %s",
				  core->as.arch->name);
	/* A trace line of these kernels shows counts whose members are not derived. */
	if (strstr(version, " PREEMPT_RT ") || strstr(version, " PREEMPT RT "))
		return hv_err_new(ENOTSUP, "structures of PREEMPT_RT kernels cannot be derived");
	return NULL;
}

/* Derivation fails if one of these members is unknown. */
static const struct {
	const char *type, *member;
	const char *of_kernels_with; /* needed only if the kernel has this symbol; NULL: always */
} needed[] = {
	{"task_struct", "comm", NULL},
	{"task_struct", "pid", NULL},
	{"task_struct", "tgid", NULL},
	{"task_struct", "flags", NULL},
	{"task_struct", "stack", NULL},
	{"task_struct", "thread_info", NULL},
	{"task_struct", "mm", NULL}, /* unknown while the kernel starts */
	/* needed at detach, which reads all stacks */
	{"task_struct", "tasks", NULL},
	{"task_struct", "signal", NULL},
	{"task_struct", "thread_node", NULL},
	{"signal_struct", "thread_head", NULL},
	{"task_struct", "thread", NULL},
	{"task_struct", "se", "runqueues"},
	{"rq", "cfs_tasks", "runqueues"},
	{"pcpu_hot", "hardirq_stack_ptr", "pcpu_hot"},
	{"cpuinfo_x86", "x86_capability", "boot_cpu_data"},
	{"cea_exception_stacks", "MCE_stack", "cea_exception_stacks"},
	{"cpu_entry_area", "estacks", "cea_exception_stacks"},
};

static struct hv_err *check_needed(const struct hv_kernel_core *core, const struct hv_facts *facts)
{
	struct hv_gva at;

	for (size_t i = 0; i < HV_ARRAY_LEN(needed); i++)
		if (!hv_facts_find(facts, needed[i].type, needed[i].member) &&
		    (!needed[i].of_kernels_with ||
		     hv_core_symbol(core, needed[i].of_kernels_with, &at)))
			return hv_err_new(ENOENT,
					  "the guest's code and memory do not show where %s of "
					  "struct %s is",
					  needed[i].member, needed[i].type);
	return NULL;
}

static struct hv_err *check_line(const struct hv_deriving *d)
{
	static const struct hv_code_rule context = {"tracing_gen_ctx_irq_test", HV_CODE_CURRENT};
	struct hv_code_offs offs;

	/* For a trace line the guest's tracer reads the thread flags and, in some kernels,
	 * migration_disabled of the current task. If it uses more members, hvtrace's lines would
	 * differ from the guest's. */
	hv_code_offs_find(d->core, &d->current, &context, 0, &offs);
	if (offs.nr > 2 ||
	    (offs.nr == 2 && !hv_facts_find(&d->facts, "task_struct", "migration_disabled")))
		return hv_err_new(ENOENT, "code does not show which members of struct task_struct "
					  "a trace line contains");
	return NULL;
}

/* Uses FACTS as the kernel's types. Takes ownership of them. */
static struct hv_err *use(struct hv_kernel_core *core, struct hv_facts *facts)
{
	struct hv_err *err = hv_facts_to_btf(facts, &core->btf);

	if (err) {
		hv_facts_deinit(facts);
		return err;
	}
	core->types.from = HV_TYPES_DERIVED;
	core->types.unproved = find_unproved(facts);
	core->types.facts = hv_alloc(sizeof(*core->types.facts));
	*core->types.facts = *facts;
	return NULL;
}

struct hv_err *hv_types_derive(struct hv_kernel_core *core, const char *version)
{
	hv_cleanup(hv_samples_deinit) struct hv_samples samples = {0};
	struct hv_deriving d = {.core = core, .samples = &samples};
	const struct by_arch *arch = find_arch(core->as.arch);
	struct hv_err *err = refuse(core, version);

	if (!err)
		err = hv_samples_read(core, &samples);
	if (err)
		return err;
	add_known(&d);
	arch->first(&d);
	hv_task_members_derive(&d);
	hv_queue_members_derive(&d);
	arch->stacks(&d);
	hv_members_derive(&d, "kprobe", of_kprobe, HV_ARRAY_LEN(of_kprobe), NULL, 0);
	hv_members_derive(&d, "mutex", of_mutex, HV_ARRAY_LEN(of_mutex), NULL, 0);
	hv_module_members_derive(&d);
	hv_table_members_derive(&d);
	hv_clock_members_derive(&d);
	hv_event_members_derive(&d);
	hv_print_members_derive(&d);
	hv_tracepoint_members_derive(&d);
	err = hv_cancel_check();
	if (!err)
		err = check_needed(core, &d.facts);
	if (!err)
		err = check_line(&d);
	if (!err)
		return use(core, &d.facts);
	hv_facts_deinit(&d.facts);
	return err;
}

struct hv_err *hv_types_use(struct hv_kernel_core *core, struct hv_facts *facts)
{
	struct hv_err *err = check_needed(core, facts);

	if (!err)
		return use(core, facts);
	hv_facts_deinit(facts);
	return err;
}

struct hv_err *hv_types_derive_rest(struct hv_kernel_core *core)
{
	struct hv_deriving d = {.core = core};
	struct hv_btf *whole;
	struct hv_err *err;
	size_t nr, nr_numbers;

	if (core->types.from != HV_TYPES_DERIVED ||
	    hv_facts_find(core->types.facts, "module", "list"))
		return NULL;
	d.facts = *core->types.facts;
	nr = d.facts.nr;
	nr_numbers = d.facts.nr_numbers;
	hv_module_members_derive(&d);
	if (hv_facts_find(&d.facts, "module", "list"))
		hv_jump_modules_derive(&d);
	*core->types.facts = d.facts;
	if (d.facts.nr == nr)
		return NULL;
	err = hv_facts_to_btf(&d.facts, &whole);
	if (err) {
		hv_facts_shorten(core->types.facts, nr, nr_numbers);
		return err;
	}
	core->types.replaced = core->btf;
	core->btf = whole;
	core->types.unproved = find_unproved(&d.facts);
	return NULL;
}
