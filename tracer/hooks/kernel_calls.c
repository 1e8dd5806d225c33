/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/hooks/kernel_calls.h"

#include <stdlib.h>
#include <string.h>

#include "tracer/guest/trampolines.h"
#include "tracer/guest/tracee.h"

/* -- redirecting a call ------------------------------------------------------------------------ */

/* Returns whether BYTES at CALL's address are the same instruction as CALL and lead to TO. */
static bool leads_to(const struct hv_arch *arch, const struct hv_call *call, struct hv_gva to,
		     const uint8_t *bytes)
{
	struct hv_gva target = {0};

	return arch->classify_site(bytes, call->at, &target) == call->kind && target.v == to.v;
}

static bool encode(const struct hv_arch *arch, const struct hv_call *call, struct hv_gva to,
		   uint8_t *ret)
{
	return call->kind == HV_SITE_JUMP ? arch->encode_jump(call->at, to, ret)
					  : arch->encode_call(call->at, to, ret);
}

struct hv_err *hv_redirect_plan(const struct hv_tracee *t, const struct hv_call *call,
				struct hv_gva to, enum hv_change_kind kind, struct hv_change *ret,
				bool *ret_planned)
{
	const struct hv_arch *arch = t->kernel->core.as.arch;
	struct hv_change change = {
		.gva = call->at, .kind = kind, .len_bytes = (uint32_t)arch->site_len_bytes};
	struct hv_mapping m;
	struct hv_err *err = hv_walk(&t->kernel->core.as, call->at, &m);

	*ret_planned = false;
	if (err || !m.present || hv_site_crosses_pages(arch, call->at.v))
		return err;
	change.gpa = m.gpa;
	err = hv_guest_read(t->guest, m.gpa, change.from, change.len_bytes);
	if (err || !leads_to(arch, call, call->target, change.from) ||
	    !encode(arch, call, to, change.to))
		return err;
	*ret_planned = true;
	*ret = change;
	return NULL;
}

/* Reads the bytes at the address of E. *RET_MAPPED is false if the address is not mapped as E
 * records. */
static struct hv_err *read_now(const struct hv_tracee *t, const struct hv_journal_entry *e,
			       uint8_t ret[HV_SITE_LEN_MAX], bool *ret_mapped)
{
	struct hv_mapping m;
	struct hv_err *err = hv_walk(&t->kernel->core.as, hv_gva(e->gva), &m);

	*ret_mapped = !err && m.present && m.executable && m.gpa.v == e->gpa;
	return *ret_mapped ? hv_guest_read(t->guest, m.gpa, ret, e->len_bytes) : err;
}

struct hv_err *hv_redirect_is_ours(const struct hv_tracee *t, struct hv_gva_range functions,
				   struct hv_journal_entry *e, bool *ret)
{
	const struct hv_arch *arch = t->kernel->core.as.arch;
	struct hv_gva at = hv_gva(e->gva), before = {0}, target = {0};
	enum hv_site_kind kind = arch->classify_site(e->old_bytes, at, &before);
	const struct hv_symbols *symbols;
	uint8_t now[HV_SITE_LEN_MAX];
	struct hv_gva_range text;
	bool is_mapped;
	struct hv_err *err;

	*ret = false;
	if (!hv_kernel_code_at(t->kernel, at, &text, &symbols) ||
	    e->len_bytes != arch->site_len_bytes ||
	    (kind != HV_SITE_CALL && kind != HV_SITE_JUMP) || !hv_gva_in(before, functions))
		return NULL;
	err = read_now(t, e, now, &is_mapped);
	if (err || !is_mapped)
		return err;
	hv_tracee_look_under_breakpoint(t, e, now);
	*ret = arch->classify_site(now, at, &target) == kind && hv_gva_in(target, t->range);
	memcpy(e->new_bytes, now, e->len_bytes);
	return NULL;
}

/* -- names of tasks ---------------------------------------------------------------------------- */

/* __set_task_comm() (fs/exec.c) is the only function that renames a running task. It writes the
 * name, and then calls HV_RENAMES_CALLEE with the task, since 2.6.31 (8d1b2d9361b4). Without
 * CONFIG_PERF_EVENTS there is no such function. The compiler may inline __set_task_comm() into its
 * callers, which then contain the call. */
static const char *const rename_callers[] = {"__set_task_comm", "begin_new_exec"};

/* Returns 0 if the kernel lacks it. */
static struct hv_gva renames_callee(const struct hv_kernel *k)
{
	struct hv_gva ret = {0};

	hv_kernel_symbol(k, HV_RENAMES_CALLEE, &ret);
	return ret;
}

static struct hv_err *find_rename_calls(const struct hv_kernel *k, struct hv_calls *ret)
{
	struct hv_gva callee = renames_callee(k);
	struct hv_err *err = NULL;

	for (size_t i = 0; i < HV_ARRAY_LEN(rename_callers) && callee.v && !err; i++)
		err = hv_calls_find_in(k, rename_callers[i], hv_gva_alone(callee), ret);
	return err;
}

struct hv_err *hv_renames_look(const struct hv_kernel *k, struct hv_text *ret_reason)
{
	const struct hv_arch *arch = k->core.as.arch;
	hv_cleanup(hv_calls_deinit) struct hv_calls calls = {0};
	struct hv_err *err;

	if (!arch->trampolines.rename_off) {
		hv_text_printf(ret_reason, "not supported yet for %s guests", arch->name);
		return NULL;
	}
	err = find_rename_calls(k, &calls);
	if (err)
		return err;
	if (!calls.nr)
		hv_text_add(ret_reason, "the kernel's call of " HV_RENAMES_CALLEE " was not found");
	for (size_t i = 0; i < calls.nr; i++)
		if (hv_site_crosses_pages(arch, calls.list[i].at.v))
			hv_text_printf(ret_reason,
				       "its call of " HV_RENAMES_CALLEE
				       " at 0x%llx is in two pages",
				       (unsigned long long)calls.list[i].at.v);
	return NULL;
}

static struct hv_err *redirect_renames(const struct hv_tracee *t)
{
	hv_cleanup(hv_calls_deinit) struct hv_calls calls = {0};
	HV_AUTO_FREE struct hv_change *changes = NULL;
	struct hv_err *err = find_rename_calls(t->kernel, &calls);
	size_t nr = 0;

	changes = hv_realloc_array(changes, calls.nr + 1, sizeof(*changes));
	for (size_t i = 0; i < calls.nr && !err; i++) {
		bool planned;

		err = hv_redirect_plan(t, &calls.list[i], hv_trampolines_rename(t),
				       HV_CHANGE_RENAME, &changes[nr], &planned);
		nr += !err && planned;
	}
	return err || !nr ? err : hv_patcher_apply(t->patcher, changes, nr);
}

struct hv_err *hv_renames_begin(const struct hv_tracee *t)
{
	struct hv_err *err = hv_trampolines_rename(t).v ? redirect_renames(t) : NULL;

	if (!err || err->facts & HV_ERR_NEEDS_RECOVERY)
		return err;
	hv_err_free(err);
	return NULL;
}

bool hv_renames_are_followed(const struct hv_tracee *t)
{
	return hv_patcher_nr_patched(t->patcher, HV_CHANGE_RENAME) != 0;
}

/* Returns whether the bytes at CHANGE, possibly under a breakpoint of the guest, lead to the
 * trampoline. */
static bool is_left(const struct hv_tracee *t, const struct hv_change *change)
{
	const struct hv_arch *arch = t->kernel->core.as.arch;
	struct hv_gva target = {0};
	uint8_t now[HV_SITE_LEN_MAX];
	HV_AUTO_ERR struct hv_err *unread =
		hv_guest_read(t->guest, change->gpa, now, change->len_bytes);

	if (unread)
		return true;
	if (arch->classify_site(now, change->gva, &target) == HV_SITE_BREAKPOINT)
		now[0] = change->from[0];
	return (arch->classify_site(now, change->gva, &target) == HV_SITE_CALL ||
		arch->classify_site(now, change->gva, &target) == HV_SITE_JUMP) &&
	       hv_tracee_has(t, target);
}

struct hv_err *hv_renames_end(const struct hv_tracee *t)
{
	HV_AUTO_FREE struct hv_change *undo = NULL;
	size_t nr_all = hv_patcher_undo_plan(t->patcher, HV_CHANGE_RENAME, &undo), nr = 0;
	struct hv_err *err;

	for (size_t i = 0; i < nr_all; i++) {
		if (is_left(t, &undo[i]))
			undo[nr++] = undo[i];
		else
			hv_patcher_forget_at(t->patcher, undo[i].gpa);
	}
	err = nr ? hv_patcher_apply(t->patcher, undo, nr) : NULL;
	for (size_t i = 0; i < nr && !err; i++)
		if (undo[i].refused)
			err = hv_err_new(EBUSY,
					 "0x%llx: the guest has its own kprobe on its call "
					 "of " HV_RENAMES_CALLEE
					 ", which hvtrace has changed; retry after it is"
					 " removed",
					 (unsigned long long)undo[i].gva.v);
	return err;
}

struct hv_err *hv_renames_are_ours(const struct hv_tracee *t, struct hv_journal_entry *e, bool *ret)
{
	struct hv_gva callee = renames_callee(t->kernel);

	*ret = false;
	return callee.v ? hv_redirect_is_ours(t, hv_gva_alone(callee), e, ret) : NULL;
}

/* -- hibernation ------------------------------------------------------------------------------- */

/* hibernation_snapshot() (kernel/power/hibernate.c) is the only function that creates an image,
 * also for user-space writers (/dev/snapshot). It calls PREALLOCATE after freezing user tasks and
 * before freezing kernel threads and devices, since 2.6.31 (64a473cb721d). */
#define CALLERS	    "hibernat"
#define PREALLOCATE "hibernate_preallocate_memory"
#define SLEEP	    "msleep"
/* Set from before user tasks are frozen until they are thawed, since 3.2 (a0acae0e886d). */
#define FREEZING    "pm_freezing"

/* Returns false if the kernel cannot hibernate. */
static bool find_preallocate(const struct hv_kernel *k, struct hv_gva *ret)
{
	return hv_kernel_symbol(k, PREALLOCATE, ret);
}

/* The trampoline returns to the instruction after the call, so a jump is unsuitable. */
static struct hv_err *find_hibernation_calls(const struct hv_kernel *k, struct hv_gva callee,
					     struct hv_calls *ret)
{
	struct hv_err *err = hv_calls_find_in(k, CALLERS, hv_gva_alone(callee), ret);
	size_t nr = 0;

	for (size_t i = 0; i < ret->nr; i++)
		if (ret->list[i].kind == HV_SITE_CALL)
			ret->list[nr++] = ret->list[i];
	ret->nr = nr;
	return err;
}

struct hv_err *hv_hibernation_look(const struct hv_kernel *k, struct hv_text *ret_reason)
{
	const struct hv_arch *arch = k->core.as.arch;
	hv_cleanup(hv_calls_deinit) struct hv_calls calls = {0};
	struct hv_gva callee, sleep;
	struct hv_err *err;

	if (!find_preallocate(k, &callee))
		return NULL;
	if (!arch->trampolines.hibernation_off || !hv_kernel_symbol(k, SLEEP, &sleep)) {
		hv_text_add(ret_reason, "hvtrace cannot make it wait");
		return NULL;
	}
	err = find_hibernation_calls(k, callee, &calls);
	if (err)
		return err;
	if (!calls.nr)
		hv_text_add(ret_reason, "its call of " PREALLOCATE " was not found");
	for (size_t i = 0; i < calls.nr; i++)
		if (hv_site_crosses_pages(arch, calls.list[i].at.v))
			hv_text_printf(ret_reason,
				       "its call of " PREALLOCATE " at 0x%llx is in two"
				       " pages",
				       (unsigned long long)calls.list[i].at.v);
	return NULL;
}

static struct hv_err *redirect_hibernation(const struct hv_tracee *t, const struct hv_calls *calls)
{
	HV_AUTO_FREE struct hv_change *changes = NULL;
	struct hv_err *err = NULL;
	size_t nr = 0;

	changes = hv_realloc_array(changes, calls->nr + 1, sizeof(*changes));
	for (size_t i = 0; i < calls->nr && !err; i++) {
		bool planned;

		err = hv_redirect_plan(t, &calls->list[i], hv_trampolines_hibernation(t),
				       HV_CHANGE_HIBERNATION, &changes[nr], &planned);
		nr += !err && planned;
	}
	return err || !nr ? err : hv_patcher_apply(t->patcher, changes, nr);
}

/* If tasks are frozen after the calls were changed, the kernel reaches our trampoline before it
 * creates an image. */
static struct hv_err *check_not_frozen(const struct hv_kernel *k)
{
	struct hv_gva at;
	uint8_t freezing = 0;
	struct hv_err *err;

	if (!hv_kernel_symbol(k, FREEZING, &at))
		return NULL;
	err = hv_read(&k->core.as, at, &freezing, sizeof(freezing));
	if (!err && freezing)
		err = hv_err_new(EAGAIN, "the guest has frozen its tasks: it suspends, hibernates "
					 "or wakes up; try again later");
	return err;
}

struct hv_err *hv_hibernation_begin(const struct hv_tracee *t)
{
	const struct hv_kernel *k = t->kernel;
	hv_cleanup(hv_calls_deinit) struct hv_calls calls = {0};
	struct hv_gva callee, sleep;
	struct hv_err *err;

	if (!find_preallocate(k, &callee) || !hv_trampolines_hibernation(t).v ||
	    !hv_kernel_symbol(k, SLEEP, &sleep))
		return NULL;
	hv_region_params(&t->region)->sleep_gva = sleep.v;
	err = find_hibernation_calls(k, callee, &calls);
	if (!err)
		err = redirect_hibernation(t, &calls);
	return err ? err : check_not_frozen(k);
}

bool hv_hibernation_waits(const struct hv_tracee *t)
{
	return __atomic_load_n(&hv_region_control(&t->region)->hibernates, __ATOMIC_RELAXED) != 0;
}

/* If the bytes cannot be read now, the call may still be ours. */
static bool is_taken(const struct hv_tracee *t, const struct hv_change *change)
{
	uint8_t now[HV_SITE_LEN_MAX];
	HV_AUTO_ERR struct hv_err *err =
		hv_guest_read(t->guest, change->gpa, now, change->len_bytes);

	return !err && !hv_tracee_is_call(t, change->gva, now);
}

size_t hv_hibernation_undo_plan(const struct hv_tracee *t, struct hv_change **ret)
{
	struct hv_change *plan;
	size_t nr_all = hv_patcher_undo_plan(t->patcher, HV_CHANGE_HIBERNATION, &plan), nr = 0;

	for (size_t i = 0; i < nr_all; i++) {
		if (is_taken(t, &plan[i]))
			hv_patcher_forget_at(t->patcher, plan[i].gpa);
		else
			plan[nr++] = plan[i];
	}
	*ret = plan;
	return nr;
}

struct hv_err *hv_hibernation_is_ours(const struct hv_tracee *t, struct hv_journal_entry *e,
				      bool *ret)
{
	struct hv_gva callee;

	*ret = false;
	return find_preallocate(t->kernel, &callee)
		       ? hv_redirect_is_ours(t, hv_gva_alone(callee), e, ret)
		       : NULL;
}
