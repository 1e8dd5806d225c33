/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/events/callback_calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/grow.h"
#include "base/prefix.h"
#include "kernel/arch/kernel_arch.h"
#include "kernel/core/btf_members.h"
#include "kernel/kernel.h"

/* include/trace/trace_events.h. Since 6.12 (0e6caab8db8b) a callback may consist of two functions;
 * the inner one has a different prefix. */
#define CALLBACK_PREFIX "trace_event_raw_event_"
#define INNER_PREFIX	"do_"

/* With call-depth tracking, a call targets code that the kernel has placed before the function
 * (6.2, eaf44c816ed8). */
#define PADDING_MAX_BYTES 16u

/* Returns the name of the callback that the function NAME is part of: without the inner prefix and
 * compiler-generated suffixes such as ".cold". Returns NULL if it is not part of a callback. */
static const char *callback_of(const char *name, size_t *ret_len)
{
	if (hv_starts_with(name, INNER_PREFIX))
		name += strlen(INNER_PREFIX);
	if (!hv_starts_with(name, CALLBACK_PREFIX))
		return NULL;
	*ret_len = strcspn(name, ".");
	return name;
}

static int compare_names(const char *a, size_t a_len, const char *b, size_t b_len)
{
	int order = memcmp(a, b, a_len < b_len ? a_len : b_len);

	return order ? order : (a_len > b_len) - (a_len < b_len);
}

static int by_callback(const void *a, const void *b)
{
	const struct hv_callback_call *x = a, *y = b;
	int order = compare_names(x->callback, x->callback_len, y->callback, y->callback_len);

	return order ? order : (x->call.at.v > y->call.at.v) - (x->call.at.v < y->call.at.v);
}

struct hv_gva_range hv_callback_call_targets(struct hv_gva function)
{
	return (struct hv_gva_range){hv_gva(function.v - PADDING_MAX_BYTES),
				     hv_gva_add(function, 1)};
}

struct reading {
	const struct hv_kernel *k;
	struct hv_gva reserve, commit;
	struct hv_callback_calls calls;
	size_t cap;
};

static void add(struct reading *r, const struct hv_callback_call *call)
{
	struct hv_callback_calls *c = &r->calls;

	c->list = hv_grow(c->list, c->nr, &r->cap, 2048, sizeof(*c->list));
	c->list[c->nr++] = *call;
}

/* Adds the calls of FUNCTION in the part of a callback at SYMBOL. */
static struct hv_err *add_calls(struct reading *r, const struct hv_symbol *symbol,
				struct hv_gva function, const struct hv_callback_call *template)
{
	hv_cleanup(hv_calls_deinit) struct hv_calls calls = {0};
	struct hv_err *err =
		hv_calls_find(r->k, symbol->addr, hv_callback_call_targets(function), &calls);

	for (size_t i = 0; !err && i < calls.nr; i++) {
		struct hv_callback_call call = *template;

		call.call = calls.list[i];
		add(r, &call);
	}
	return err;
}

static struct hv_err *read_function(struct reading *r, const struct hv_symbol *symbol)
{
	struct hv_callback_call call = {0};
	struct hv_err *err;

	call.callback = callback_of(symbol->name, &call.callback_len);
	if (!call.callback)
		return NULL;
	err = add_calls(r, symbol, r->reserve, &call);
	call.commits = true;
	return err ? err : add_calls(r, symbol, r->commit, &call);
}

static struct hv_err *read_symbols(const struct hv_kernel *k, const struct hv_symbols *symbols,
				   struct hv_callback_calls *ret)
{
	struct reading r = {.k = k};
	struct hv_err *err = hv_core_need(&k->core, "trace_event_buffer_reserve", &r.reserve);

	if (!err)
		err = hv_core_need(&k->core, "trace_event_buffer_commit", &r.commit);
	for (size_t i = 0; !err && i < symbols->nr; i++)
		err = read_function(&r, &symbols->by_addr[i]);
	if (err) {
		hv_callback_calls_deinit(&r.calls);
		return err;
	}
	if (r.calls.nr)
		qsort(r.calls.list, r.calls.nr, sizeof(*r.calls.list), by_callback);
	*ret = r.calls;
	return NULL;
}

struct hv_err *hv_callback_calls_read(const struct hv_kernel *k, struct hv_callback_calls *ret)
{
	return read_symbols(k, &k->core.symbols, ret);
}

/* Copies the names, because the symbols of modules are read again when any module is loaded or
 * removed. */
static void own_names(struct hv_callback_calls *c)
{
	size_t len = 0;
	char *to;

	for (size_t i = 0; i < c->nr; i++)
		len += c->list[i].callback_len;
	to = c->names = hv_alloc(len + 1);
	for (size_t i = 0; i < c->nr; i++) {
		memcpy(to, c->list[i].callback, c->list[i].callback_len);
		c->list[i].callback = to;
		to += c->list[i].callback_len;
	}
}

struct hv_err *hv_callback_calls_read_module(const struct hv_kernel *k,
					     const struct hv_module *module,
					     struct hv_callback_calls *ret)
{
	struct hv_err *err = read_symbols(k, &module->symbols, ret);

	if (!err)
		own_names(ret);
	return err;
}

void hv_callback_calls_deinit(struct hv_callback_calls *c)
{
	free(c->list);
	free(c->names);
	*c = (struct hv_callback_calls){0};
}

/* Returns the index of the first call of the callback NAME, or where it would be inserted. */
static size_t find_first(const struct hv_callback_calls *c, const char *name, size_t len)
{
	const struct hv_callback_call *l = c->list;

	return HV_BISECT(i, c->nr, compare_names(l[i].callback, l[i].callback_len, name, len) < 0);
}

static struct hv_err *check_calls(const struct hv_kernel *k, const struct hv_callback_call *list,
				  size_t nr)
{
	bool reserves = false, commits = false;

	for (size_t i = 0; i < nr; i++) {
		struct hv_gva at = list[i].call.at;

		if (hv_site_crosses_pages(k->core.as.arch, at.v))
			return hv_err_new(EOPNOTSUPP,
					  "a call of its callback, at 0x%llx, is in two pages",
					  (unsigned long long)at.v);
		*(list[i].commits ? &commits : &reserves) = true;
	}
	if (reserves && commits)
		return NULL;
	return hv_err_new(EOPNOTSUPP, "its callback does not call trace_event_buffer_%s",
			  reserves ? "commit" : "reserve");
}

/* Returns the name of the callback with the function at AT, or NULL. */
static const char *callback_at(const struct hv_kernel *k, struct hv_gva at, size_t *ret_len)
{
	const struct hv_symbols *symbols;
	const struct hv_symbol *symbol;
	struct hv_gva_range text;

	if (!hv_kernel_code_at(k, at, &text, &symbols))
		return NULL;
	symbol = hv_symbols_at(symbols, at);
	return symbol && symbol->addr.v == at.v ? callback_of(symbol->name, ret_len) : NULL;
}

/* Finds the calls of the callback NAME. Returns their number. */
static size_t find_of(const struct hv_callback_calls *c, const char *name, size_t len,
		      const struct hv_callback_call **ret)
{
	size_t first = find_first(c, name, len), nr = 0;

	while (first + nr < c->nr && !compare_names(c->list[first + nr].callback,
						    c->list[first + nr].callback_len, name, len))
		nr++;
	*ret = c->list + first;
	return nr;
}

/* The compiler merges identical functions: all but one become a jump to that one. Finds the
 * callback to which the one at CALLBACK jumps. *RET_NAME is NULL if it does not jump to a
 * callback. */
static struct hv_err *find_equal(const struct hv_kernel *k, struct hv_gva callback,
				 const char **ret_name, size_t *ret_len)
{
	hv_cleanup(hv_calls_deinit) struct hv_calls calls = {0};
	const struct hv_symbols *symbols;
	struct hv_gva_range text;
	struct hv_err *err = NULL;

	*ret_name = NULL;
	if (hv_kernel_code_at(k, callback, &text, &symbols))
		err = hv_calls_find(k, callback, text, &calls);
	for (size_t i = 0; !err && !*ret_name && i < calls.nr; i++)
		*ret_name = callback_at(k, calls.list[i].target, ret_len);
	return err;
}

struct hv_err *hv_callback_calls_of(const struct hv_kernel *k, const struct hv_callback_calls *c,
				    struct hv_gva callback, const struct hv_callback_call **ret,
				    size_t *ret_nr)
{
	const struct hv_callback_call *list;
	size_t len, nr;
	const char *name = callback_at(k, callback, &len);
	struct hv_err *err = NULL;

	if (!name)
		return hv_err_new(EOPNOTSUPP, "its callback at 0x%llx is no function of the kernel",
				  (unsigned long long)callback.v);
	nr = find_of(c, name, len, &list);
	if (!nr)
		err = find_equal(k, callback, &name, &len);
	if (!err && !nr && name)
		nr = find_of(c, name, len, &list);
	if (!err)
		err = check_calls(k, list, nr);
	if (err)
		return err;
	*ret = list;
	*ret_nr = nr;
	return NULL;
}

/* Finds the calls in kernel/tracepoint.c that free arrays of callbacks (release_probes()). */

/* The function that frees later, and the number of its struct rcu_head argument. Older kernels,
 * such as 4.19, use call_rcu_sched(). Since 7.0 callbacks are called under SRCU. */
static const struct {
	const char *name;
	unsigned head_argument;
} releases[] = {
	{"call_rcu", 0},
	{"call_rcu_sched", 0},
	{"call_srcu", 1},
};

/* The functions that may contain the call, depending on inlining: a separate function, or those
 * that add and remove a callback. */
static const char *const alone[] = {"release_probes", NULL};
static const char *const adders[] = {"tracepoint_add_func", NULL};
static const char *const removers[] = {"tracepoint_probe_unregister", "tracepoint_remove_func",
				       NULL};

/* Returns whether SYMBOL is the function NAME or a part of it that the compiler has split off. */
static bool is_part_of(const char *symbol, const char *name)
{
	size_t len = strlen(name);

	return strncmp(symbol, name, len) == 0 && (!symbol[len] || symbol[len] == '.');
}

static bool is_one_of(const char *symbol, const char *const *names)
{
	for (; *names; names++)
		if (is_part_of(symbol, *names))
			return true;
	return false;
}

/* Adds the calls of FUNCTION from the functions NAMES. *RET: there are such calls. */
static struct hv_err *find_in(const struct hv_kernel *k, const char *const *names,
			      struct hv_gva function, struct hv_calls *calls, bool *ret)
{
	const struct hv_symbols *symbols = &k->core.symbols;
	size_t before = calls->nr;
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < symbols->nr; i++)
		if (is_one_of(symbols->by_addr[i].name, names))
			err = hv_calls_find(k, symbols->by_addr[i].addr, hv_gva_alone(function),
					    calls);
	*ret = calls->nr != before;
	return err;
}

/* Sets *RET to whether both adding and removing a callback free with these calls. */
static struct hv_err *find_all(const struct hv_kernel *k, struct hv_gva function,
			       struct hv_calls *calls, bool *ret)
{
	bool frees = false, adds = false, removes = false;
	struct hv_err *err = find_in(k, alone, function, calls, &frees);

	if (!err)
		err = find_in(k, adders, function, calls, &adds);
	if (!err)
		err = find_in(k, removers, function, calls, &removes);
	*ret = frees || (adds && removes);
	return err;
}

static struct hv_err *check_pages(const struct hv_kernel *k, const struct hv_calls *calls)
{
	for (size_t i = 0; i < calls->nr; i++)
		if (hv_site_crosses_pages(k->core.as.arch, calls->list[i].at.v))
			return hv_err_new(EOPNOTSUPP,
					  "a call that frees callbacks, at 0x%llx, is in two pages",
					  (unsigned long long)calls->list[i].at.v);
	return NULL;
}

/* Since 6.13 (cfeae1ed4647) the arrays of tracepoints whose callbacks may sleep are freed with
 * call_rcu_tasks_trace(). Since 7.0 that is not a function but a call of call_srcu(), as for other
 * tracepoints. Errors with these calls do not affect other tracepoints. */
static struct hv_err *find_others(const struct hv_kernel *k, struct hv_release_calls *c)
{
	hv_cleanup(hv_calls_deinit) struct hv_calls calls = {0};
	struct hv_err *pages, *err;
	struct hv_gva function;
	bool all;

	if (!hv_kernel_symbol(k, "call_rcu_tasks_trace", &function))
		return NULL;
	err = find_all(k, function, &calls, &all);
	if (err || !calls.nr)
		return err;
	pages = check_pages(k, &calls);
	c->has_unknown = pages || !all;
	hv_err_free(pages);
	if (c->has_unknown)
		return NULL;
	c->other_function = function;
	c->others = calls;
	calls = (struct hv_calls){0};
	return NULL;
}

struct hv_err *hv_release_calls_read(const struct hv_kernel *k, struct hv_release_calls *ret)
{
	hv_cleanup(hv_release_calls_deinit) struct hv_release_calls c = {0};
	struct hv_err *err = NULL;
	unsigned nr_used = 0;

	for (size_t i = 0; i < HV_ARRAY_LEN(releases); i++) {
		hv_cleanup(hv_calls_deinit) struct hv_calls calls = {0};
		struct hv_gva function;
		bool all = false;

		if (!hv_kernel_symbol(k, releases[i].name, &function))
			continue;
		err = find_all(k, function, &calls, &all);
		if (err)
			return err;
		nr_used += calls.nr != 0;
		if (!all)
			continue;
		hv_release_calls_deinit(&c);
		c = (struct hv_release_calls){.calls = calls,
					      .function = function,
					      .head_argument = releases[i].head_argument};
		calls = (struct hv_calls){0};
	}
	if (!c.calls.nr || nr_used != 1)
		return hv_err_new(EOPNOTSUPP,
				  "the calls that free a tracepoint's callbacks were not "
				  "found");
	err = check_pages(k, &c.calls);
	if (!err)
		err = find_others(k, &c);
	if (err)
		return err;
	*ret = c;
	c = (struct hv_release_calls){0};
	return NULL;
}

void hv_release_calls_deinit(struct hv_release_calls *c)
{
	hv_calls_deinit(&c->calls);
	hv_calls_deinit(&c->others);
	*c = (struct hv_release_calls){0};
}

static bool has_compat_calls(const struct hv_kernel_core *core)
{
	const struct hv_kernel_arch *arch = hv_kernel_arch_of(core);
	struct hv_gva at;

	for (size_t i = 0; i < HV_ARRAY_LEN(arch->compat_entries); i++)
		if (!arch->compat_entries[i] || hv_core_symbol(core, arch->compat_entries[i], &at))
			return true;
	return false;
}

/* A kernel without 32-bit system calls does not use the flags of status, and its code does not show
 * where they are. The trampolines find no flag in the address of the task's stack, which is a
 * multiple of the page size. */
static struct hv_err *find_status(const struct hv_kernel_core *core, uint32_t *ret)
{
	const struct hv_field status[] = {{"thread_info.status", 4, ret}};
	const struct hv_field stack[] = {{"stack", 8, ret}};
	uint32_t unused;

	if (has_compat_calls(core) ||
	    hv_btf_member(core->btf, "task_struct", "thread_info.status", &unused, NULL))
		return hv_fields_find_proved(core, "task_struct", status, 1);
	return hv_fields_find_proved(core, "task_struct", stack, 1);
}

struct hv_err *hv_event_symbols_find(const struct hv_kernel *k, struct hv_gva release,
				     struct hv_gva release_other, struct hv_event_symbols *ret)
{
	struct hv_event_symbols symbols = {.release = release, .release_other = release_other};
	const struct hv_field buffer[] = {
		{"trace_file", 8, &symbols.buffer_file},
		{"event", 8, &symbols.buffer_event},
		{"entry", 8, &symbols.buffer_entry},
	};
	struct hv_err *err = hv_core_need(&k->core, "trace_event_buffer_reserve", &symbols.reserve);

	if (!err)
		err = hv_core_need(&k->core, "trace_event_buffer_commit", &symbols.commit);
	if (!err)
		err = hv_fields_find_proved(&k->core, "trace_event_buffer", buffer,
					    HV_ARRAY_LEN(buffer));
	if (!err)
		err = find_status(&k->core, &symbols.task_status);
	if (!err)
		*ret = symbols;
	return err;
}
