/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/core/btf_proof.h"

#include <string.h>

#include "kernel/types/btf.h"
#include "base/cancel.h"

#define PERCPU		".data..percpu"
#define PERCPU_MAX	65536u
#define ALIASES_MAX	64u /* symbols at one address */
#define FUNCTIONS_MIN	1000u
#define SIZES_MIN	8u
#define VALUES_MIN	8u
#define SLACK_BYTES	64u /* padding between variables: a cache line */
#define STACK_END_MAGIC 0x57ac6e9du
#define PF_KTHREAD	0x00200000u

static struct hv_err *too_few(const char *what, unsigned nr, unsigned min)
{
	return hv_err_new(EINVAL, "only %u %s can be compared, and %u are needed", nr, what, min);
}

/* Per-CPU variables. */

/* Returns whether a symbol NAME is at AT. Static variables can share a name. */
static bool is_named(const struct hv_symbols *s, const char *name, uint64_t at)
{
	const struct hv_symbol *found = hv_symbols_at(s, hv_gva(at));

	for (unsigned i = 0; i < ALIASES_MAX; i++, found++) {
		if (!found || found == s->by_addr + s->nr || found->addr.v != at)
			return false;
		if (strcmp(found->name, name) == 0)
			return true;
	}
	return false;
}

static struct hv_err *prove_percpu(const struct hv_kernel_core *core, const struct hv_btf *btf,
				   unsigned *ret_nr)
{
	const uint32_t section = hv_btf_section(btf, PERCPU);
	struct hv_gva start, at;
	const char *name;
	unsigned nr = 0;
	uint32_t off;

	if (!hv_core_symbol(core, "__per_cpu_start", &start))
		return hv_err_new(EINVAL, "the guest has no symbol __per_cpu_start to compare");
	for (uint32_t i = 0; i < PERCPU_MAX && hv_btf_variable(btf, section, i, &name, &off); i++) {
		if (is_named(&core->symbols, name, start.v + off)) {
			nr++;
			continue;
		}
		if (!hv_symbols_find(&core->symbols, name, &at))
			return hv_err_new(EINVAL, "the guest has no per-CPU variable %.64s", name);
		return hv_err_new(
			EINVAL,
			"the per-CPU variable %.64s is at offset 0x%x in the file and at 0x%llx in "
			"the guest",
			name, off, (unsigned long long)(at.v - start.v));
	}
	*ret_nr = nr;
	return NULL;
}

/* Functions. */

/* Collects the names of copies of functions without the suffix that the compiler appended
 * (".isra.0", ".constprop.0"), because BTF has the function's name. */
static void find_copies(const struct hv_symbols *s, struct hv_symbols *ret)
{
	size_t nr = 0, len_bytes = 0;
	char *names;

	for (size_t i = 0; i < s->nr; i++) {
		const char *dot = strchr(s->by_addr[i].name, '.');

		nr += dot != NULL;
		len_bytes += dot ? (size_t)(dot - s->by_addr[i].name) + 1 : 0;
	}
	ret->names = names = hv_alloc(len_bytes);
	ret->by_addr = hv_alloc(nr * sizeof(*ret->by_addr));
	for (size_t i = 0; i < s->nr; i++) {
		const struct hv_symbol *from = &s->by_addr[i];
		const char *dot = strchr(from->name, '.');

		if (!dot)
			continue;
		memcpy(names, from->name, (size_t)(dot - from->name)); /* a NUL follows */
		ret->by_addr[ret->nr++] = (struct hv_symbol){from->addr, names, from->type};
		names += dot - from->name + 1;
	}
	hv_symbols_index(ret);
}

/* In kernels since 7.0, resolve_btfids adds a function NAME_impl to the BTF for each function NAME
 * that BPF programs call without an argument that the verifier adds (KF_IMPLICIT_ARGS). */
static bool is_implicit(const struct hv_symbols *s, const char *name)
{
	static const char suffix[] = "_impl";
	size_t len = strnlen(name, HV_SYMBOL_NAME_MAX);
	char copy[HV_SYMBOL_NAME_MAX];
	struct hv_gva at;

	if (len == sizeof(copy) || len < sizeof(suffix) ||
	    strcmp(name + len + 1 - sizeof(suffix), suffix) != 0)
		return false;
	len -= sizeof(suffix) - 1;
	memcpy(copy, name, len);
	copy[len] = '\0';
	return hv_symbols_find(s, copy, &at);
}

static struct hv_err *prove_functions(const struct hv_kernel_core *core, const struct hv_btf *btf,
				      unsigned *ret_nr)
{
	hv_cleanup(hv_symbols_deinit) struct hv_symbols copies = {0};
	size_t nr_types = hv_btf_nr_types(btf);
	struct hv_gva at;
	unsigned nr = 0;

	find_copies(&core->symbols, &copies);
	for (uint32_t id = 1; id <= nr_types; id++) {
		const char *name = hv_btf_func_name(btf, id);

		if (hv_cancel_now(id))
			return hv_cancel_check();
		if (!name)
			continue;
		if (!hv_symbols_find(&core->symbols, name, &at) &&
		    !hv_symbols_find(&copies, name, &at) && !is_implicit(&core->symbols, name))
			return hv_err_new(EINVAL, "the guest has no function %.64s", name);
		nr++;
	}
	*ret_nr = nr;
	return nr < FUNCTIONS_MIN ? too_few("functions", nr, FUNCTIONS_MIN) : NULL;
}

/* Sizes. */

/* Variables of which every kernel has one, or one on each CPU, and their types. */
static const struct sized {
	const char *variable, *type;
} sized[] = {
	{"init_task", "task_struct"},	    {"init_signals", "signal_struct"},
	{"init_sighand", "sighand_struct"}, {"init_cred", "cred"},
	{"init_nsproxy", "nsproxy"},	    {"init_files", "files_struct"},
	{"init_fs", "fs_struct"},	    {"init_uts_ns", "uts_namespace"},
	{"init_pid_ns", "pid_namespace"},   {"init_user_ns", "user_namespace"},
	{"root_user", "user_struct"},	    {"runqueues", "rq"},
	{"init_ipc_ns", "ipc_namespace"},   {"init_net", "net"},
	{"root_task_group", "task_group"},  {"global_trace", "trace_array"},
	{"init_css_set", "css_set"},	    {"cgrp_dfl_root", "cgroup_root"},
	{"softnet_data", "softnet_data"},   {"hrtimer_bases", "hrtimer_cpu_base"},
};

/* Returns the distance from the symbol at AT to the next address with a symbol, or 0. */
static uint64_t bytes_until_next(const struct hv_symbols *s, struct hv_gva at)
{
	const struct hv_symbol *symbol = hv_symbols_at(s, at);

	while (symbol && symbol < s->by_addr + s->nr && symbol->addr.v == at.v)
		symbol++;
	return symbol && symbol < s->by_addr + s->nr ? symbol->addr.v - at.v : 0;
}

/* The linker places variables next to each other, so the next symbol begins where the type ends,
 * except for padding. A few variables can be followed by one with a larger alignment. */
static struct hv_err *prove_sizes(const struct hv_kernel_core *core, const struct hv_btf *btf,
				  unsigned *ret_nr)
{
	unsigned nr = 0, nr_padded = 0;
	struct hv_gva at;
	uint32_t size;

	for (size_t i = 0; i < HV_ARRAY_LEN(sized); i++) {
		uint64_t room;

		if (!hv_symbols_find(&core->symbols, sized[i].variable, &at) ||
		    !hv_btf_size(btf, sized[i].type, &size))
			continue;
		room = bytes_until_next(&core->symbols, at);
		if (room < size)
			return hv_err_new(EINVAL,
					  "struct %s has %u bytes in the file and at most %llu in "
					  "the guest",
					  sized[i].type, size, (unsigned long long)room);
		if (room - size < SLACK_BYTES)
			nr++;
		else
			nr_padded++;
	}
	if (nr_padded * 3 > nr)
		return hv_err_new(EINVAL, "%u of %u structures are smaller than in the guest",
				  nr_padded, nr + nr_padded);
	*ret_nr = nr;
	return nr < SIZES_MIN ? too_few("structures", nr, SIZES_MIN) : NULL;
}

/* Values. */

/* A member of a variable that every kernel initialises with the address of another variable. */
static const struct pointer {
	const char *variable, *type, *member, *to;
} pointers[] = {
	{"init_task", "task_struct", "group_leader", "init_task"},
	{"init_task", "task_struct", "real_parent", "init_task"},
	{"init_task", "task_struct", "parent", "init_task"},
	{"init_task", "task_struct", "signal", "init_signals"},
	{"init_task", "task_struct", "sighand", "init_sighand"},
	{"init_task", "task_struct", "nsproxy", "init_nsproxy"},
	{"init_task", "task_struct", "files", "init_files"},
	{"init_task", "task_struct", "fs", "init_fs"},
	{"init_task", "task_struct", "real_cred", "init_cred"},
	{"init_task", "task_struct", "cred", "init_cred"},
	{"init_task", "task_struct", "thread_pid", "init_struct_pid"},
	{"init_cred", "cred", "user_ns", "init_user_ns"},
	{"init_cred", "cred", "user", "root_user"},
	{"init_nsproxy", "nsproxy", "uts_ns", "init_uts_ns"},
	{"init_mm", "mm_struct", "pgd", "init_top_pgt"},
	{"init_mm", "mm_struct", "pgd", "swapper_pg_dir"},
};

struct look {
	const struct hv_kernel_core *core;
	const struct hv_btf *btf;
	unsigned nr; /* proved */
};

static struct hv_err *wrong(const char *type, const char *member, uint32_t off)
{
	return hv_err_new(EINVAL, "%s.%s is not at offset %u of the guest's", type, member, off);
}

/* Finds the member at VARIABLE in the image. False: the guest or the file does not have it. */
static bool find(const struct look *l, const char *variable, const char *type, const char *member,
		 uint32_t len_bytes, uint32_t *ret_off, struct hv_span *ret)
{
	struct hv_gva at;
	uint32_t size;

	if (!hv_core_symbol(l->core, variable, &at) ||
	    !hv_btf_member(l->btf, type, member, ret_off, &size) || size < len_bytes)
		return false;
	*ret = hv_image_at(&l->core->image, hv_gva_add(at, *ret_off));
	return true;
}

static struct hv_err *prove_pointer(struct look *l, const struct pointer *p)
{
	struct hv_span value;
	uint64_t address = 0;
	struct hv_gva to;
	uint32_t off;

	if (!hv_core_symbol(l->core, p->to, &to) ||
	    !find(l, p->variable, p->type, p->member, 8, &off, &value))
		return NULL;
	if (!hv_span_u64(value, 0, &address) || address != to.v)
		return wrong(p->type, p->member, off);
	l->nr++;
	return NULL;
}

static struct hv_err *prove_text(struct look *l, const char *variable, const char *type,
				 const char *member, const char *text)
{
	size_t len = strlen(text);
	struct hv_span value;
	uint32_t off;

	if (!find(l, variable, type, member, (uint32_t)len, &off, &value))
		return hv_err_new(EINVAL, "no %s.%s to compare", type, member);
	if (!hv_span_has(value, 0, len) || memcmp(value.data, text, len) != 0)
		return wrong(type, member, off);
	l->nr++;
	return NULL;
}

static struct hv_err *prove_u32(struct look *l, const char *member, uint32_t mask, uint32_t wanted)
{
	uint32_t off, number = 0;
	struct hv_span value;

	if (!find(l, "init_task", "task_struct", member, 4, &off, &value))
		return hv_err_new(EINVAL, "no task_struct.%s to compare", member);
	if (!hv_span_u32(value, 0, &number) || (number & mask) != wanted)
		return wrong("task_struct", member, off);
	l->nr++;
	return NULL;
}

/* The first word of a stack is a magic number. thread_info is the first member of a task if it is
 * not on the stack. */
static struct hv_err *prove_stack(struct look *l)
{
	uint32_t off, info;
	struct hv_span value, stack;
	uint64_t address = 0, magic = 0;

	if (!hv_btf_member(l->btf, "task_struct", "thread_info", &info, NULL) || info)
		return wrong("task_struct", "thread_info", 0);
	if (!find(l, "init_task", "task_struct", "stack", 8, &off, &value))
		return hv_err_new(EINVAL, "no task_struct.stack to compare");
	if (!hv_span_u64(value, 0, &address))
		return wrong("task_struct", "stack", off);
	stack = hv_image_at(&l->core->image, hv_gva(address));
	if (!hv_span_u64(stack, 0, &magic) || magic != STACK_END_MAGIC)
		return wrong("task_struct", "stack", off);
	l->nr += 2;
	return NULL;
}

/* The second task of the list is the first process, pid 1. Its list entry leads back. */
static struct hv_err *prove_first_process(struct look *l)
{
	uint32_t tasks, pid, tgid, parent, numbers[2] = {0};
	const struct hv_address_space *as = &l->core->as;
	uint64_t next = 0, back = 0, of = 0;
	struct hv_gva init, task;
	struct hv_err *err;

	if (!hv_core_symbol(l->core, "init_task", &init) ||
	    !hv_btf_member(l->btf, "task_struct", "tasks", &tasks, NULL) ||
	    !hv_btf_member(l->btf, "task_struct", "pid", &pid, NULL) ||
	    !hv_btf_member(l->btf, "task_struct", "tgid", &tgid, NULL) ||
	    !hv_btf_member(l->btf, "task_struct", "real_parent", &parent, NULL))
		return hv_err_new(EINVAL, "no members of task_struct to compare");
	err = hv_read_u64(as, hv_gva_add(init, tasks), &next);
	if (err)
		return err;
	/* The kernel starts: there is no process yet. */
	if (next == init.v + tasks)
		return NULL;
	task = hv_gva(next - tasks);
	err = hv_read_u64(as, hv_gva(next + 8), &back);
	if (!err)
		err = hv_read_u32(as, hv_gva_add(task, pid), &numbers[0]);
	if (!err)
		err = hv_read_u32(as, hv_gva_add(task, tgid), &numbers[1]);
	if (!err)
		err = hv_read_u64(as, hv_gva_add(task, parent), &of);
	if (err) {
		hv_err_free(err);
		return wrong("task_struct", "tasks", tasks);
	}
	if (back != init.v + tasks)
		return wrong("task_struct", "tasks", tasks);
	if (of != init.v)
		return wrong("task_struct", "real_parent", parent);
	if (numbers[0] != 1)
		return wrong("task_struct", "pid", pid);
	if (numbers[1] != 1)
		return wrong("task_struct", "tgid", tgid);
	l->nr += 4;
	return NULL;
}

static struct hv_err *prove_values(const struct hv_kernel_core *core, const struct hv_btf *btf,
				   const char *release, unsigned *ret_nr)
{
	struct look l = {core, btf, 0};
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < HV_ARRAY_LEN(pointers); i++)
		err = prove_pointer(&l, &pointers[i]);
	if (!err)
		err = prove_text(&l, "init_task", "task_struct", "comm", "swapper");
	if (!err)
		err = prove_text(&l, "init_uts_ns", "uts_namespace", "name.sysname", "Linux");
	if (!err)
		err = prove_text(&l, "init_uts_ns", "uts_namespace", "name.release", release);
	if (!err)
		err = prove_u32(&l, "pid", UINT32_MAX, 0);
	if (!err)
		err = prove_u32(&l, "tgid", UINT32_MAX, 0);
	if (!err)
		err = prove_u32(&l, "flags", PF_KTHREAD, PF_KTHREAD);
	if (!err)
		err = prove_stack(&l);
	if (!err)
		err = prove_first_process(&l);
	if (err)
		return err;
	*ret_nr = l.nr;
	return l.nr < VALUES_MIN ? too_few("values", l.nr, VALUES_MIN) : NULL;
}

struct hv_err *hv_btf_prove(const struct hv_kernel_core *core, const struct hv_btf *btf,
			    const char *release, struct hv_btf_proof *ret)
{
	struct hv_btf_proof proof;
	struct hv_err *err = prove_percpu(core, btf, &proof.nr_percpu);

	if (!err)
		err = prove_functions(core, btf, &proof.nr_functions);
	if (!err)
		err = prove_sizes(core, btf, &proof.nr_sizes);
	if (!err)
		err = prove_values(core, btf, release, &proof.nr_values);
	if (!err)
		*ret = proof;
	return err;
}
