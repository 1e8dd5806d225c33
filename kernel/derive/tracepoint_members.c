/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source: include/linux/tracepoint-defs.h, kernel/tracepoint.c, include/linux/trace_events.h,
 * kernel/trace/trace_events_trigger.c. */
#include "kernel/derive/tracepoint_members.h"

#include <string.h>

#include "arch/arch.h"
#include "base/prefix.h"
#include "kernel/core/fields.h"
#include "kernel/derive/event_fields.h"
#include "kernel/derive/jump_members.h"
#include "kernel/derive/objects.h"

#define USE(kind) (1u << HV_MEMBER_##kind)
#define CODE	  HV_PROVED_BY_CODE
#define OTHER	  HV_PROVED_BY_OTHER_CODE
#define MEMORY	  HV_PROVED_BY_MEMORY

struct context {
	struct hv_deriving *d;
	const struct hv_kernel_core *core;
	struct hv_objects tracepoints;
};

static void context_deinit(struct context *c)
{
	hv_objects_deinit(&c->tracepoints);
}

static void add(const struct context *c, const char *type, const char *member, uint32_t off,
		uint32_t len_bytes, const char *of, unsigned proofs)
{
	hv_facts_add(&c->d->facts, &(struct hv_fact){type, member, off, len_bytes, of, proofs});
}

static bool find_off(const struct context *c, const char *type, const char *member, uint32_t *ret)
{
	const struct hv_fact *f = hv_facts_find(&c->d->facts, type, member);

	*ret = f ? f->off : 0;
	return f;
}

/* Returns the offsets at which FUNCTION uses LEN_BYTES of the structure that ARGUMENT points to, in
 * one of the KINDS. */
static struct hv_code_offs uses(const struct context *c, const char *function, unsigned argument,
				unsigned kinds, unsigned len_bytes)
{
	const struct hv_code_rule rule = {function, (uint8_t)argument, (uint8_t)kinds,
					  (uint8_t)len_bytes};
	struct hv_code_offs offs;

	hv_code_offs_find(c->core, &c->d->current, &rule, 0, &offs);
	return offs;
}

/* -- struct tracepoint ------------------------------------------------------------------------- */

/* Functions that add or remove a callback of a tracepoint, their first argument. The compiler may
 * have inlined the first ones into the others. */
static const char *const adders[] = {"tracepoint_add_func", "tracepoint_probe_register_prio",
				     "tracepoint_probe_register"};
static const char *const removers[] = {"tracepoint_remove_func", "tracepoint_probe_unregister"};

static struct hv_code_offs uses_of(const struct context *c, const char *const *functions, size_t nr,
				   unsigned kinds, unsigned len_bytes)
{
	struct hv_code_offs offs = {0};

	for (size_t i = 0; !offs.nr && i < nr; i++)
		offs = uses(c, functions[i], 0, kinds, len_bytes);
	return offs;
}

static bool is_name(void *ctx, const struct hv_object *o, uint64_t value)
{
	char text[HV_EVENT_TEXT_BYTES];

	return hv_event_text_read(ctx, value, text) &&
	       !strncmp(text, o->name, HV_EVENT_TEXT_BYTES - 1);
}

/* The functions that add or remove a callback write only one pointer of the tracepoint: the array
 * of callbacks. */
static void derive_funcs(const struct context *c)
{
	struct hv_code_offs added = uses_of(c, adders, HV_ARRAY_LEN(adders), USE(WRITE), 8),
			    removed = uses_of(c, removers, HV_ARRAY_LEN(removers), USE(WRITE), 8);

	if (added.nr != 1 || (removed.nr && removed.list[0] != added.list[0]) || removed.nr > 1)
		return;
	add(c, "tracepoint", "funcs", added.list[0], 8, NULL, removed.nr ? CODE | OTHER : CODE);
}

static void derive_pointer(const struct context *c, const char *member, const char *prefix)
{
	struct hv_code_offs added = uses_of(c, adders, HV_ARRAY_LEN(adders), USE(READ), 8);
	unsigned proofs = MEMORY;
	uint32_t off;

	if (!hv_objects_find_pointers(c->core, &c->tracepoints, prefix, &off))
		return;
	if (hv_code_offs_have(&added, off))
		proofs |= CODE;
	add(c, "tracepoint", member, off, 8, NULL, proofs);
}

static void derive_key(const struct context *c)
{
	struct hv_code_offs added = uses_of(c, adders, HV_ARRAY_LEN(adders), USE(ADDRESS), 0);
	unsigned proofs = MEMORY;
	uint32_t off;

	if (!hv_jump_key_find(c->core, "__tracepoint_", &c->tracepoints, &off))
		return;
	if (hv_code_offs_have(&added, off))
		proofs |= CODE;
	add(c, "tracepoint", "key", off, 16, "static_key", proofs);
}

/* Returns the offset of VALUE in the SIZE bytes at AT. */
static bool find_value(const struct context *c, uint64_t at, uint64_t value, uint32_t size,
		       uint32_t *ret)
{
	for (uint32_t off = 0; at && value && off + 8 <= size; off += 8) {
		uint64_t is = 0;
		HV_AUTO_ERR struct hv_err *err = hv_read_u64(&c->core->as, hv_gva(at + off), &is);

		if (err || is != value)
			continue;
		*ret = off;
		return true;
	}
	return false;
}

/* The functions that are called before the first callback is added and after the last one is
 * removed. The tracepoints of system calls have them. */
static bool derive_functions(const struct context *c, const char *type, const char *prefix,
			     uint32_t size)
{
	uint64_t at = hv_symbol_of(c->core, prefix, "sys_enter");
	uint32_t reg, unreg;

	if (!find_value(c, at, hv_symbol_of(c->core, "syscall_regfunc", ""), size, &reg) ||
	    !find_value(c, at, hv_symbol_of(c->core, "syscall_unregfunc", ""), size, &unreg))
		return false;
	add(c, type, "regfunc", reg, 8, NULL, MEMORY);
	add(c, type, "unregfunc", unreg, 8, NULL, MEMORY);
	return true;
}

#define EXT_BYTES 24u /* number of bytes of struct tracepoint_ext that are checked */

/* Callbacks of system calls may sleep, and those of all other tracepoints may not. */
static void derive_ext(const struct context *c)
{
	static const char prefix[] = "__tracepoint_ext_", type[] = "tracepoint_ext";
	hv_cleanup(hv_objects_deinit) struct hv_objects exts = {0};
	uint32_t reg, off;
	bool fits = true;

	derive_pointer(c, "ext", prefix);
	if (!find_off(c, "tracepoint", "ext", &off) ||
	    !derive_functions(c, type, prefix, EXT_BYTES) || !find_off(c, type, "unregfunc", &reg))
		return;
	hv_objects_read(c->core, prefix, "__traceiter_", &exts);
	for (size_t i = 0; i < exts.nr; i++) {
		bool is_syscall = hv_starts_with(exts.list[i].name, "sys_");

		fits &= (hv_object_u32(&exts.list[i], reg + 8) & 1) == is_syscall;
	}
	if (!fits || !exts.nr)
		return;
	hv_facts_add(&c->d->facts, &(struct hv_fact){type, "faultable", reg + 8, 4, NULL,
						     HV_PROVED_BY_MEMORY, .bits = 1});
}

static void derive_tracepoint(const struct context *c)
{
	struct hv_gva ext;
	uint32_t name, last;

	if (!hv_objects_find(&c->tracepoints, 8, is_name, (void *)c->core, &name))
		return;
	add(c, "tracepoint", "name", name, 8, NULL, MEMORY);
	derive_key(c);
	derive_pointer(c, "static_call_key", "__SCK__tp_func_");
	derive_pointer(c, "static_call_tramp", "__SCT__tp_func_");
	derive_pointer(c, "iterator", "__traceiter_");
	derive_pointer(c, "probestub", "__probestub_");
	derive_funcs(c);
	if (hv_core_symbol(c->core, "__tracepoint_ext_sys_enter", &ext))
		derive_ext(c);
	else if (find_off(c, "tracepoint", "funcs", &last))
		derive_functions(c, "tracepoint", "__tracepoint_", last);
}

/* -- struct tracepoint_func, struct tp_probes -------------------------------------------------- */

#define CALLERS_MAX 32u
#define TRIES_MAX   128u /* number of functions that are checked */

/* How __traceiter_NAME() walks the array of callbacks. */
struct loop {
	uint32_t highest; /* highest offset of the pointers that are read */
	uint32_t stride;
	bool reads_first, is_other;
};

static void note_loop(void *ctx, const struct hv_member_use *use)
{
	struct loop *l = ctx;

	if (use->kind == HV_MEMBER_READ && use->len_bytes == 8) {
		l->reads_first |= !use->off;
		if (use->off > l->highest)
			l->highest = use->off;
	} else if (use->kind == HV_MEMBER_ADDRESS) {
		l->is_other |= l->stride && l->stride != use->off;
		l->stride = use->off;
	}
}

/* Returns the size of an element of the array of callbacks, or 0. The first 8 bytes of an element
 * are the function, and the next ones the data. Iterators read nothing else. */
static uint32_t find_element(const struct context *c)
{
	uint32_t stride = 0;
	unsigned nr = 0;

	for (size_t i = 0; i < c->tracepoints.nr && i < TRIES_MAX && nr < CALLERS_MAX; i++) {
		char function[HV_SYMBOL_NAME_MAX + 16] = "__traceiter_";
		struct loop l = {0};

		strncat(function, c->tracepoints.list[i].name, HV_SYMBOL_NAME_MAX);
		hv_code_list(c->core, function, note_loop, &l);
		if (!l.stride || l.is_other || !l.reads_first ||
		    (l.highest != 8 && l.highest != l.stride))
			continue;
		if (nr && l.stride != stride)
			return 0;
		stride = l.stride;
		nr++;
	}
	return nr > CALLERS_MAX / 2 ? stride : 0;
}

/* Functions that call a tracepoint. */
static const char *const callers[] = {
	"set_task_cpu",
	"wake_up_new_task",
	"try_to_wake_up",
	"__raise_softirq_irqoff",
	"kfree",
	"kmem_cache_alloc",
	"kmem_cache_free",
	"__kmalloc",
	"raise_softirq",
	"hrtimer_start_range_ns",
	"__queue_work",
	"mod_timer",
	"add_timer_on",
	"del_timer",
	"module_put",
	"try_module_get",
	"blk_queue_bio",
	"writeback_single_inode",
	"__mark_inode_dirty",
};
#define LOOP_BYTES 64u

/* A loop over the array of callbacks in a caller. */
struct inline_loop {
	const struct context *c;
	uint32_t funcs; /* offset in struct tracepoint */
	uint64_t start; /* address of the instruction that reads the pointer to the array */
	uint32_t stride;
	bool reads_data, reads_first;
};

static bool is_funcs(const struct inline_loop *l, uint64_t variable)
{
	for (size_t i = 0; i < l->c->tracepoints.nr; i++)
		if (l->c->tracepoints.list[i].at.v + l->funcs == variable)
			return true;
	return false;
}

/* No branch leads to the loop of a tracepoint that is off, so follow_members() does not find it,
 * but list_uses() does. */
static void note_inline_loop(void *ctx, const struct hv_member_use *use)
{
	struct inline_loop *l = ctx;
	bool reads = use->kind == HV_MEMBER_READ && use->len_bytes == 8;

	if (use->from == HV_ROOT_ADDRESS) {
		if (reads && !l->start && is_funcs(l, use->root))
			l->start = use->insn.v;
		return;
	}
	if (!l->start || use->insn.v - l->start > LOOP_BYTES)
		return;
	if (use->kind == HV_MEMBER_ADDRESS && !l->stride)
		l->stride = use->off;
	l->reads_first |= reads && !use->off;
	l->reads_data |= reads && use->off == 8;
}

/* Like find_element(), in a kernel without iterators. */
static uint32_t find_inline_element(const struct context *c)
{
	uint32_t stride = 0;
	unsigned nr = 0;

	for (size_t i = 0; i < HV_ARRAY_LEN(callers); i++) {
		struct inline_loop l = {.c = c};

		if (!find_off(c, "tracepoint", "funcs", &l.funcs))
			return 0;
		hv_code_list_all(c->core, callers[i], note_inline_loop, &l);
		if (!l.stride || !l.reads_first || !l.reads_data)
			continue;
		if (nr && l.stride != stride)
			return 0;
		stride = l.stride;
		nr++;
	}
	return nr >= HV_OBJECTS_MIN ? stride : 0;
}

struct small_reads {
	uint32_t off;
	bool is_other;
};

static void note_small(void *ctx, const struct hv_member_use *use)
{
	struct small_reads *s = ctx;

	if (use->kind != HV_MEMBER_READ || use->len_bytes != 4)
		return;
	s->is_other |= s->off && s->off != use->off;
	s->off = use->off;
}

#define DEFAULT_PRIORITY 10u /* TRACEPOINT_DEFAULT_PRIO */

/* Returns whether there are callbacks, and the first one of each tracepoint has the default
 * priority. */
static bool has_priorities(const struct context *c, uint32_t prio)
{
	uint32_t funcs;
	unsigned nr = 0;

	if (!find_off(c, "tracepoint", "funcs", &funcs))
		return false;
	for (size_t i = 0; i < c->tracepoints.nr; i++) {
		uint64_t at = hv_object_u64(&c->tracepoints.list[i], funcs);
		uint32_t value = 0;
		HV_AUTO_ERR struct hv_err *err = NULL;

		if (!at)
			continue;
		err = hv_read_u32(&c->core->as, hv_gva(at + prio), &value);
		if (err || value != DEFAULT_PRIORITY)
			return false;
		nr++;
	}
	return nr;
}

/* The function that adds a callback compares priorities, the only small number of an element. */
static void derive_callback(const struct context *c)
{
	static const char type[] = "tracepoint_func";
	struct hv_gva iterator;
	uint32_t stride = hv_core_symbol(c->core, "__traceiter_sched_switch", &iterator)
				  ? find_element(c)
				  : find_inline_element(c);
	struct hv_code_offs copied;
	struct small_reads small = {0};
	size_t i = 0;

	if (stride != 24) /* without a priority, the kernel is too old */
		return;
	copied = uses(c, adders[0], 1, USE(READ), 8);
	while (i < HV_ARRAY_LEN(adders) && !hv_code_list(c->core, adders[i], note_small, &small))
		i++;
	add(c, type, "func", 0, 8, NULL, hv_code_offs_have(&copied, 0) ? CODE | OTHER : CODE);
	add(c, type, "data", 8, 8, NULL, hv_code_offs_have(&copied, 8) ? CODE | OTHER : CODE);
	if (small.off == 16 && !small.is_other)
		add(c, type, "prio", 16, 4, NULL,
		    (hv_code_offs_have(&copied, 16) ? CODE | OTHER : CODE) |
			    (has_priorities(c, 16) ? MEMORY : 0));
	hv_facts_add_size(&c->d->facts, type, stride);
}

#define BACK_MAX 8

/* The constants from 8 to 64 that code subtracts from a pointer. */
struct back {
	uint32_t list[BACK_MAX];
	unsigned nr;
};

static void note_back(void *ctx, const struct hv_member_use *use)
{
	struct back *b = ctx;
	uint32_t distance = -use->off;

	if (use->kind != HV_MEMBER_ADDRESS || distance > 64 || distance < 8 || b->nr == BACK_MAX)
		return;
	for (unsigned i = 0; i < b->nr; i++)
		if (b->list[i] == distance)
			return;
	b->list[b->nr++] = distance;
}

static bool find_back(const struct context *c, const char *const *functions, size_t nr,
		      uint32_t *ret)
{
	struct back b = {0};

	for (size_t i = 0; !b.nr && i < nr; i++)
		hv_code_list(c->core, functions[i], note_back, &b);
	*ret = b.list[0];
	return b.nr == 1;
}

/* The kernel frees an array through the struct rcu_head that precedes it, in a separate function or
 * in the functions that add and remove a callback. */
static void derive_array(const struct context *c)
{
	static const char *const release[] = {"release_probes"};
	uint32_t added, removed, released, element;
	bool adds = find_back(c, adders, HV_ARRAY_LEN(adders), &added),
	     removes = find_back(c, removers, HV_ARRAY_LEN(removers), &removed),
	     releases = find_back(c, release, 1, &released);
	uint32_t off = releases ? released : adds ? added : removed;

	if ((!adds && !removes && !releases) || (adds && added != off) ||
	    (removes && removed != off) || !find_off(c, "tracepoint_func", "func", &element))
		return;
	add(c, "tp_probes", "probes", off, 24, "tracepoint_func",
	    adds + removes + releases > 1 ? CODE | OTHER : CODE);
}

/* -- struct trace_event_file, struct trace_event_buffer ---------------------------------------- */

struct enabling {
	uint32_t off;
	uint64_t bit;
	bool is_other, sets, clears;
};

/* event_enable_trigger() changes only the bit EVENT_FILE_FL_SOFT_DISABLED of the file's flags. */
static void note_enabling(void *ctx, const struct hv_member_use *use)
{
	struct enabling *e = ctx;
	uint64_t all = use->len_bytes >= 8 ? UINT64_MAX : (UINT64_C(1) << use->len_bytes * 8) - 1,
		 bit;
	bool sets;

	if (use->from != HV_ROOT_ARGUMENT || use->root || use->nr_steps != 2 ||
	    use->kind != HV_MEMBER_WRITE || !use->has_mask)
		return;
	sets = __builtin_popcountll(use->mask & all) == 1;
	if (!sets && __builtin_popcountll(~use->mask & all) != 1)
		return;
	bit = (sets ? use->mask : ~use->mask & all) << use->off % 8 * 8;
	e->is_other |= e->bit && (e->bit != bit || e->off != (use->off & ~7u));
	e->bit = bit;
	e->off = use->off & ~7u;
	*(sets ? &e->sets : &e->clears) = true;
}

/* Returns whether the callbacks of events read the member of their file. */
static bool is_read_by_callbacks(const struct context *c, uint32_t off)
{
	unsigned nr = 0, nr_good = 0;

	for (size_t i = 0; i < c->tracepoints.nr && i < TRIES_MAX && nr < CALLERS_MAX; i++) {
		char function[HV_SYMBOL_NAME_MAX + 32] = "trace_event_raw_event_";
		struct hv_code_offs offs;
		bool has_other = false;

		strncat(function, c->tracepoints.list[i].name, HV_SYMBOL_NAME_MAX);
		offs = uses(c, function, 0, USE(READ), 0);
		for (unsigned j = 0; j < offs.nr; j++)
			has_other |= (offs.list[j] & ~7u) != off;
		nr += offs.nr != 0;
		nr_good += offs.nr && !has_other;
	}
	return nr > HV_OBJECTS_MIN && nr_good > nr - nr / 8 - 1;
}

static void derive_file(const struct context *c)
{
	struct enabling e = {0};
	unsigned proofs = CODE;

	hv_code_follow(c->core, "event_enable_trigger", note_enabling, &e);
	if (!e.sets || !e.clears || e.is_other || e.bit > UINT16_MAX)
		return;
	if (is_read_by_callbacks(c, e.off))
		proofs |= OTHER;
	add(c, "trace_event_file", "flags", e.off, 8, NULL, proofs);
	hv_facts_add_number(&c->d->facts, "EVENT_FILE_FL_SOFT_DISABLED", (int32_t)e.bit);
}

struct file_search {
	uint32_t call, array, flags; /* of struct trace_event_file */
	uint32_t file;
	bool is_found, is_other;
};

/* Notes the member of the argument that points to the file, whose flags the function reads. */
static void note_file(void *ctx, const struct hv_member_use *use)
{
	struct file_search *s = ctx;

	if (use->from != HV_ROOT_ARGUMENT || use->root || use->nr_steps != 1 ||
	    use->kind != HV_MEMBER_READ || (use->off & ~7u) != s->flags)
		return;
	s->is_other |= s->is_found && s->file != use->steps[0];
	s->file = use->steps[0];
	s->is_found = true;
}

/* trace_file is between `event` and `entry`. trace_event_buffer_reserve() writes all three, and
 * trace_event_buffer_commit() reads them. */
static void derive_buffer(const struct context *c)
{
	static const char type[] = "trace_event_buffer";
	struct file_search s = {0};
	struct hv_code_offs written = uses(c, "trace_event_buffer_reserve", 0, USE(WRITE), 8),
			    read = uses(c, "trace_event_buffer_commit", 0, USE(READ), 8);

	if (!find_off(c, "trace_event_file", "flags", &s.flags))
		return;
	hv_code_follow(c->core, "trace_event_buffer_commit", note_file, &s);
	if (!s.is_found || s.is_other || s.file < 8)
		return;
	for (uint32_t off = s.file - 8; off <= s.file + 8; off += 8)
		if (!hv_code_offs_have(&written, off) || !hv_code_offs_have(&read, off))
			return;
	add(c, type, "event", s.file - 8, 8, NULL, CODE | OTHER);
	add(c, type, "trace_file", s.file, 8, NULL, CODE | OTHER);
	add(c, type, "entry", s.file + 8, 8, NULL, CODE | OTHER);
}

/* -- tasks ------------------------------------------------------------------------------------- */

/* TS_COMPAT: the task executes a 32-bit system call. */
static const struct hv_member of_thread_info[] = {
	{"status", 4, NULL, NULL,
	 .code = {{"ftrace_syscall_enter", HV_CODE_CURRENT, USE(READ), 0, 2},
		  {"ftrace_syscall_exit", HV_CODE_CURRENT, USE(READ), 0, 2},
		  {"perf_syscall_enter", HV_CODE_CURRENT, USE(READ), 0, 2},
		  {"perf_syscall_exit", HV_CODE_CURRENT, USE(READ), 0, 2}}},
};

struct marking {
	uint32_t node; /* offset of the link in the list of threads */
	int64_t off;
	unsigned bit;
	unsigned nr;
	bool uses_node, is_other;
};

/* Notes the bit that syscall_regfunc() sets, or syscall_unregfunc() clears, in each task. */
static void note_marking(void *ctx, const struct hv_member_use *use)
{
	struct marking *m = ctx;
	uint64_t all = use->len_bytes >= 8 ? UINT64_MAX : (UINT64_C(1) << use->len_bytes * 8) - 1,
		 mask = use->mask & all;
	int64_t off = (int32_t)use->off;

	m->uses_node |= use->kind == HV_MEMBER_READ && use->len_bytes == 8 && use->off == m->node;
	if (use->kind != HV_MEMBER_WRITE || !use->has_mask)
		return;
	if (__builtin_popcountll(mask) != 1)
		mask = ~mask & all;
	if (__builtin_popcountll(mask) != 1)
		return;
	if (off < 0)
		off += m->node;
	m->is_other |= m->nr && m->off != (off & ~7);
	m->off = off & ~7;
	m->bit = (unsigned)__builtin_ctzll(mask) + (unsigned)(off & 7) * 8;
	m->nr++;
}

/* Before 5.11 (3136b93c3fb2) the bit is one of the thread flags. */
static void derive_work(const struct context *c)
{
	struct marking set = {0}, cleared = {0};
	uint32_t flags;

	if (!find_off(c, "task_struct", "thread_node", &set.node) ||
	    !find_off(c, "thread_info", "flags", &flags))
		return;
	cleared.node = set.node;
	hv_code_list(c->core, "syscall_regfunc", note_marking, &set);
	hv_code_list(c->core, "syscall_unregfunc", note_marking, &cleared);
	if (set.uses_node && cleared.uses_node)
		hv_facts_add_proof(&c->d->facts, "task_struct", "thread_node", CODE);
	if (!set.nr || !cleared.nr || set.is_other || cleared.is_other || set.off != cleared.off ||
	    set.bit != cleared.bit || set.off < 0 || set.off > 64)
		return;
	if (set.off == flags) {
		hv_facts_add_number(&c->d->facts, "TIF_SYSCALL_TRACEPOINT", (int32_t)set.bit);
		return;
	}
	add(c, "thread_info", "syscall_work", (uint32_t)set.off, 8, NULL, CODE | OTHER);
	hv_facts_add_number(&c->d->facts, "SYSCALL_WORK_BIT_SYSCALL_TRACEPOINT", (int32_t)set.bit);
}

void hv_tracepoint_members_derive(struct hv_deriving *d)
{
	hv_cleanup(context_deinit) struct context c = {.d = d, .core = d->core};

	hv_objects_read(d->core, "__tracepoint_", "__tpstrtab_", &c.tracepoints);
	hv_jump_members_derive(d);
	derive_tracepoint(&c);
	derive_callback(&c);
	derive_array(&c);
	derive_file(&c);
	derive_buffer(&c);
	hv_members_derive(d, "thread_info", of_thread_info, HV_ARRAY_LEN(of_thread_info), NULL, 0);
	derive_work(&c);
}
