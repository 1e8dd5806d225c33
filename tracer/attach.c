/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attaching: puts the stubs into the region and maps it into the guest. */
#include "kernel/kernel.h"
#include "patcher/mapping.h"
#include "tracer/events/decoder.h"
#include "tracer/detach.h"
#include "tracer/hooks/hibernation.h"
#include "tracer/sites/init_code.h"
#include "tracer/guest/region_use.h"
#include "tracer/hooks/renames.h"
#include "tracer/session.h"
#include "tracer/sites/site_stubs.h"
#include "tracer/guest/stubs.h"
#include "tracer/guest/tracee.h"

static struct hv_err *map_region(struct hv_tracee *t, struct hv_mapping_plan *plan)
{
	bool mapped = false;
	struct hv_err *err = hv_patcher_apply(t->patcher, plan->changes, plan->nr);

	if (!err)
		err = hv_tracee_is_mapped(t, &mapped);
	if (!err && !mapped)
		err = hv_err_new(EBUSY, "kernel page tables: the slots at 0x%llx are in use",
				 (unsigned long long)t->range.start.v);
	return err;
}

/* Undoes the page-table changes after an error of attach. */
static struct hv_err *unmap_after(struct hv_tracee *t, struct hv_err *err)
{
	HV_AUTO_FREE struct hv_change *undo = NULL;
	size_t nr = hv_patcher_undo_plan(t->patcher, HV_CHANGE_ENTRY, &undo);
	HV_AUTO_ERR struct hv_err *failed =
		nr ? hv_patcher_apply(t->patcher, undo, nr) : hv_region_clear(&t->region);

	if (failed)
		return hv_err_mark(hv_err_in(err, "could not be undone (%s)", failed->message),
				   HV_ERR_NEEDS_RECOVERY);
	hv_err_free(hv_guest_unpin(t->guest));
	return err;
}

/* Clears the region, unless it contains changes of a dead service, which the user must recover
 * first. */
static struct hv_err *claim_region(struct hv_tracee *t, bool *ret_stale)
{
	struct hv_region_header header;
	enum hv_region_use use;
	struct hv_err *err = hv_region_use(t, &header, &use);

	if (err)
		return err;
	if (use == HV_REGION_LIVE)
		return hv_err_mark(hv_err_new(EEXIST,
					      "region: an hvtrace that died left changes in "
					      "the guest"),
				   HV_ERR_NEEDS_RECOVERY);
	*ret_stale = use == HV_REGION_STALE;
	err = *ret_stale ? hv_guest_unpin(t->guest) : NULL;
	return err ? err : hv_region_clear(&t->region);
}

/* If the guest has no room for all of the region, shortens the rings. */
static struct hv_err *plan_mapping(struct hv_tracee *t, struct hv_mapping_plan *ret)
{
	struct hv_err *err = hv_mapping_plan(t->kernel, &t->region, hv_tracee_map_bytes(t), ret);

	while (err && err->code == ENOSPC) {
		HV_AUTO_ERR struct hv_err *too_small = hv_tracee_use_half(t);

		if (too_small)
			break;
		hv_err_free(err);
		err = hv_mapping_plan(t->kernel, &t->region, hv_tracee_map_bytes(t), ret);
	}
	return err;
}

/* Fills the region and maps it into the guest. */
static struct hv_err *enter(struct hv_tracee *t, struct hv_mapping_plan *plan)
{
	struct hv_err *err;

	hv_region_write_header(t);
	hv_mapping_place_tables(plan, &t->region);
	hv_stubs_prepare(t);
	err = hv_stubs_place(t);
	if (!err)
		err = map_region(t, plan);
	if (err)
		return unmap_after(t, err);
	hv_tracee_bind(t);
	return NULL;
}

/* The last step. From here on the guest may be in a stub. */
static struct hv_err *change_calls(struct hv_session *s)
{
	struct hv_err *err = hv_hibernation_begin(s->tracee);
	HV_AUTO_TEXT struct hv_text report = {0};
	HV_AUTO_ERR struct hv_err *failed = NULL;

	if (!err)
		err = hv_renames_begin(s->tracee);
	if (err)
		failed = hv_session_restore(s, &report);

	if (failed)
		return hv_err_mark(hv_err_in(err, "could not be undone (%s)", failed->message),
				   HV_ERR_NEEDS_RECOVERY);
	return err;
}

struct hv_err *hv_session_attach(struct hv_guest *guest, struct hv_kernel *kernel,
				 struct hv_session **ret)
{
	HV_AUTO_SESSION struct hv_session *s = NULL;
	hv_cleanup(hv_mapping_plan_deinit) struct hv_mapping_plan plan = {0};
	struct hv_err *err = hv_init_code_begin(guest, kernel);

	if (!err)
		err = hv_session_new(guest, kernel, &s);
	if (!err)
		err = claim_region(s->tracee, &s->found_stale);
	if (!err)
		err = plan_mapping(s->tracee, &plan);
	if (err)
		return err;
	hv_session_place_rings(s);
	s->tracee->range = plan.range;
	s->tracee->landings = plan.landings;
	s->tracee->handler = hv_stubs_handler(s->tracee);
	s->decoder->decode.handler = s->tracee->handler;
	err = hv_guest_prepare_hold(guest);
	if (!err)
		err = hv_guest_pin(guest);
	if (!err)
		err = enter(s->tracee, &plan);
	if (!err)
		err = change_calls(s);
	if (err)
		return err;
	/* Modules may have been loaded or removed since the kernel was read. In either case, note
	 * the stubs that sites call. */
	if (!kernel->is_starting)
		s->modules_signature = kernel->modules_signature;
	if (!hv_session_refresh(s))
		hv_site_stubs_look(s->stubs);
	*ret = hv_take(s);
	return NULL;
}
