/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/tracepoints/event_calls.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/events/catalogue.h"
#include "kernel/events/callback_calls.h"
#include "tracer/guest/trampolines.h"
#include "tracer/guest/tracee.h"
#include "tracer/hooks/kernel_calls.h"

/* The calls in the callbacks of the core kernel or of a module. */
struct callback_set {
	struct hv_module module; /* without symbols; address 0: the core kernel */
	struct hv_callback_calls callbacks;
	bool *is_redirected; /* owned; one per callback call */
};

struct hv_event_calls {
	struct hv_tracee *tracee; /* borrowed */
	bool is_read;		  /* the following members are valid, or err is */
	struct hv_err *err;	  /* owned */
	struct hv_event_symbols symbols;
	struct hv_release_calls releases;
	struct callback_set *sets; /* owned; the first one belongs to the core kernel */
	size_t nr_sets;
	bool has_begun;
};

struct hv_event_calls *hv_event_calls_new(struct hv_tracee *t)
{
	struct hv_event_calls *c = hv_alloc(sizeof(*c));

	c->tracee = t;
	return c;
}

static void set_deinit(struct callback_set *set)
{
	hv_callback_calls_deinit(&set->callbacks);
	free(set->is_redirected);
}

void hv_event_calls_free(struct hv_event_calls *c)
{
	if (!c)
		return;
	hv_err_free(c->err);
	hv_release_calls_deinit(&c->releases);
	for (size_t i = 0; i < c->nr_sets; i++)
		set_deinit(&c->sets[i]);
	free(c->sets);
	free(c);
}

struct hv_err *hv_event_calls_refusal(const struct hv_arch *arch)
{
	if (arch->trampolines.event_commit_off)
		return NULL;
	return hv_err_new(EOPNOTSUPP, "recording events is not supported yet for %s guests",
			  arch->name);
}

/* MODULE NULL: the core kernel. */
static struct hv_err *add_set(struct hv_event_calls *c, const struct hv_module *module)
{
	const struct hv_kernel *k = c->tracee->kernel;
	struct callback_set set = {0};
	struct hv_err *err = module ? hv_callback_calls_read_module(k, module, &set.callbacks)
				    : hv_callback_calls_read(k, &set.callbacks);

	if (err)
		return err;
	if (module)
		set.module = *module;
	set.module.symbols = (struct hv_symbols){0};
	set.is_redirected = hv_alloc((set.callbacks.nr + 1) * sizeof(*set.is_redirected));
	c->sets = hv_realloc_array(c->sets, c->nr_sets + 1, sizeof(*c->sets));
	c->sets[c->nr_sets++] = set;
	return NULL;
}

static struct hv_err *read_all(struct hv_event_calls *c)
{
	const struct hv_tracee *t = c->tracee;
	struct hv_err *err = hv_event_calls_refusal(t->kernel->core.as.arch);

	if (!err && !t->plan.drafts_off)
		err = hv_err_new(ENOSPC, "the region has no room for drafts of events");
	if (!err)
		err = hv_release_calls_read(t->kernel, &c->releases);
	if (!err)
		err = hv_event_symbols_find(t->kernel, c->releases.function,
					    c->releases.other_function, &c->symbols);
	return err ? err : add_set(c, NULL);
}

static struct hv_err *read_once(struct hv_event_calls *c)
{
	if (!c->is_read)
		c->err = read_all(c);
	c->is_read = true;
	return c->err ? hv_err_copy(c->err) : NULL;
}

static bool is_of(const struct callback_set *set, const struct hv_module *module)
{
	return set->module.at.v == module->at.v &&
	       set->module.text.start.v == module->text.start.v &&
	       strcmp(set->module.name, module->name) == 0;
}

/* Finds the set that contains the callback of TYPE, and reads it the first time. */
static struct hv_err *set_of(struct hv_event_calls *c, const struct hv_event_type *type,
			     struct callback_set **ret)
{
	const struct hv_module *module;
	struct hv_err *err;

	*ret = &c->sets[0];
	if (!type->module)
		return NULL;
	module = hv_module_named(&c->tracee->kernel->modules, type->module);
	if (!module)
		return hv_err_new(ENOENT, "the guest no longer has the module %s", type->module);
	for (size_t i = 1; i < c->nr_sets; i++) {
		*ret = &c->sets[i];
		if (is_of(*ret, module))
			return NULL;
	}
	err = add_set(c, module);
	*ret = &c->sets[c->nr_sets - 1];
	return err;
}

/* Finds the calls in the callback of TYPE that record: *RET_NR calls of *RET, starting at
 * *RET_FIRST. A callback that does nothing makes no such calls. */
static struct hv_err *calls_of(struct hv_event_calls *c, const struct hv_event_type *type,
			       struct callback_set **ret, size_t *ret_first, size_t *ret_nr)
{
	const struct hv_callback_call *list;
	struct hv_err *err;

	*ret = &c->sets[0];
	*ret_first = *ret_nr = 0;
	if (type->reg_kind == HV_EVENT_REG_PROBESTUB)
		return NULL;
	err = set_of(c, type, ret);
	if (!err)
		err = hv_callback_calls_of(c->tracee->kernel, &(*ret)->callbacks, type->callback,
					   &list, ret_nr);
	if (!err)
		*ret_first = (size_t)(list - (*ret)->callbacks.list);
	return err;
}

struct hv_err *hv_event_calls_check(struct hv_event_calls *c, const struct hv_event_type *type)
{
	struct callback_set *set;
	size_t first, nr;
	struct hv_err *err = read_once(c);

	if (!err && type->tracepoint.faultable && c->releases.has_unknown)
		return hv_err_new(EOPNOTSUPP,
				  "hvtrace does not know how this kernel frees its callbacks");
	return err ? err : calls_of(c, type, &set, &first, &nr);
}

void hv_event_calls_look_again(struct hv_event_calls *c, const struct hv_module *module)
{
	for (size_t i = 1; i < c->nr_sets; i++) {
		if (c->sets[i].module.at.v != module->at.v)
			continue;
		set_deinit(&c->sets[i]);
		c->sets[i--] = c->sets[--c->nr_sets];
	}
}

static struct hv_gva trampoline_at(const struct hv_event_calls *c, size_t off)
{
	return hv_gva_add(c->tracee->range.start, HV_TRAMPOLINES_CODE_OFF + off);
}

/* Returns whether CALL already leads to a trampoline, because an earlier attempt to restore it was
 * refused. */
static bool is_changed(const struct hv_event_calls *c, const struct hv_call *call)
{
	uint8_t unused[8];
	struct hv_mapping m;
	HV_AUTO_ERR struct hv_err *err = hv_walk(&c->tracee->kernel->core.as, call->at, &m);

	return !err && m.present && hv_patcher_old_bytes(c->tracee->patcher, m.gpa, unused);
}

/* No tracepoint may have one of our arrays before all release calls lead to their trampolines. So
 * either all of them are changed, or none. */
static struct hv_err *redirect_releases(struct hv_event_calls *c)
{
	const struct hv_trampoline_image *trampolines =
		&c->tracee->kernel->core.as.arch->trampolines;
	const struct hv_release_calls *releases = &c->releases;
	size_t nr_calls = releases->calls.nr + releases->others.nr, nr = 0;
	HV_AUTO_FREE struct hv_change *changes = hv_alloc((nr_calls + 1) * sizeof(*changes));
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < nr_calls; i++) {
		bool is_other = i >= releases->calls.nr;
		const struct hv_call *call =
			is_other ? &releases->others.list[i - releases->calls.nr]
				 : &releases->calls.list[i];
		struct hv_gva trampoline = trampoline_at(
			c, is_other ? trampolines->event_release_other_off
				    : trampolines->event_release_offs[releases->head_argument]);
		bool is_planned = false;

		if (is_changed(c, call))
			continue;
		err = hv_redirect_plan(c->tracee, call, trampoline, HV_CHANGE_EVENT_CALL,
				       &changes[nr], &is_planned);
		nr += is_planned;
		if (!err && !is_planned)
			err = hv_err_new(EBUSY,
					 "the guest has changed the call at 0x%llx, which frees "
					 "callbacks of tracepoints",
					 (unsigned long long)call->at.v);
	}
	if (!err)
		err = hv_patcher_apply(c->tracee->patcher, changes, nr);
	for (size_t i = 0; !err && i < nr; i++)
		if (changes[i].refused)
			err = hv_err_new(EBUSY, "the call at 0x%llx is in use",
					 (unsigned long long)changes[i].gva.v);
	return err;
}

struct hv_err *hv_event_calls_begin(struct hv_event_calls *c)
{
	struct hv_err *err = c->has_begun ? NULL : read_once(c);

	if (err || c->has_begun)
		return err;
	c->tracee->event_symbols = c->symbols;
	err = hv_trampolines_link(c->tracee);
	if (!err)
		err = redirect_releases(c);
	if (err) {
		hv_err_free(hv_event_calls_put_back(c));
		return err;
	}
	c->has_begun = true;
	return NULL;
}

struct redirection {
	struct hv_event_calls *calls;
	struct hv_change *changes; /* has room for all calls */
	size_t nr;
};

static struct hv_err *plan_call(struct redirection *r, struct callback_set *set, size_t index,
				struct hv_err **why_not)
{
	struct hv_event_calls *c = r->calls;
	const struct hv_trampoline_image *trampolines =
		&c->tracee->kernel->core.as.arch->trampolines;
	const struct hv_callback_call *call = &set->callbacks.list[index];
	size_t off = call->commits ? trampolines->event_commit_off : trampolines->event_reserve_off;
	bool is_planned;
	struct hv_err *err;

	if (set->is_redirected[index])
		return NULL;
	err = hv_redirect_plan(c->tracee, &call->call, trampoline_at(c, off), HV_CHANGE_EVENT_CALL,
			       &r->changes[r->nr], &is_planned);
	if (err)
		return err;
	set->is_redirected[index] = is_planned;
	r->nr += is_planned;
	if (!is_planned && !*why_not)
		*why_not = hv_err_new(EBUSY, "the guest has changed its callback at 0x%llx",
				      (unsigned long long)call->call.at.v);
	return NULL;
}

static struct hv_err *plan_callback(struct redirection *r, const struct hv_event_type *type,
				    struct hv_err **why_not)
{
	struct callback_set *set;
	struct hv_err *err = NULL;
	size_t first, nr = 0;

	*why_not = calls_of(r->calls, type, &set, &first, &nr);
	for (size_t i = 0; !*why_not && !err && i < nr; i++)
		err = plan_call(r, set, first + i, why_not);
	return err;
}

/* Notes that the call at AT was restored. */
static void note_kernels(struct hv_event_calls *c, struct hv_gva at)
{
	for (size_t s = 0; s < c->nr_sets; s++)
		for (size_t i = 0; i < c->sets[s].callbacks.nr; i++)
			if (c->sets[s].callbacks.list[i].call.at.v == at.v)
				c->sets[s].is_redirected[i] = false;
}

static void check_callback(struct hv_event_calls *c, const struct hv_event_type *type,
			   struct hv_err **why_not)
{
	struct callback_set *set;
	size_t first = 0, nr = 0;

	if (!*why_not)
		*why_not = calls_of(c, type, &set, &first, &nr);
	for (size_t i = first; !*why_not && i < first + nr; i++)
		if (!set->is_redirected[i])
			*why_not = hv_err_new(EBUSY, "a call of its callback, at 0x%llx, is in use",
					      (unsigned long long)set->callbacks.list[i].call.at.v);
}

/* Returns the maximum number of calls to change. */
static size_t nr_calls(struct hv_event_calls *c, const struct hv_event_type *const *types,
		       size_t nr)
{
	size_t ret = 0;

	for (size_t i = 0; i < nr; i++) {
		struct callback_set *set;

		hv_err_free(set_of(c, types[i], &set)); /* planning reports the error */
	}
	for (size_t i = 0; i < c->nr_sets; i++)
		ret += c->sets[i].callbacks.nr;
	return ret;
}

struct hv_err *hv_event_calls_redirect(struct hv_event_calls *c,
				       const struct hv_event_type *const *types, size_t nr,
				       struct hv_err **why_not)
{
	HV_AUTO_FREE struct hv_change *changes =
		hv_alloc((nr_calls(c, types, nr) + 1) * sizeof(*changes));
	struct redirection r = {.calls = c, .changes = changes};
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < nr; i++)
		err = plan_callback(&r, types[i], &why_not[i]);
	if (!err && r.nr)
		err = hv_patcher_apply(c->tracee->patcher, changes, r.nr);
	for (size_t i = 0; i < r.nr; i++)
		if (err || changes[i].refused)
			note_kernels(c, changes[i].gva);
	for (size_t i = 0; !err && i < nr; i++)
		check_callback(c, types[i], &why_not[i]);
	return err;
}

/* Restores the calls in TEXT (NULL: everywhere). If some are refused, the others are restored. */
static struct hv_err *put_back_in(struct hv_event_calls *c, const struct hv_gva_range *text)
{
	HV_AUTO_FREE struct hv_change *undo = NULL;
	size_t nr_all = hv_patcher_undo_plan(c->tracee->patcher, HV_CHANGE_EVENT_CALL, &undo);
	size_t nr = 0;
	struct hv_err *err;

	for (size_t i = 0; i < nr_all; i++)
		if (!text || hv_gva_in(undo[i].gva, *text))
			undo[nr++] = undo[i];
	err = nr ? hv_patcher_apply(c->tracee->patcher, undo, nr) : NULL;
	for (size_t i = 0; !err && i < nr; i++)
		if (!undo[i].refused)
			note_kernels(c, undo[i].gva);
	for (size_t i = 0; !err && i < nr; i++)
		if (undo[i].refused)
			err = hv_err_new(EBUSY,
					 "0x%llx: the guest has its own breakpoint or probe on a "
					 "call that records events",
					 (unsigned long long)undo[i].gva.v);
	return err;
}

struct hv_err *hv_event_calls_put_back(struct hv_event_calls *c)
{
	c->has_begun = false;
	return put_back_in(c, NULL);
}

struct hv_err *hv_event_calls_put_back_of(struct hv_event_calls *c, const struct hv_module *module)
{
	return put_back_in(c, &module->text);
}

bool hv_event_calls_are_there(const struct hv_event_calls *c)
{
	return hv_patcher_nr_patched(c->tracee->patcher, HV_CHANGE_EVENT_CALL) != 0;
}

/* Functions that free arrays whose callbacks may sleep. */
static const char *const sleeping[] = {"call_srcu", "call_rcu_tasks_trace"};

bool hv_event_calls_may_sleep(const struct hv_event_calls *c)
{
	const struct hv_kernel *k = c->tracee->kernel;
	HV_AUTO_FREE struct hv_change *undo = NULL;
	size_t nr = hv_patcher_undo_plan(c->tracee->patcher, HV_CHANGE_EVENT_CALL, &undo);
	bool ret = false;

	for (size_t f = 0; f < HV_ARRAY_LEN(sleeping); f++) {
		struct hv_gva function, target = {0};

		if (!hv_kernel_symbol(k, sleeping[f], &function))
			continue;
		for (size_t i = 0; i < nr; i++) {
			k->core.as.arch->classify_site(undo[i].to, undo[i].gva, &target);
			ret |= hv_gva_in(target, hv_callback_call_targets(function));
		}
	}
	return ret;
}

struct hv_err *hv_event_calls_are_ours(const struct hv_tracee *t, struct hv_journal_entry *e,
				       bool *ret)
{
	static const char *const functions[] = {"trace_event_buffer_reserve",
						"trace_event_buffer_commit",
						"call_rcu",
						"call_rcu_sched",
						"call_srcu",
						"call_rcu_tasks_trace"};
	struct hv_err *err = NULL;

	*ret = false;
	for (size_t i = 0; !err && !*ret && i < HV_ARRAY_LEN(functions); i++) {
		struct hv_gva function;

		if (hv_kernel_symbol(t->kernel, functions[i], &function))
			err = hv_redirect_is_ours(t, hv_callback_call_targets(function), e, ret);
	}
	return err;
}
