/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/core/btf_proof.h"

#include <string.h>

#include "base/cancel.h"
#include "base/prefix.h"
#include "kernel/core/btf_members.h"
#include "kernel/types/btf.h"

#define PERCPU		".data..percpu"
#define ALIASES_MAX	64u /* symbols at one address */
#define PERCPU_MIN	32u
#define FUNCTIONS_MIN	1000u
/* Maximum share of the guest's functions that the file may lack: twice the share in Debian's
 * kernels (docs/operators/btf.md). */
#define MISSING_PERCENT 3u
#define SIZES_MIN	8u
#define SLACK_BYTES	64u
#define STACK_END_MAGIC 0x57ac6e9du
#define PF_KTHREAD	0x00200000u
#define DEFAULT_PRIO	120u
#define CPUS_MAX	64u /* number of CPUs that are compared */
#define ANCHORS_MAX	32u
#define TRIES		8u

/* Returns the error for a comparison that is impossible because the guest or the file lacks the
 * data. The file may be right. */
static struct hv_err *cannot(const char *what)
{
	return hv_err_new(ENOTSUP, "%s", what);
}

static struct hv_err *too_few(const char *what, unsigned nr, unsigned min)
{
	return hv_err_new(ENOTSUP, "only %u %s can be compared, and %u are needed", nr, what, min);
}

/* -- per-CPU variables ------------------------------------------------------------------------- */

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

/* Compares the per-CPU variables. A file without any is accepted only if the build ids are
 * equal. */
static struct hv_err *prove_percpu(const struct hv_kernel_core *core, const struct hv_btf *btf,
				   bool same_build_id, unsigned *ret_nr)
{
	const uint32_t section = hv_btf_section(btf, PERCPU);
	const uint32_t nr = hv_btf_section_len(btf, section);
	struct hv_gva start, at;
	const char *name;
	uint32_t off;

	if (same_build_id && !nr)
		return NULL;
	if (!nr)
		return cannot(
			"the file has no per-CPU variables: it needs them, as pahole writes them, "
			"or the guest's build id");
	if (!hv_core_symbol(core, "__per_cpu_start", &start))
		return cannot("the guest has no symbol __per_cpu_start (CONFIG_KALLSYMS_ALL)");
	for (uint32_t i = 0; i < nr; i++) {
		if (!hv_btf_variable(btf, section, i, &name, &off))
			return hv_err_new(EINVAL, "per-CPU variable %u of the file is damaged", i);
		if (is_named(&core->symbols, name, start.v + off))
			continue;
		if (!hv_symbols_find(&core->symbols, name, &at))
			return hv_err_new(EINVAL, "the guest has no per-CPU variable %.64s", name);
		return hv_err_new(
			EINVAL,
			"the per-CPU variable %.64s is at offset 0x%x in the file and at 0x%llx in "
			"the guest",
			name, off, (unsigned long long)(at.v - start.v));
	}
	*ret_nr = nr;
	return !same_build_id && nr < PERCPU_MIN ? too_few("per-CPU variables", nr, PERCPU_MIN)
						 : NULL;
}

/* -- functions --------------------------------------------------------------------------------- */

/* A set of names, sorted. The names are borrowed. */
struct names {
	const char **list;
	size_t nr;
};

static void names_deinit(struct names *n)
{
	free(n->list);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void names_sort(struct names *n)
{
	size_t nr = 0;

	if (n->nr)
		qsort(n->list, n->nr, sizeof(*n->list), by_name);
	for (size_t i = 0; i < n->nr; i++)
		if (!i || strcmp(n->list[nr - 1], n->list[i]) != 0)
			n->list[nr++] = n->list[i];
	n->nr = nr;
}

static bool names_have(const struct names *n, const char *name)
{
	return n->nr && bsearch(&name, n->list, n->nr, sizeof(*n->list), by_name);
}

static bool is_text(const struct hv_symbol *s)
{
	return s->type && strchr("tTwW", s->type);
}

/* Collects the names of the guest's functions in *RET. *RET_COPIES gets the names of compiler-made
 * copies (".isra.0", ".constprop.0") without the suffix, because BTF has the function's name. Their
 * bytes are in *RET_CUT, which the caller frees. */
static void find_guest(const struct hv_symbols *s, struct names *ret, struct names *ret_copies,
		       char **ret_cut)
{
	size_t len_bytes = 0;
	char *cut;

	for (size_t i = 0; i < s->nr; i++)
		len_bytes += strlen(s->by_addr[i].name) + 1;
	*ret_cut = cut = hv_alloc(len_bytes + 1);
	ret->list = hv_alloc((s->nr + 1) * sizeof(*ret->list));
	ret_copies->list = hv_alloc((s->nr + 1) * sizeof(*ret_copies->list));
	for (size_t i = 0; i < s->nr; i++) {
		const char *name = s->by_addr[i].name, *dot = strchr(name, '.');

		if (!is_text(&s->by_addr[i]))
			continue;
		if (!dot) {
			ret->list[ret->nr++] = name;
			continue;
		}
		memcpy(cut, name, (size_t)(dot - name)); /* a NUL follows */
		ret_copies->list[ret_copies->nr++] = cut;
		cut += dot - name + 1;
	}
	names_sort(ret);
	names_sort(ret_copies);
}

/* Longer names than symbols have would make the comparisons take hours. */
static struct hv_err *find_file(const struct hv_btf *btf, struct names *ret)
{
	size_t nr_types = hv_btf_nr_types(btf);

	ret->list = hv_alloc((nr_types + 1) * sizeof(*ret->list));
	for (uint32_t id = 1; id <= nr_types; id++) {
		const char *name = hv_btf_func_name(btf, id);

		if (hv_cancel_now(id))
			return hv_cancel_check();
		if (!name)
			continue;
		if (strnlen(name, HV_SYMBOL_NAME_MAX) == HV_SYMBOL_NAME_MAX)
			return hv_err_new(EINVAL, "a function's name is longer than any symbol's");
		ret->list[ret->nr++] = name;
	}
	names_sort(ret);
	return NULL;
}

/* In kernels since 7.0, resolve_btfids adds a function NAME_impl to the BTF for each function NAME
 * that BPF programs call without an argument that the verifier adds (KF_IMPLICIT_ARGS). */
static bool is_implicit(const struct names *guest, const char *name)
{
	static const char suffix[] = "_impl";
	size_t len = strnlen(name, HV_SYMBOL_NAME_MAX);
	char copy[HV_SYMBOL_NAME_MAX];

	if (len == sizeof(copy) || len < sizeof(suffix) ||
	    strcmp(name + len + 1 - sizeof(suffix), suffix) != 0)
		return false;
	len -= sizeof(suffix) - 1;
	memcpy(copy, name, len);
	copy[len] = '\0';
	return names_have(guest, copy);
}

/* Returns whether the build of the kernel added the function NAME, so that BTF lacks it. pahole
 * also leaves out names of assembler code, of data in it, and of functions with several prototypes.
 * So the guest has more functions than the right file. */
static bool is_added(const char *name)
{
	static const char *const prefixes[] = {"__pfx_",   "__cfi_", "__SCT__",
					       "__kstub_", "_R",     "__rust_"};

	for (size_t i = 0; i < HV_ARRAY_LEN(prefixes); i++)
		if (hv_starts_with(name, prefixes[i]))
			return true;
	return false;
}

/* Counts the names of the guest's functions between _stext and _etext that the file lacks. */
static struct hv_err *prove_no_others(const struct hv_kernel_core *core, const struct names *file,
				      struct hv_btf_proof *ret)
{
	hv_cleanup(names_deinit) struct names guest = {0};
	const struct hv_symbols *s = &core->symbols;
	struct hv_gva_range text;
	const char *first = NULL;

	if (!hv_core_symbol(core, "_stext", &text.start) ||
	    !hv_core_symbol(core, "_etext", &text.end))
		return cannot("the guest has no symbols _stext and _etext");
	guest.list = hv_alloc((s->nr + 1) * sizeof(*guest.list));
	for (size_t i = 0; i < s->nr; i++) {
		const struct hv_symbol *at = &s->by_addr[i];

		if (hv_gva_in(at->addr, text) && is_text(at) && !strchr(at->name, '.') &&
		    !is_added(at->name))
			guest.list[guest.nr++] = at->name;
	}
	names_sort(&guest);
	for (size_t i = 0; i < guest.nr; i++) {
		if (hv_cancel_now(i))
			return hv_cancel_check();
		if (names_have(file, guest.list[i]))
			continue;
		ret->nr_missing++;
		first = guest.list[i];
	}
	ret->nr_guest_functions = (unsigned)guest.nr;
	if (ret->build_id_equal ||
	    (uint64_t)ret->nr_missing * 100 <= (uint64_t)guest.nr * MISSING_PERCENT)
		return NULL;
	return hv_err_new(EINVAL, "the file lacks %u of the guest's %zu functions, such as %.64s",
			  ret->nr_missing, guest.nr, first);
}

static struct hv_err *prove_functions(const struct hv_kernel_core *core, const struct hv_btf *btf,
				      struct hv_btf_proof *ret)
{
	hv_cleanup(names_deinit) struct names guest = {0};
	hv_cleanup(names_deinit) struct names copies = {0};
	hv_cleanup(names_deinit) struct names file = {0};
	HV_AUTO_FREE char *cut = NULL;
	struct hv_err *err;

	find_guest(&core->symbols, &guest, &copies, &cut);
	err = find_file(btf, &file);
	if (err)
		return err;
	for (size_t i = 0; i < file.nr; i++) {
		if (hv_cancel_now(i))
			return hv_cancel_check();
		if (!names_have(&guest, file.list[i]) && !names_have(&copies, file.list[i]) &&
		    !is_implicit(&guest, file.list[i]))
			return hv_err_new(EINVAL, "the guest has no function %.64s", file.list[i]);
	}
	ret->nr_functions = (unsigned)file.nr;
	if (file.nr < FUNCTIONS_MIN)
		return too_few("functions", ret->nr_functions, FUNCTIONS_MIN);
	return prove_no_others(core, &file, ret);
}

/* -- sizes ------------------------------------------------------------------------------------- */

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

/* The linker places variables next to each other, so the next symbol begins where the type ends,
 * except for padding up to the alignment of the next variable, which is less than a cache line. */
static struct hv_err *prove_sizes(const struct hv_kernel_core *core, const struct hv_btf *btf,
				  unsigned *ret_nr)
{
	unsigned nr = 0;
	struct hv_gva at;
	uint32_t size;

	for (size_t i = 0; i < HV_ARRAY_LEN(sized); i++) {
		uint64_t room;

		if (!hv_symbols_find(&core->symbols, sized[i].variable, &at) ||
		    !hv_btf_size(btf, sized[i].type, &size))
			continue;
		room = hv_symbols_room(&core->symbols, at);
		if (room < size || room - size >= SLACK_BYTES)
			return hv_err_new(EINVAL,
					  "struct %s has %u bytes in the file and %s%llu in the "
					  "guest",
					  sized[i].type, size, room < size ? "at most " : "",
					  (unsigned long long)room);
		nr++;
	}
	*ret_nr = nr;
	return nr < SIZES_MIN ? too_few("structures", nr, SIZES_MIN) : NULL;
}

/* -- values ------------------------------------------------------------------------------------ */

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

/* A part of struct task_struct whose offset a value has proved. */
struct anchor {
	uint32_t start, end;
};

struct look {
	const struct hv_kernel_core *core;
	const struct hv_btf *btf;
	unsigned nr;	 /* proved */
	uint64_t proved; /* bits of btf_members.h */
	struct anchor anchors[ANCHORS_MAX];
	unsigned nr_anchors;
};

static struct hv_err *wrong(const char *type, const char *member, uint32_t off)
{
	return hv_err_new(EINVAL, "%s.%s is not at offset %u of the guest's", type, member, off);
}

static void prove(struct look *l, const char *type, const char *member)
{
	l->proved |= hv_btf_member_bit(type, member);
	l->nr++;
}

static void add_anchor(struct look *l, const char *type, uint32_t off, uint32_t len_bytes)
{
	if (strcmp(type, "task_struct") == 0 && l->nr_anchors < ANCHORS_MAX)
		l->anchors[l->nr_anchors++] = (struct anchor){off, off + len_bytes};
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
	add_anchor(l, p->type, off, 8);
	if (strcmp(p->member, "cred") == 0)
		prove(l, "task_struct", "cred");
	else
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
		return hv_err_new(ENOTSUP, "no %s.%s to compare", type, member);
	if (!hv_span_has(value, 0, len) || memcmp(value.data, text, len) != 0)
		return wrong(type, member, off);
	add_anchor(l, type, off, (uint32_t)len);
	l->nr++;
	return NULL;
}

/* Compares a number in init_task. */
static struct hv_err *check_u32(struct look *l, const char *member, uint32_t mask, uint32_t wanted,
				uint32_t *ret_off)
{
	uint32_t number = 0;
	struct hv_span value;

	if (!find(l, "init_task", "task_struct", member, 4, ret_off, &value))
		return hv_err_new(ENOTSUP, "no task_struct.%s to compare", member);
	if (!hv_span_u32(value, 0, &number) || (number & mask) != wanted)
		return wrong("task_struct", member, *ret_off);
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

	if (!hv_btf_member(l->btf, "task_struct", "thread_info", &info, NULL))
		return cannot("struct task_struct has no thread_info: it is on the stack");
	if (info)
		return wrong("task_struct", "thread_info", info);
	if (!find(l, "init_task", "task_struct", "stack", 8, &off, &value))
		return cannot("no task_struct.stack to compare");
	if (!hv_span_u64(value, 0, &address))
		return wrong("task_struct", "stack", off);
	stack = hv_image_at(&l->core->image, hv_gva(address));
	if (!hv_span_u64(stack, 0, &magic) || magic != STACK_END_MAGIC)
		return wrong("task_struct", "stack", off);
	add_anchor(l, "task_struct", 0, 0); /* the start of thread_info */
	add_anchor(l, "task_struct", off, 8);
	prove(l, "task_struct", "stack");
	return NULL;
}

/* Members of a task that are compared in live memory. */
struct task_offs {
	uint32_t tasks, pid, tgid, parent, flags, comm;
};

struct live_task {
	uint64_t back, parent;
	uint32_t pid, tgid, flags;
	char comm[16];
};

static struct hv_err *read_live(const struct hv_address_space *as, const struct task_offs *o,
				struct hv_gva task, struct live_task *ret)
{
	struct hv_err *err = hv_read_u64(as, hv_gva_add(task, o->tasks + 8), &ret->back);

	if (!err)
		err = hv_read_u64(as, hv_gva_add(task, o->parent), &ret->parent);
	if (!err)
		err = hv_read_u32(as, hv_gva_add(task, o->pid), &ret->pid);
	if (!err)
		err = hv_read_u32(as, hv_gva_add(task, o->tgid), &ret->tgid);
	if (!err)
		err = hv_read_u32(as, hv_gva_add(task, o->flags), &ret->flags);
	if (!err)
		err = hv_read(as, hv_gva_add(task, o->comm), ret->comm, sizeof(ret->comm));
	return err;
}

/* Compares task NR of the list after init_task. AT is the address of its list entry. */
static struct hv_err *check_live(const struct hv_address_space *as, const struct task_offs *o,
				 uint64_t at, uint32_t nr, uint64_t before, struct hv_gva init)
{
	struct live_task task = {0};
	struct hv_err *err = read_live(as, o, hv_gva(at - o->tasks), &task);

	if (err) {
		hv_err_free(err);
		return wrong("task_struct", "tasks", o->tasks);
	}
	if (task.back != before)
		return wrong("task_struct", "tasks", o->tasks);
	if (task.parent != init.v)
		return wrong("task_struct", "real_parent", o->parent);
	if (task.pid != nr)
		return wrong("task_struct", "pid", o->pid);
	if (task.tgid != nr)
		return wrong("task_struct", "tgid", o->tgid);
	if (!(task.flags & PF_KTHREAD) != (nr == 1))
		return wrong("task_struct", "flags", o->flags);
	if (nr == 2 && memcmp(task.comm, "kthreadd", sizeof("kthreadd")) != 0)
		return wrong("task_struct", "comm", o->comm);
	return NULL;
}

/* The list leads from init_task to the first process, pid 1, and to kthreadd, pid 2. The members
 * pid and tgid of a process are equal, so only their order, which is the same in all kernels, tells
 * them apart. */
static struct hv_err *prove_processes(struct look *l)
{
	const struct hv_address_space *as = &l->core->as;
	struct task_offs o;
	uint64_t at = 0, before;
	struct hv_gva init;
	struct hv_err *err;

	if (!hv_core_symbol(l->core, "init_task", &init) ||
	    !hv_btf_member(l->btf, "task_struct", "tasks", &o.tasks, NULL) ||
	    !hv_btf_member(l->btf, "task_struct", "pid", &o.pid, NULL) ||
	    !hv_btf_member(l->btf, "task_struct", "tgid", &o.tgid, NULL) ||
	    !hv_btf_member(l->btf, "task_struct", "flags", &o.flags, NULL) ||
	    !hv_btf_member(l->btf, "task_struct", "comm", &o.comm, NULL) ||
	    !hv_btf_member(l->btf, "task_struct", "real_parent", &o.parent, NULL))
		return cannot("no members of task_struct to compare");
	if (o.tgid != o.pid + 4)
		return wrong("task_struct", "tgid", o.tgid);
	before = init.v + o.tasks;
	err = hv_read_u64(as, hv_gva(before), &at);
	for (uint32_t nr = 1; !err && nr <= 2; nr++) {
		/* The kernel starts: there is no process yet. */
		if (at == init.v + o.tasks)
			return NULL;
		err = check_live(as, &o, at, nr, before, init);
		before = at;
		if (!err)
			err = hv_read_u64(as, hv_gva(at), &at);
	}
	if (err)
		return err;
	add_anchor(l, "task_struct", o.tasks, 16);
	add_anchor(l, "task_struct", o.pid, 8);
	add_anchor(l, "task_struct", o.flags, 4);
	prove(l, "task_struct", "pid");
	prove(l, "task_struct", "tgid");
	prove(l, "task_struct", "flags");
	prove(l, "task_struct", "comm");
	return NULL;
}

/* Proves a member that is 0 in init_task, where its value proves nothing. It is between two members
 * whose offsets values have proved. So nothing was added or removed before it, unless the same
 * number of bytes was removed or added after it, before the next such member. */
static struct hv_err *prove_between(struct look *l, const char *member)
{
	bool is_after = false, is_before = false;
	uint32_t off, size, number = 0;
	struct hv_gva init;

	if (!hv_core_symbol(l->core, "init_task", &init) ||
	    !hv_btf_member(l->btf, "task_struct", member, &off, &size))
		return NULL;
	for (unsigned i = 0; i < l->nr_anchors; i++) {
		is_after |= l->anchors[i].end <= off;
		is_before |= l->anchors[i].start >= off + size;
	}
	if (!is_after || !is_before)
		return NULL;
	hv_span_u32(hv_image_at(&l->core->image, hv_gva_add(init, off)), 0, &number);
	if (size == 2)
		number &= UINT16_MAX;
	/* init_task may be running: flags and counts are small numbers. */
	if (number > UINT16_MAX && !hv_starts_with(member, "thread_info."))
		return wrong("task_struct", member, off);
	prove(l, "task_struct", member);
	return NULL;
}

/* The three priorities of init_task precede rt_priority. */
static struct hv_err *prove_priority(struct look *l)
{
	static const char *const equal[] = {"prio", "static_prio", "normal_prio"};
	struct hv_err *err = NULL;
	uint32_t off = 0;

	for (size_t i = 0; !err && i < HV_ARRAY_LEN(equal); i++) {
		err = check_u32(l, equal[i], UINT32_MAX, DEFAULT_PRIO, &off);
		if (!err)
			add_anchor(l, "task_struct", off, 4);
	}
	if (!err)
		prove(l, "task_struct", "static_prio");
	return err;
}

/* struct cred starts with a count of uses, followed by numbers of users and groups, which are 0 for
 * root, and sets of capabilities, which init_cred has. */
static struct hv_err *prove_cred(struct look *l)
{
	struct hv_span usage, uid, caps;
	uint32_t usage_off, uid_off, caps_off, number = 0;

	if (!find(l, "init_cred", "cred", "usage", 4, &usage_off, &usage) ||
	    !find(l, "init_cred", "cred", "uid", 4, &uid_off, &uid) ||
	    !find(l, "init_cred", "cred", "cap_permitted", 8, &caps_off, &caps))
		return NULL;
	if (!hv_span_u32(usage, 0, &number) || !number || usage_off)
		return wrong("cred", "usage", usage_off);
	if (!hv_span_u32(caps, 0, &number) || number != UINT32_MAX)
		return wrong("cred", "cap_permitted", caps_off);
	if (uid_off < usage_off + 4 || uid_off + 8 * 4 > caps_off)
		return wrong("cred", "uid", uid_off);
	for (uint32_t i = 0; i < 8; i++)
		if (!hv_span_u32(uid, i * 4, &number) || number)
			return wrong("cred", "uid", uid_off);
	prove(l, "cred", "uid");
	return NULL;
}

/* struct kvm_steal_time is an interface between the guest and KVM
 * (Documentation/virt/kvm/x86/msr.rst). */
static struct hv_err *prove_steal_time(struct look *l)
{
	uint32_t steal, version;

	if (!hv_btf_member(l->btf, "kvm_steal_time", "steal", &steal, NULL) ||
	    !hv_btf_member(l->btf, "kvm_steal_time", "version", &version, NULL))
		return NULL;
	if (steal)
		return wrong("kvm_steal_time", "steal", steal);
	if (version != 8)
		return wrong("kvm_steal_time", "version", version);
	prove(l, "kvm_steal_time", "steal");
	prove(l, "kvm_steal_time", "version");
	return NULL;
}

/* Returns whether the current task of a CPU has a stack. AT is the address of the CPU's struct
 * pcpu_hot. */
static bool has_stack(const struct look *l, struct hv_gva at, uint32_t task_off)
{
	const struct hv_address_space *as = &l->core->as;
	uint64_t task = 0, stack = 0, magic = 0;
	uint32_t stack_off = 0;
	HV_AUTO_ERR struct hv_err *err = hv_read_u64(as, hv_gva_add(at, task_off), &task);

	(void)hv_btf_member(l->btf, "task_struct", "stack", &stack_off, NULL);
	if (!err)
		err = hv_read_u64(as, hv_gva(task + stack_off), &stack);
	if (!err)
		err = hv_read_u64(as, hv_gva(stack), &magic);
	return !err && magic == STACK_END_MAGIC;
}

static struct hv_err *check_hot(const struct look *l, struct hv_gva hot, uint32_t cpu_off,
				uint32_t task_off, unsigned cpu)
{
	uint32_t number = 0;
	struct hv_gva at;
	struct hv_err *err = hv_core_percpu(l->core, hot.v, cpu, &at);

	if (!err)
		err = hv_read_u32(&l->core->as, hv_gva_add(at, cpu_off), &number);
	if (err)
		return err;
	if (number != cpu)
		return wrong("pcpu_hot", "cpu_number", cpu_off);
	/* A task can end between the reads. */
	for (unsigned i = 0; i < TRIES; i++)
		if (has_stack(l, at, task_off))
			return NULL;
	return wrong("pcpu_hot", "current_task", task_off);
}

/* preempt_count is between current_task and cpu_number. */
static struct hv_err *prove_hot(struct look *l)
{
	uint32_t cpu_off, task_off, count_off, nr_cpus = 1;
	struct hv_gva hot, at;
	struct hv_err *err = NULL;

	if (!hv_core_symbol(l->core, "pcpu_hot", &hot))
		return NULL;
	if (!hv_btf_member(l->btf, "pcpu_hot", "cpu_number", &cpu_off, NULL) ||
	    !hv_btf_member(l->btf, "pcpu_hot", "current_task", &task_off, NULL) ||
	    !hv_btf_member(l->btf, "pcpu_hot", "preempt_count", &count_off, NULL))
		return cannot("no struct pcpu_hot to compare");
	if (hv_core_symbol(l->core, "nr_cpu_ids", &at))
		err = hv_read_u32(&l->core->as, at, &nr_cpus);
	for (unsigned cpu = 0; !err && cpu < nr_cpus && cpu < CPUS_MAX; cpu++)
		if (hv_cpu_in(l->core, "__cpu_online_mask", cpu))
			err = check_hot(l, hot, cpu_off, task_off, cpu);
	if (err)
		return err;
	if (count_off != task_off + 8 || cpu_off != count_off + 4)
		return wrong("pcpu_hot", "preempt_count", count_off);
	prove(l, "pcpu_hot", "cpu_number");
	prove(l, "pcpu_hot", "current_task");
	prove(l, "pcpu_hot", "preempt_count");
	return NULL;
}

static struct hv_err *prove_task(struct look *l)
{
	struct hv_err *err = prove_stack(l);
	uint32_t off;

	for (size_t i = 0; !err && i < HV_ARRAY_LEN(pointers); i++)
		err = prove_pointer(l, &pointers[i]);
	if (!err)
		err = prove_text(l, "init_task", "task_struct", "comm", "swapper");
	if (!err)
		err = check_u32(l, "pid", UINT32_MAX, 0, &off);
	if (!err)
		err = check_u32(l, "tgid", UINT32_MAX, 0, &off);
	if (!err)
		err = check_u32(l, "flags", PF_KTHREAD, PF_KTHREAD, &off);
	if (!err)
		err = prove_processes(l);
	return err ? err : prove_priority(l);
}

static struct hv_err *prove_values(const struct hv_kernel_core *core, const struct hv_btf *btf,
				   const char *release, struct hv_btf_proof *ret,
				   uint64_t *ret_unproved)
{
	static const char *const between[] = {
		"thread_info.flags",
		"thread_info.cpu",
		"thread_info.preempt_count",
		"thread_info.preempt.count",
		"thread_info.preempt_lazy_count",
		"thread_info.status",
		"thread_info.syscall_work",
		"policy",
		"rt_priority",
		"migration_disabled",
		"softirq_disable_cnt",
	};
	struct look l = {.core = core, .btf = btf};
	struct hv_err *err = prove_task(&l);

	if (!err)
		err = prove_text(&l, "init_uts_ns", "uts_namespace", "name.sysname", "Linux");
	if (!err)
		err = prove_text(&l, "init_uts_ns", "uts_namespace", "name.release", release);
	for (size_t i = 0; !err && i < HV_ARRAY_LEN(between); i++)
		err = prove_between(&l, between[i]);
	if (!err)
		err = prove_cred(&l);
	if (!err)
		err = prove_hot(&l);
	if (!err)
		err = prove_steal_time(&l);
	if (err)
		return err;
	ret->nr_values = l.nr;
	/* An equal build id proves each member, as that of a vmlinux does. */
	for (unsigned i = 0; hv_btf_member_row(i) && !ret->build_id_equal; i++)
		*ret_unproved |= UINT64_C(1) << i;
	*ret_unproved &= ~l.proved;
	return NULL;
}

struct hv_err *hv_btf_prove(const struct hv_kernel_core *core, const struct hv_btf *btf,
			    const char *release, enum hv_build_ids ids, struct hv_btf_proof *ret,
			    uint64_t *ret_unproved)
{
	struct hv_btf_proof proof = {.build_id_equal = ids == HV_BUILD_IDS_EQUAL};
	uint64_t unproved = 0;
	struct hv_err *err = prove_percpu(core, btf, proof.build_id_equal, &proof.nr_percpu);

	if (!err)
		err = prove_functions(core, btf, &proof);
	if (!err)
		err = prove_sizes(core, btf, &proof.nr_sizes);
	if (!err)
		err = prove_values(core, btf, release, &proof, &unproved);
	if (err)
		return err;
	*ret = proof;
	*ret_unproved = unproved;
	return NULL;
}
