/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/detach.h"

#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/err.h"
#include "base/text.h"
#include "kernel/kernel.h"
#include "kernel/tasks/unwind.h"
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
#include "tracer/tracepoints/event_tracer.h"

/* -- comparing the kernel's text --------------------------------------------------------------- */

/* Compares the kernel's text with the copy made when the kernel was opened. This proves that no
 * call to a stub is left, and shows the guest's own changes. */

#define NAMED_MAX 16 /* differences listed by name */

static void name_difference(const struct hv_tracee *t, struct hv_gva at, struct hv_text *names)
{
	const char *name, *module;
	uint64_t off;

	if (!hv_kernel_symbol_at(t->kernel, at, &name, &module, &off))
		return;
	hv_text_add(names, names->len_bytes ? ", " : "");
	hv_text_add_guest(names, name, 128);
	hv_text_printf(names, "+0x%llx", (unsigned long long)off);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t *sorted_sites(const struct hv_tracee *t)
{
	const struct hv_sites *sites = &t->kernel->sites;
	uint64_t *ips = hv_alloc(sites->nr * sizeof(*ips));

	for (size_t i = 0; i < sites->nr; i++)
		ips[i] = sites->list[i].ip.v;
	qsort(ips, sites->nr, sizeof(*ips), by_value);
	return ips;
}

/* Finds the site that contains the byte at AT, if there is one. */
static bool site_over(const uint64_t *ips, size_t nr, size_t site_len, uint64_t at, uint64_t *ret)
{
	size_t nr_before = HV_BISECT(i, nr, ips[i] <= at);

	if (nr_before == 0 || at - ips[nr_before - 1] >= site_len)
		return false;
	*ret = ips[nr_before - 1];
	return true;
}

struct differences {
	struct hv_text names; /* the first differences made by the guest */
	size_t nr;
	size_t nr_ours;
};

static void differences_deinit(struct differences *d)
{
	hv_text_deinit(&d->names);
}

/* Returns whether BYTES at AT lead into the region. */
static bool is_ours(const struct hv_tracee *t, struct hv_gva at, const uint8_t *bytes)
{
	struct hv_gva target = {0};
	enum hv_site_kind kind = t->kernel->core.as.arch->classify_site(bytes, at, &target);

	return (kind == HV_SITE_CALL || kind == HV_SITE_JUMP) && hv_tracee_has(t, target);
}

/* Returns whether hvtrace wrote the byte at OFF of BEFORE. When recover copies the text, our
 * changes are still in it: calls of stubs, including those where the guest's ftrace reads sites
 * (yield.h), and jumps to detours with the bytes after them (detours.h). */
static bool was_ours(const struct hv_tracee *t, const uint8_t *before, size_t off)
{
	for (size_t back = 0; back < HV_DETOUR_PATCH_MAX && back <= off; back++)
		if (is_ours(t, hv_gva_add(t->kernel->text.start, off - back), before + off - back))
			return true;
	return false;
}

static void sort_difference(const struct hv_tracee *t, const uint8_t *before, const uint8_t *now,
			    const uint64_t *ips, size_t off, struct differences *d)
{
	struct hv_gva text = t->kernel->text.start;
	uint64_t ip;

	if (site_over(ips, t->kernel->sites.nr, t->kernel->core.as.arch->site_len_bytes,
		      text.v + off, &ip)) {
		if (hv_tracee_is_left(t, hv_gva(ip), now + (ip - text.v))) {
			d->nr_ours++;
			return;
		}
	}
	if (was_ours(t, before, off))
		return;
	if (d->nr++ < NAMED_MAX)
		name_difference(t, hv_gva_add(text, off), &d->names);
}

/* Adds one line to REPORT that names the first differences made by the guest. EIO: sites still call
 * a stub, or there is no copy.
 *
 * hvtrace made a difference if a site there calls our range. All other differences are static keys
 * and calls that the guest switched, or that belong to events that recover removed. */
static struct hv_err *hv_text_diff_report(const struct hv_tracee *t, struct hv_text *report)
{
	struct hv_gva_range text = t->kernel->text;
	size_t len = text.end.v - text.start.v;
	struct hv_span before = hv_image_at(&t->kernel->core.image, text.start);
	HV_AUTO_FREE uint8_t *now = hv_alloc(len + HV_SITE_LEN_MAX);
	HV_AUTO_FREE uint64_t *ips = sorted_sites(t);
	hv_cleanup(differences_deinit) struct differences d = {0};
	struct hv_err *err;

	hv_populate(now, len);
	err = hv_read(&t->kernel->core.as, text.start, now, len);
	if (err)
		return err;
	if (before.len_bytes < len + HV_SITE_LEN_MAX)
		return hv_err_new(EIO, "kernel text: no copy to compare with");
	for (size_t i = 0; i < len; i++) {
		if (now[i] == before.data[i])
			continue;
		sort_difference(t, before.data, now, ips, i, &d);
		while (i + 1 < len && now[i + 1] != before.data[i + 1])
			i++;
	}
	if (d.nr_ours)
		return hv_err_new(EIO, "kernel text: %zu site%s still call%s a stub", d.nr_ours,
				  hv_plural(d.nr_ours), d.nr_ours == 1 ? "s" : "");
	hv_text_printf(report, "%zu bytes of kernel text compared, no changes by hvtrace left",
		       len);
	if (d.nr)
		hv_text_printf(report, "; %zu place%s changed by the guest: %s%s", d.nr,
			       hv_plural(d.nr), d.names.data ? d.names.data : "",
			       d.nr > NAMED_MAX ? ", ..." : "");
	hv_text_add(report, "\n");
	return NULL;
}

/* -- detaching --------------------------------------------------------------------------------- */

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
