/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/detach.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/kernel.h"
#include "kernel/tasks/orc.h"
#include "tracer/events/buffer_state.h"
#include "tracer/graph/returns.h"
#include "tracer/guest/region_use.h"
#include "tracer/guest/scope.h"
#include "tracer/guest/tracee.h"
#include "tracer/hooks/hibernation.h"
#include "tracer/hooks/renames.h"
#include "tracer/places/detours.h"
#include "tracer/session.h"
#include "tracer/sites/site_stubs.h"
#include "tracer/text_diff.h"
#include "tracer/tracepoints/event_tracer.h"

struct unmapping {
	struct hv_tracee *tracee;
	struct hv_change *changes; /* owned; the slots first, then the calls */
	size_t nr;
	size_t nr_slots;
	size_t nr_returns; /* number of return addresses restored */
};

static void unmapping_deinit(struct unmapping *u)
{
	free(u->changes);
}

/* Plans to clear the slots and to restore the calls that make the kernel wait before it hibernates.
 * Both happen in one hold: the guest must neither hibernate with our slots nor call unmapped
 * code. */
static void plan_unmapping(struct unmapping *u)
{
	HV_AUTO_FREE struct hv_change *calls = NULL;
	size_t nr_calls = hv_hibernation_undo_plan(u->tracee, &calls);

	u->nr_slots = hv_patcher_undo_plan(u->tracee->patcher, HV_CHANGE_ENTRY, &u->changes);
	u->nr = u->nr_slots + nr_calls;
	u->changes = hv_realloc_array(u->changes, u->nr + 1, sizeof(*u->changes));
	memcpy(u->changes + u->nr_slots, calls, nr_calls * sizeof(*calls));
}

/* If the guest has overwritten one call, the patcher refuses that one and makes all other changes.
 * So check all of them first. */
static struct hv_err *check_calls(const struct unmapping *u)
{
	for (size_t i = u->nr_slots; i < u->nr; i++) {
		const struct hv_change *call = &u->changes[i];
		uint8_t now[HV_SITE_LEN_MAX];
		struct hv_err *err =
			hv_guest_read(u->tracee->guest, call->gpa, now, call->len_bytes);

		if (!err && memcmp(now, call->from, call->len_bytes) != 0)
			err = hv_err_new(EBUSY, "the guest is changing its call at 0x%llx",
					 (unsigned long long)call->gva.v);
		if (err)
			return err;
	}
	return NULL;
}

/* This flushes the stubs' pages, and with them all mappings of the cleared slots. The rings' memory
 * is released after the hold (hv_region_clear), before anything else can use it. */
static struct hv_err *unmap(struct hv_hold *hold, void *ctx)
{
	struct unmapping *u = ctx;
	struct hv_err *err = hv_returns_put_back(u->tracee, hold, &u->nr_returns);

	if (!err)
		err = check_calls(u);
	if (!err)
		err = hv_patcher_apply_held(u->tracee->patcher, hold, u->changes, u->nr);
	if (!err)
		err = hv_hold_flush_translations(hold, HV_REGION_STUBS_OFF,
						 HV_REGION_STUBS_END - HV_REGION_STUBS_OFF);
	return err;
}

/* If a stub was called, a task may sleep in it, and its stack is read in the hold. Loading the
 * unwind tables there would make the hold long. If the guest hides that stubs were called, it only
 * makes its own hold longer. */
static void prepare_stacks(const struct hv_session *s)
{
	bool were_called = !s->buffer || hv_returns_open(s->tracee);

	for (unsigned cpu = 0; s->buffer && cpu < s->buffer->nr_cpus; cpu++)
		were_called |= hv_buffer_head(s->buffer, cpu) != 0;
	if (were_called)
		hv_orc_prepare(s->kernel);
}

struct hv_err *hv_session_restore(struct hv_session *s, struct hv_text *report)
{
	struct hv_tracee *t = s->tracee;
	hv_cleanup(unmapping_deinit) struct unmapping u = {.tracee = t};
	size_t nr_detours = 0, nr_places = 0;
	struct hv_err *err;

	hv_tracee_bind(t);
	err = hv_detours_put_back(t, HV_CHANGE_DETOUR, NULL, NULL, &nr_detours);
	if (!err)
		err = hv_detours_put_back(t, HV_CHANGE_PLACE, NULL, NULL, &nr_places);
	nr_detours += nr_places;
	if (nr_detours)
		hv_text_printf(report, "%zu instruction%s that led to detours restored\n",
			       nr_detours, hv_plural(nr_detours));
	if (!err)
		err = hv_site_stubs_restore(s->stubs, report);
	if (!err)
		err = hv_event_tracer_restore(s->events, report);
	if (!err)
		err = hv_renames_end(t);
	/* Before the stubs are unmapped, find sites that were not restored, including sites in
	 * modules. */
	hv_session_refresh(s);
	if (!err)
		err = hv_site_stubs_check_gone(s->stubs);
	if (err)
		return err;
	plan_unmapping(&u);
	prepare_stacks(s);
	if (u.nr)
		err = hv_patcher_held(t->patcher, unmap, &u);
	if (!err)
		err = hv_region_check_not_mapped(t);
	if (err)
		return err;
	if (u.nr_returns)
		hv_text_printf(report, "%zu return addresses on the kernel's stacks put back\n",
			       u.nr_returns);
	hv_text_printf(report, "%zu page-table slot%s emptied, translations flushed\n", u.nr_slots,
		       hv_plural(u.nr_slots));
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
	hv_region_control(&s->tracee->region)->sections = 0;
	return hv_session_restore(s, report);
}
