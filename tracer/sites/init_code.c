/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source: init/main.c (kernel_init), kernel/trace/ftrace.c (ftrace_free_init_mem, 42c269c88dc1). */
#include "tracer/sites/init_code.h"

#include "tracer/guest/tracee.h"

/* The kernel's first task calls this function once, when init code is no longer executed.
 * kernel/trace is built without sites. */
#define LAST_FUNCTION	    "ftrace_free_init_mem"
#define LAST_FUNCTION_BYTES 16 /* must contain no site, because these bytes are replaced */

static bool has_site(const struct hv_kernel *k, struct hv_gva_range text)
{
	for (size_t i = 0; i < k->sites.nr; i++)
		if (hv_gva_in(k->sites.list[i].ip, text))
			return true;
	return false;
}

struct hv_err *hv_init_code_begin(struct hv_guest *guest, struct hv_kernel *kernel)
{
	HV_AUTO_ERR struct hv_err *cannot = NULL;
	struct hv_gva_range last;
	bool can_stop = false;
	struct hv_err *err;

	if (!kernel->is_starting || hv_guest_stop_fd(guest) < 0 ||
	    !hv_kernel_symbol(kernel, LAST_FUNCTION, &last.start))
		return NULL;
	last.end = hv_gva_add(last.start, LAST_FUNCTION_BYTES);
	kernel->has_init_sites = true;
	err = hv_kernel_refresh(kernel);
	if (!err && !has_site(kernel, last)) {
		cannot = hv_guest_stop_at(guest, last.start);
		can_stop = !cannot;
	}
	kernel->has_init_sites = can_stop;
	if (!kernel->has_init_sites)
		hv_sites_leave_out(&kernel->sites, hv_kernel_init_text(kernel));
	return err;
}

/* Ignores bytes that cannot be restored: the kernel is about to overwrite them. */
static void put_back(struct hv_tracee *t, struct hv_gva_range text)
{
	HV_AUTO_FREE struct hv_change *plan = NULL;
	size_t nr_all = hv_patcher_undo_plan(t->patcher, HV_CHANGE_TEXT, &plan), nr = 0;

	for (size_t i = 0; i < nr_all; i++)
		if (hv_gva_in(plan[i].gva, text))
			plan[nr++] = plan[i];
	hv_err_free(hv_patcher_apply(t->patcher, plan, nr));
	hv_patcher_forget(t->patcher, text);
}

bool hv_init_code_end(struct hv_tracee *t)
{
	struct hv_gva_range text = hv_kernel_init_text(t->kernel);
	bool is_at_stop = false;

	if (!t->kernel->has_init_sites)
		return false;
	hv_err_free(hv_guest_is_at_stop(t->guest, &is_at_stop));
	if (!is_at_stop)
		return false;
	put_back(t, text);
	hv_sites_leave_out(&t->kernel->sites, text);
	t->kernel->has_init_sites = false;
	hv_guest_end_stop(t->guest);
	return true;
}
