/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/hooks/renames.h"

#include "tracer/guest/stubs.h"
#include "tracer/guest/tracee.h"
#include "tracer/hooks/redirect.h"

/* __set_task_comm() (fs/exec.c) is the only function that renames a running task. It writes the
 * name, and then calls HV_RENAMES_CALLEE with the task, since 2.6.31 (8d1b2d9361b4). Without
 * CONFIG_PERF_EVENTS there is no such function. The compiler may inline __set_task_comm() into its
 * callers, so these call it too. */
static const char *const callers[] = {"__set_task_comm", "begin_new_exec"};

/* Returns 0 if the kernel lacks it. */
static struct hv_gva callee_of(const struct hv_kernel *k)
{
	struct hv_gva ret = {0};

	hv_kernel_symbol(k, HV_RENAMES_CALLEE, &ret);
	return ret;
}

static struct hv_err *find_calls(const struct hv_kernel *k, struct hv_calls *ret)
{
	struct hv_gva callee = callee_of(k);
	struct hv_err *err = NULL;

	for (size_t i = 0; i < HV_ARRAY_LEN(callers) && callee.v && !err; i++)
		err = hv_calls_find_in(k, callers[i], hv_gva_alone(callee), ret);
	return err;
}

struct hv_err *hv_renames_look(const struct hv_kernel *k, struct hv_text *ret_reason)
{
	const struct hv_arch *arch = k->core.as.arch;
	hv_cleanup(hv_calls_deinit) struct hv_calls calls = {0};
	struct hv_err *err;

	if (!arch->stubs.rename_off) {
		hv_text_printf(ret_reason, "not supported yet for %s guests", arch->name);
		return NULL;
	}
	err = find_calls(k, &calls);
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

static struct hv_err *begin(const struct hv_tracee *t)
{
	hv_cleanup(hv_calls_deinit) struct hv_calls calls = {0};
	HV_AUTO_FREE struct hv_change *changes = NULL;
	struct hv_err *err = find_calls(t->kernel, &calls);
	size_t nr = 0;

	changes = hv_realloc_array(changes, calls.nr + 1, sizeof(*changes));
	for (size_t i = 0; i < calls.nr && !err; i++) {
		bool planned;

		err = hv_redirect_plan(t, &calls.list[i], hv_stubs_rename(t), HV_CHANGE_RENAME,
				       &changes[nr], &planned);
		nr += !err && planned;
	}
	return err || !nr ? err : hv_patcher_apply(t->patcher, changes, nr);
}

struct hv_err *hv_renames_begin(const struct hv_tracee *t)
{
	struct hv_err *err = hv_stubs_rename(t).v ? begin(t) : NULL;

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
 * stub. */
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
	struct hv_gva callee = callee_of(t->kernel);

	*ret = false;
	return callee.v ? hv_redirect_is_ours(t, hv_gva_alone(callee), e, ret) : NULL;
}
