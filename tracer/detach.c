#include "tracer/detach.h"

#include <stdlib.h>

#include "tracer/region_use.h"
#include "tracer/returns.h"
#include "tracer/scope.h"
#include "tracer/session.h"
#include "tracer/site_stubs.h"
#include "tracer/text_diff.h"
#include "tracer/tracee.h"

struct unmapping {
	struct hv_tracee *tracee;
	struct hv_change *changes; /* owned */
	size_t nr;
	size_t nr_returns; /* put back */
};

static void unmapping_deinit(struct unmapping *u)
{
	free(u->changes);
}

/* The stubs' pages are flushed here, and with them all that leads through the emptied slots; the
 * rings' memory goes after the hold (hv_region_clear), before it is anybody else's. */
static struct hv_err *unmap(struct hv_hold *hold, void *ctx)
{
	struct unmapping *u = ctx;
	struct hv_err *err = hv_returns_put_back(u->tracee, hold, &u->nr_returns);

	if (!err)
		err = hv_patcher_apply_held(u->tracee->patcher, hold, u->changes, u->nr);
	if (!err)
		err = hv_hold_flush_translations(hold, HV_REGION_STUBS_OFF,
						 HV_REGION_STUBS_END - HV_REGION_STUBS_OFF);
	return err;
}

struct hv_err *hv_session_restore(struct hv_session *s, struct hv_text *report)
{
	struct hv_tracee *t = s->tracee;
	hv_cleanup(unmapping_deinit) struct unmapping u = {.tracee = t};
	struct hv_err *err = hv_site_stubs_restore(s->stubs, report);

	/* Sites that were left alone, and where modules are by now: known before the stubs go. */
	hv_session_refresh(s);
	if (!err)
		err = hv_site_stubs_check_gone(s->stubs);
	if (err)
		return err;
	u.nr = hv_patcher_undo_plan(t->patcher, HV_CHANGE_ENTRY, &u.changes);
	if (u.nr)
		err = hv_patcher_held(t->patcher, unmap, &u);
	if (!err)
		err = hv_region_check_not_mapped(t);
	if (err)
		return err;
	if (u.nr_returns)
		hv_text_printf(report, "%zu return addresses on the kernel's stacks put back\n",
			       u.nr_returns);
	hv_text_printf(report, "%zu page-table slots emptied, translations flushed\n", u.nr);
	err = hv_text_diff_report(t, report);
	if (!err)
		err = hv_region_clear(&t->region);
	return err ? err : hv_guest_unpin(t->guest);
}

struct hv_err *hv_session_detach(struct hv_session *s, struct hv_text *report)
{
	struct hv_err *err = hv_session_alive(s);

	if (err)
		return err;
	hv_scope_set_recording(s->scope, 0);
	return hv_session_restore(s, report);
}
