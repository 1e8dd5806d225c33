/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/events/tracepoint_state.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/arch/kernel_arch.h"
#include "kernel/core/btf_members.h"
#include "kernel/events/event_layout.h"
#include "kernel/kernel.h"

/* Finds the static key that the tracepoints of page faults share. Fails with ENOENT if this kernel
 * does not have it: kernels after 6.15 treat these tracepoints like others
 * (arch/x86/kernel/tracepoint.c). */
static struct hv_err *common_key_find(const struct hv_kernel *k, struct hv_common_key *ret)
{
	struct hv_common_key c = {0};
	const struct {
		const char *name;
		struct hv_gva *at;
	} symbols[] = {
		{"trace_pagefault_reg", &c.reg},
		{"trace_pagefault_unreg", &c.unreg},
		{"trace_pagefault_key", &c.key},
		{"__tracepoint_page_fault_user", &c.tracepoints[0]},
		{"__tracepoint_page_fault_kernel", &c.tracepoints[1]},
	};
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < HV_ARRAY_LEN(symbols); i++)
		err = hv_core_need(&k->core, symbols[i].name, symbols[i].at);
	if (!err)
		*ret = c;
	return err;
}

/* Since 5.11 the flag is in thread_info.syscall_work on every architecture with the generic entry
 * code (3136b93c3fb2), and its number is an enumerator. Before, it is one of the architecture's
 * thread flags. */
static bool find_flag(const struct hv_kernel_core *core, struct hv_syscall_work *w)
{
	const struct hv_field flags[] = {{"thread_info.flags", 4, &w->flag_off}};
	int64_t bit = hv_kernel_arch_of(core)->syscall_tracepoint_bit;
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (hv_btf_member(core->btf, "task_struct", "thread_info.syscall_work", &w->flag_off,
			  NULL)) {
		err = hv_enumerator_find(core, "SYSCALL_WORK_BIT_SYSCALL_TRACEPOINT", &bit);
		if (!err)
			err = hv_btf_need_proof(core, "task_struct", "thread_info.syscall_work");
	} else {
		/* Derived types have this enumerator only if code shows that the kernel uses the
		 * thread flag. */
		if (!hv_types_are_whole(core) &&
		    !hv_btf_enumerator(core->btf, "TIF_SYSCALL_TRACEPOINT", &bit))
			bit = -1;
		err = hv_fields_find_proved(core, "task_struct", flags, HV_ARRAY_LEN(flags));
	}
	if (err || bit < 0 || bit > 31)
		return false;
	w->flag_off += (uint32_t)bit / 8;
	w->flag = (uint8_t)(1u << bit % 8);
	return true;
}

/* Returns false if this kernel uses an unknown mechanism. */
static bool syscall_work_find(const struct hv_kernel *k, struct hv_syscall_work *ret)
{
	struct hv_syscall_work w = {0};
	const struct hv_kernel_core *core = &k->core;
	const struct hv_field task[] = {{"thread_node", 16, &w.node_off}};
	const struct hv_field node[] = {{"next", 8, &w.next_off}, {"prev", 8, &w.prev_off}};
	HV_AUTO_ERR struct hv_err *err = hv_core_need(core, "syscall_regfunc", &w.reg);

	if (!err)
		err = hv_core_need(core, "syscall_unregfunc", &w.unreg);
	if (!err)
		err = hv_core_need(core, "sys_tracepoint_refcount", &w.count);
	if (!err)
		err = hv_core_need(core, "__tracepoint_sys_enter", &w.tracepoints[0]);
	if (!err)
		err = hv_core_need(core, "__tracepoint_sys_exit", &w.tracepoints[1]);
	if (!err)
		err = hv_fields_find_proved(core, "task_struct", task, HV_ARRAY_LEN(task));
	if (!err)
		err = hv_fields_find(core, "list_head", node, HV_ARRAY_LEN(node));
	if (err || !find_flag(core, &w))
		return false;
	*ret = w;
	return true;
}

/* Limits on guest data. */
#define CALLBACKS_MAX	 1024u
#define CALLBACK_MAX_LEN 64u

/* Number of attempts to read the callbacks while the guest replaces their array. */
#define READS_MAX 8

/* The locks that the kernel holds while it adds or removes a callback or changes code. */
static const struct {
	const char *name;
	bool is_of_static_calls; /* only kernels with static calls have it */
} locks[HV_TRACEPOINT_LOCKS] = {
	{"tracepoints_mutex", false}, {"tracepoint_module_list_mutex", false},
	{"jump_label_mutex", false},  {"static_call_mutex", true},
	{"text_mutex", false},
};

static struct hv_err *find_static_call(const struct hv_kernel_core *core,
				       struct hv_tracepoint_layout *l)
{
	const struct hv_field call[] = {{"func", 8, &l->static_call_func}};
	const struct hv_field key[] = {{"static_call_key", 8, &l->static_call}};
	struct hv_gva at;
	struct hv_err *err = hv_member_find_proved(core, "tracepoint", "static_call_key",
						   &l->static_call, &l->has_static_call);

	/* Only kernels with static calls have the function. */
	if (!err && !l->has_static_call && !hv_types_are_whole(core) &&
	    hv_core_symbol(core, "__static_call_update", &at))
		err = hv_fields_find_proved(core, "tracepoint", key, 1);
	if (err || !l->has_static_call)
		return err;
	return hv_fields_find_proved(core, "static_call_key", call, HV_ARRAY_LEN(call));
}

#define EMPTY_BYTES 64 /* more than an empty function has */

/* Older kernels, such as 4.19, have no tp_stub_func(). */
static struct hv_err *find_stub_func(const struct hv_kernel_core *core,
				     struct hv_tracepoint_layout *l)
{
	const struct hv_arch *arch = core->as.arch;
	struct hv_gva at;

	l->drops_stub = hv_core_symbol(core, "tp_stub_func", &l->stub_func);
	if (l->drops_stub)
		return NULL;
	if (!arch->is_empty_function || !hv_core_symbol(core, "clockevents_handle_noop", &at) ||
	    !arch->is_empty_function(hv_image_part(&core->image, at, EMPTY_BYTES)))
		return hv_core_need(core, "tp_stub_func", &l->stub_func);
	l->stub_func = at;
	return NULL;
}

static struct hv_err *find_locks(const struct hv_kernel_core *core, struct hv_tracepoint_layout *l)
{
	uint32_t owner = 0;
	struct hv_err *err = hv_mutex_owner_find(core, &owner);

	for (size_t i = 0; !err && i < HV_TRACEPOINT_LOCKS; i++) {
		struct hv_gva at;

		if (locks[i].is_of_static_calls && !l->has_static_call)
			continue;
		err = hv_core_need(core, locks[i].name, &at);
		if (!err) {
			l->locks[l->nr_locks].name = locks[i].name;
			l->locks[l->nr_locks++].owner = hv_gva_add(at, owner);
		}
	}
	return err ? err : find_stub_func(core, l);
}

static struct hv_err *find_tracepoint(const struct hv_kernel_core *core,
				      struct hv_tracepoint_layout *l)
{
	const struct hv_field members[] = {{"funcs", 8, &l->funcs}, {"key", 0, &l->key}};
	struct hv_err *err =
		hv_fields_find_proved(core, "tracepoint", members, HV_ARRAY_LEN(members));

	if (!err)
		err = hv_struct_size_find(core, "tracepoint", HV_EVENT_STRUCT_MAX, &l->len_bytes);
	if (!err)
		err = hv_iterator_find(core, &l->iterator, &l->has_iterators);
	if (!err && l->has_iterators)
		err = hv_btf_need_proof(core, "tracepoint", "iterator");
	/* With static calls, a caller that finds several callbacks needs the iterator. */
	if (!err && l->has_static_call && !l->has_iterators)
		err = hv_err_new(ENOENT, "BTF: no member iterator in struct tracepoint");
	return err;
}

static struct hv_err *find_file(const struct hv_kernel_core *core, struct hv_tracepoint_layout *l)
{
	const struct hv_field file[] = {{"flags", 4, &l->file_flags}};
	int64_t flag = 0;
	struct hv_err *err = hv_enumerator_find(core, "EVENT_FILE_FL_SOFT_DISABLED", &flag);

	if (err)
		return err;
	l->file_soft_disabled = (uint64_t)flag;
	return hv_fields_find_proved(core, "trace_event_file", file, HV_ARRAY_LEN(file));
}

/* Without the layout of static calls, hvtrace cannot add its callback to tracepoints that the guest
 * uses. */
static void find_calls(const struct hv_kernel *k, struct hv_tracepoint_layout *l)
{
	HV_AUTO_ERR struct hv_err *err = hv_call_layout_find(k, &l->calls);

	l->has_calls = !err;
}

/* Without the layout of the shared key, page faults cannot be recorded in kernels with such a
 * key. */
static void find_common(const struct hv_kernel *k, struct hv_tracepoint_layout *l)
{
	HV_AUTO_ERR struct hv_err *err = common_key_find(k, &l->common);

	l->has_common = !err;
}

struct hv_err *hv_tracepoint_layout_find(const struct hv_kernel *k,
					 struct hv_tracepoint_layout *ret)
{
	struct hv_tracepoint_layout l = {0};
	const struct hv_kernel_core *core = &k->core;
	const struct hv_field key[] = {{"enabled", 4, &l.enabled}};
	const struct hv_field array[] = {{"probes", 0, &l.callbacks}};
	const struct hv_field callback[] = {
		{"func", 8, &l.func}, {"data", 8, &l.data}, {"prio", 4, &l.prio}};
	struct hv_err *err = hv_fields_find_proved(core, "static_key", key, HV_ARRAY_LEN(key));

	if (!err)
		err = hv_fields_find_proved(core, "tp_probes", array, HV_ARRAY_LEN(array));
	if (!err)
		err = hv_fields_find_proved(core, "tracepoint_func", callback,
					    HV_ARRAY_LEN(callback));
	if (!err)
		err = hv_struct_size_find(core, "tracepoint_func", CALLBACK_MAX_LEN,
					  &l.callback_len_bytes);
	if (!err)
		err = find_static_call(core, &l);
	if (!err)
		err = find_tracepoint(core, &l);
	if (!err)
		err = find_locks(core, &l);
	if (!err)
		err = hv_jump_layout_find(k, &l.jumps);
	if (!err)
		find_calls(k, &l);
	/* Without l.syscalls, system calls cannot be recorded. */
	l.has_syscalls = !err && syscall_work_find(k, &l.syscalls);
	if (!err)
		find_common(k, &l);
	if (!err)
		err = find_file(core, &l);
	if (!err)
		*ret = l;
	return err;
}

/* Adds words on which the state depends. */
static void add_words(struct hv_tracepoint_state *s, const struct hv_word *words, size_t nr)
{
	s->words = hv_realloc_array(s->words, s->nr_words + nr + 1, sizeof(*s->words));
	if (nr)
		memcpy(s->words + s->nr_words, words, nr * sizeof(*words));
	s->nr_words += nr;
}

static void add_callback(struct hv_tracepoint_state *s,
			 const struct hv_tracepoint_callback *callback)
{
	s->callbacks = hv_realloc_array(s->callbacks, s->nr_callbacks + 1, sizeof(*s->callbacks));
	s->callbacks[s->nr_callbacks++] = *callback;
}

static struct hv_err *read_callbacks(const struct hv_kernel *k,
				     const struct hv_tracepoint_layout *l,
				     struct hv_tracepoint_state *s)
{
	uint8_t bytes[CALLBACK_MAX_LEN];
	struct hv_span copy = {bytes, l->callback_len_bytes};

	for (uint64_t at = s->funcs; at; at += l->callback_len_bytes) {
		struct hv_tracepoint_callback callback = {.at = hv_gva(at)};
		struct hv_err *err = hv_read(&k->core.as, callback.at, bytes, copy.len_bytes);

		if (err)
			return err;
		callback.func = hv_copy_u64(copy, l->func);
		callback.data = hv_copy_u64(copy, l->data);
		callback.priority = hv_copy_u32(copy, l->prio);
		if (!callback.func) {
			add_words(s, &(struct hv_word){hv_gva(at + l->func), 0, UINT64_MAX}, 1);
			break;
		}
		if (s->nr_callbacks == CALLBACKS_MAX)
			return hv_err_new(E2BIG, "the list does not end after %u callbacks",
					  CALLBACKS_MAX);
		add_callback(s, &callback);
	}
	return NULL;
}

static struct hv_err *read_key_site(const struct hv_kernel *k, const struct hv_jump_site *site,
				    struct hv_key_site *ret)
{
	const struct hv_arch *arch = k->core.as.arch;
	struct hv_key_site key_site = {.at = site->code, .target = site->target};
	struct hv_gva unused;
	struct hv_err *err = hv_read(&k->core.as, site->code, key_site.bytes, arch->site_len_bytes);

	if (err)
		return err;
	key_site.len_bytes = (uint8_t)arch->classify_jump_site(key_site.bytes, key_site.at,
							       key_site.target, &key_site.jumps);
	if (key_site.len_bytes) {
		*ret = key_site;
		return NULL;
	}
	if (arch->classify_site(key_site.bytes, key_site.at, &unused) == HV_SITE_BREAKPOINT)
		return hv_err_new(EBUSY, "the kernel is changing its code at 0x%llx",
				  (unsigned long long)key_site.at.v);
	return hv_err_new(EINVAL, "0x%llx has neither a nop nor a jump",
			  (unsigned long long)key_site.at.v);
}

/* Adds the sites of the static key at KEY. */
static struct hv_err *read_key_sites(const struct hv_kernel *k,
				     const struct hv_tracepoint_layout *l, struct hv_gva key,
				     struct hv_tracepoint_state *s)
{
	hv_cleanup(hv_jump_sites_deinit) struct hv_jump_sites sites = {0};
	struct hv_err *err = hv_jump_sites_read(k, &l->jumps, key, &sites);

	if (err)
		return err;
	add_words(s, sites.words, sites.nr_words);
	s->key_sites = hv_realloc_array(s->key_sites, s->nr_key_sites + sites.nr + 1,
					sizeof(*s->key_sites));
	for (size_t i = 0; !err && i < sites.nr; i++) {
		const struct hv_jump_site *site = &sites.list[i];

		if (site->is_init)
			continue;
		err = read_key_site(k, site, &s->key_sites[s->nr_key_sites]);
		/* Sites are reported as if the key is off. */
		if (!err && site->is_default_on)
			err = hv_err_new(EINVAL, "0x%llx is a jump while the key is off",
					 (unsigned long long)site->code.v);
		s->nr_key_sites += !err;
	}
	return err;
}

static struct hv_err *read_static_call(const struct hv_kernel *k,
				       const struct hv_tracepoint_layout *l,
				       const struct hv_tracepoint *tp,
				       struct hv_tracepoint_state *s)
{
	uint64_t key;
	struct hv_err *err;

	if (!l->has_static_call)
		return NULL;
	err = hv_read_u64(&k->core.as, hv_gva_add(tp->at, l->static_call), &key);
	if (err)
		return err;
	s->static_call_at = hv_gva(key + l->static_call_func);
	return hv_read_u64(&k->core.as, s->static_call_at, &s->static_call);
}

/* Ignores invalid calls, because they only matter to code that changes them. */
static struct hv_err *read_calls(const struct hv_kernel *k, const struct hv_tracepoint_layout *l,
				 const struct hv_tracepoint *tp, struct hv_tracepoint_state *s)
{
	struct hv_err *err;

	if (!l->has_calls || !s->funcs || !s->static_call)
		return NULL;
	err = hv_call_sites_read(k, &l->calls, tp, &s->calls);
	if (err && err->code != EBUSY) {
		hv_err_free(err);
		return NULL;
	}
	if (!err)
		add_words(s, s->calls.words, s->calls.nr_words);
	return err;
}

/* Reads 32 bits on which the state depends. */
static struct hv_err *read_count(const struct hv_kernel *k, struct hv_gva at,
				 struct hv_tracepoint_state *s, uint32_t *ret)
{
	struct hv_err *err = hv_read_u32(&k->core.as, at, ret);

	if (!err)
		add_words(s, &(struct hv_word){at, *ret, UINT32_MAX}, 1);
	return err;
}

/* If TP is one of the NR TRACEPOINTS, reads the number of enabled ones among them at AT. */
static struct hv_err *read_counted(const struct hv_kernel *k, const struct hv_tracepoint_layout *l,
				   const struct hv_tracepoint *tp, struct hv_gva at,
				   const struct hv_gva *tracepoints, size_t nr,
				   struct hv_tracepoint_state *s)
{
	struct hv_err *err = NULL;
	bool is_one = false;

	for (size_t i = 0; i < nr; i++)
		is_one |= tracepoints[i].v == tp->at.v;
	if (!is_one)
		return NULL;
	s->is_counted = true;
	s->count_at = at;
	for (size_t i = 0; !err && i < nr; i++) {
		struct hv_gva key = hv_gva_add(tracepoints[i], l->key);
		uint32_t enabled = 0;

		if (tracepoints[i].v != tp->at.v)
			err = read_count(k, hv_gva_add(key, l->enabled), s, &enabled);
		s->nr_others_on += enabled != 0;
	}
	return err ? err : read_count(k, at, s, &s->nr_on);
}

static struct hv_err *read_syscalls(const struct hv_kernel *k, const struct hv_tracepoint_layout *l,
				    const struct hv_tracepoint *tp, struct hv_tracepoint_state *s)
{
	const struct hv_syscall_work *w = &l->syscalls;

	if (!l->has_syscalls)
		return NULL;
	return read_counted(k, l, tp, w->count, w->tracepoints, HV_ARRAY_LEN(w->tracepoints), s);
}

static struct hv_err *read_common(const struct hv_kernel *k, const struct hv_tracepoint_layout *l,
				  const struct hv_tracepoint *tp, struct hv_tracepoint_state *s)
{
	const struct hv_common_key *c = &l->common;
	bool was_counted = s->is_counted;
	struct hv_err *err;

	if (!l->has_common)
		return NULL;
	err = read_counted(k, l, tp, hv_gva_add(c->key, l->enabled), c->tracepoints,
			   HV_ARRAY_LEN(c->tracepoints), s);
	if (!err && s->is_counted && !was_counted)
		err = read_key_sites(k, l, c->key, s);
	return err;
}

/* Reads the callbacks into RET, which is empty. *RET_STAYED: the tracepoint still has the array
 * that was read. If not, the guest may have freed it before the read. */
static struct hv_err *read_array(const struct hv_kernel *k, const struct hv_tracepoint_layout *l,
				 const struct hv_tracepoint *tp, struct hv_gva_range ours,
				 struct hv_tracepoint_state *ret, bool *ret_stayed)
{
	uint64_t now;
	struct hv_err *why = NULL, *err = hv_read_u64(&k->core.as, tp->funcs, &ret->funcs);

	if (!err && !hv_gva_in(hv_gva(ret->funcs), ours))
		why = read_callbacks(k, l, ret);
	if (!err)
		err = hv_read_u64(&k->core.as, tp->funcs, &now);
	*ret_stayed = err || now == ret->funcs;
	if (!err && *ret_stayed)
		err = hv_take(why);
	hv_err_free(why);
	return err;
}

struct hv_err *hv_tracepoint_callbacks_read(const struct hv_kernel *k,
					    const struct hv_tracepoint_layout *layout,
					    const struct hv_tracepoint *tp,
					    struct hv_gva_range ours,
					    struct hv_tracepoint_state *ret)
{
	for (unsigned i = 0; i < READS_MAX; i++) {
		struct hv_tracepoint_state s = {0};
		bool stayed;
		struct hv_err *err = read_array(k, layout, tp, ours, &s, &stayed);

		if (!err && stayed) {
			*ret = s;
			return NULL;
		}
		hv_tracepoint_state_deinit(&s);
		if (err)
			return err;
	}
	return hv_err_new(EBUSY, "the guest is replacing its callbacks; retry");
}

struct hv_err *hv_tracepoint_callbacks_at(const struct hv_kernel *k,
					  const struct hv_tracepoint_layout *layout, uint64_t funcs,
					  struct hv_tracepoint_state *ret)
{
	struct hv_tracepoint_state s = {.funcs = funcs};
	struct hv_err *err = read_callbacks(k, layout, &s);

	if (err)
		hv_tracepoint_state_deinit(&s);
	else
		*ret = s;
	return err;
}

struct hv_err *hv_tracepoint_state_read(const struct hv_kernel *k,
					const struct hv_tracepoint_layout *layout,
					const struct hv_tracepoint *tp, struct hv_gva_range ours,
					struct hv_tracepoint_state *ret)
{
	hv_cleanup(hv_tracepoint_state_deinit) struct hv_tracepoint_state s = {0};
	struct hv_err *err = hv_tracepoint_callbacks_read(k, layout, tp, ours, &s);

	if (!err)
		err = hv_read_u32(&k->core.as, hv_gva_add(tp->key, layout->enabled), &s.enabled);
	if (!err)
		err = read_static_call(k, layout, tp, &s);
	if (!err)
		err = read_key_sites(k, layout, tp->key, &s);
	s.nr_own_key_sites = s.nr_key_sites;
	if (!err)
		err = read_calls(k, layout, tp, &s);
	if (!err)
		err = read_syscalls(k, layout, tp, &s);
	if (!err)
		err = read_common(k, layout, tp, &s);
	if (err)
		return hv_err_in(err, "tracepoint 0x%llx", (unsigned long long)tp->at.v);
	*ret = s;
	s = (struct hv_tracepoint_state){0};
	return NULL;
}

void hv_tracepoint_state_deinit(struct hv_tracepoint_state *s)
{
	free(s->callbacks);
	free(s->key_sites);
	hv_call_sites_deinit(&s->calls);
	free(s->words);
	*s = (struct hv_tracepoint_state){0};
}

struct sameness {
	const struct hv_kernel *k;
	struct hv_err *err; /* the first error */
	bool is_same;
};

static void compare_bits(struct sameness *c, const struct hv_word *word)
{
	uint64_t now;

	if (c->err || !c->is_same)
		return;
	c->err = hv_read_u64(&c->k->core.as, word->at, &now);
	c->is_same = !c->err && (now & word->mask) == word->value;
}

static void compare(struct sameness *c, struct hv_gva at, uint64_t value)
{
	compare_bits(c, &(struct hv_word){at, value, UINT64_MAX});
}

struct hv_err *hv_tracepoint_state_is_same(const struct hv_kernel *k,
					   const struct hv_tracepoint_layout *layout,
					   const struct hv_tracepoint *tp,
					   const struct hv_tracepoint_state *s, bool *ret)
{
	struct sameness c = {.k = k, .is_same = true};
	uint32_t enabled;

	c.err = hv_read_u32(&k->core.as, hv_gva_add(tp->key, layout->enabled), &enabled);
	c.is_same = !c.err && enabled == s->enabled;
	compare(&c, tp->funcs, s->funcs);
	if (s->static_call_at.v)
		compare(&c, s->static_call_at, s->static_call);
	for (size_t i = 0; i < s->nr_callbacks; i++) {
		compare(&c, hv_gva_add(s->callbacks[i].at, layout->func), s->callbacks[i].func);
		compare(&c, hv_gva_add(s->callbacks[i].at, layout->data), s->callbacks[i].data);
	}
	for (size_t i = 0; i < s->nr_words; i++)
		compare_bits(&c, &s->words[i]);
	*ret = c.is_same;
	return c.err;
}

struct hv_err *hv_tracepoint_at(const struct hv_kernel *k,
				const struct hv_tracepoint_layout *layout, struct hv_gva at,
				struct hv_tracepoint *ret)
{
	struct hv_tracepoint tp = {.at = at,
				   .key = hv_gva_add(at, layout->key),
				   .funcs = hv_gva_add(at, layout->funcs)};
	struct hv_err *err = NULL;

	if (layout->has_iterators)
		err = hv_read_u64(&k->core.as, hv_gva_add(at, layout->iterator), &tp.iterator.v);
	if (!err)
		*ret = tp;
	return err;
}

struct hv_err *hv_tracepoints_locked(const struct hv_kernel *k,
				     const struct hv_tracepoint_layout *layout, const char **ret)
{
	for (size_t i = 0; i < layout->nr_locks; i++) {
		uint64_t owner;
		struct hv_err *err = hv_read_u64(&k->core.as, layout->locks[i].owner, &owner);

		if (err)
			return err;
		if (!owner)
			continue;
		*ret = layout->locks[i].name;
		return NULL;
	}
	*ret = NULL;
	return NULL;
}
