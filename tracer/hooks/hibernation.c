/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/hooks/hibernation.h"

#include <stdlib.h>

#include "tracer/guest/stubs.h"
#include "tracer/guest/tracee.h"
#include "tracer/hooks/redirect.h"

/* hibernation_snapshot() (kernel/power/hibernate.c) is the only function that creates an image,
 * also for user-space writers (/dev/snapshot). It calls PREALLOCATE after freezing user tasks and
 * before freezing kernel threads and devices, since 2.6.31 (64a473cb721d). */
#define CALLERS	    "hibernat"
#define PREALLOCATE "hibernate_preallocate_memory"
#define SLEEP	    "msleep"
/* Set from before user tasks are frozen until they are thawed, since 3.2 (a0acae0e886d). */
#define FREEZING    "pm_freezing"

/* Returns false if the kernel cannot hibernate. */
static bool find_callee(const struct hv_kernel *k, struct hv_gva *ret)
{
	return hv_kernel_symbol(k, PREALLOCATE, ret);
}

/* The stub returns to the instruction after the call, so a jump is unsuitable. */
static struct hv_err *find_calls(const struct hv_kernel *k, struct hv_gva callee,
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

	if (!find_callee(k, &callee))
		return NULL;
	if (!arch->stubs.hibernation_off || !hv_kernel_symbol(k, SLEEP, &sleep)) {
		hv_text_add(ret_reason, "it cannot be made to wait");
		return NULL;
	}
	err = find_calls(k, callee, &calls);
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

static struct hv_err *apply(const struct hv_tracee *t, const struct hv_calls *calls)
{
	HV_AUTO_FREE struct hv_change *changes = NULL;
	struct hv_err *err = NULL;
	size_t nr = 0;

	changes = hv_realloc_array(changes, calls->nr + 1, sizeof(*changes));
	for (size_t i = 0; i < calls->nr && !err; i++) {
		bool planned;

		err = hv_redirect_plan(t, &calls->list[i], hv_stubs_hibernation(t),
				       HV_CHANGE_HIBERNATION, &changes[nr], &planned);
		nr += !err && planned;
	}
	return err || !nr ? err : hv_patcher_apply(t->patcher, changes, nr);
}

/* If tasks are frozen after the calls were changed, the kernel reaches our stub before it creates
 * an image. */
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

	if (!find_callee(k, &callee) || !hv_stubs_hibernation(t).v ||
	    !hv_kernel_symbol(k, SLEEP, &sleep))
		return NULL;
	hv_region_params(&t->region)->sleep_gva = sleep.v;
	err = find_calls(k, callee, &calls);
	if (!err)
		err = apply(t, &calls);
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
	return find_callee(t->kernel, &callee)
		       ? hv_redirect_is_ours(t, hv_gva_alone(callee), e, ret)
		       : NULL;
}
