/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recovers from a service that died: finds its journal in the region and undoes its changes. The
 * journal is untrusted, because the guest's root can write it. So an entry is used only if the
 * change that it would undo is clearly ours, such as a site that calls our mapping or a slot that
 * maps our region. */
#include <string.h>

#include "tracer/detach.h"
#include "tracer/guest/region_use.h"
#include "tracer/guest/tracee.h"
#include "tracer/hooks/hibernation.h"
#include "tracer/hooks/renames.h"
#include "tracer/hooks/yield.h"
#include "tracer/places/detours.h"
#include "tracer/session.h"
#include "tracer/tracepoints/event_calls.h"
#include "tracer/tracepoints/plug.h"

/* Sets *RET to whether E is a patched site: its bytes call our mapping, and the journal would
 * restore a nop. */
static struct hv_err *site_is_ours(const struct hv_tracee *t, struct hv_journal_entry *e, bool *ret)
{
	struct hv_gva target;

	*ret = false;
	if (t->kernel->core.as.arch->classify_site(e->old_bytes, hv_gva(e->gva), &target) !=
	    HV_SITE_NOP)
		return NULL;
	return hv_tracee_is_patched(t, e, ret);
}

static struct hv_err *slot_is_ours(const struct hv_tracee *t, const struct hv_journal_entry *e,
				   bool *ret)
{
	static const uint8_t empty[8];
	struct hv_mapping m;
	struct hv_err *err;

	*ret = false;
	if (e->len_bytes != sizeof(uint64_t) || !hv_tracee_has(t, hv_gva(e->gva)) ||
	    memcmp(e->old_bytes, empty, sizeof(empty)) != 0)
		return NULL;
	err = hv_walk_slot(&t->kernel->core.as, hv_gva(e->gva), &m);
	if (err)
		return err;
	*ret = m.present && m.entry_gpa.v == e->gpa &&
	       m.gpa.v - t->region.gpa.v < t->region.len_bytes &&
	       memcmp(e->new_bytes, &m.entry, sizeof(m.entry)) == 0;
	return NULL;
}

/* Frees all entries in a copy of the journal that are not ours. Entries for words of tracepoints
 * are not needed, because our changes there are found in the guest. */
static struct hv_err *check_journal(struct hv_session *s, struct hv_journal_entry *entries,
				    uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		bool ours = false;
		struct hv_err *err = NULL;

		if (entries[i].state != HV_JOURNAL_USED)
			continue;
		if (entries[i].kind == HV_CHANGE_TEXT)
			err = site_is_ours(s->tracee, &entries[i], &ours);
		else if (entries[i].kind == HV_CHANGE_YIELD)
			err = hv_yield_is_ours(s->yield, &entries[i], &ours);
		else if (entries[i].kind == HV_CHANGE_DETOUR || entries[i].kind == HV_CHANGE_PLACE)
			err = hv_detours_are_ours(s->tracee, &entries[i], &ours);
		else if (entries[i].kind == HV_CHANGE_HIBERNATION)
			err = hv_hibernation_is_ours(s->tracee, &entries[i], &ours);
		else if (entries[i].kind == HV_CHANGE_RENAME)
			err = hv_renames_are_ours(s->tracee, &entries[i], &ours);
		else if (entries[i].kind == HV_CHANGE_EVENT_CALL)
			err = hv_event_calls_are_ours(s->tracee, &entries[i], &ours);
		else if (entries[i].kind == HV_CHANGE_KEY ||
			 entries[i].kind == HV_CHANGE_STATIC_CALL)
			err = hv_plugs_know_place(s->tracee, &entries[i], &ours);
		else if (entries[i].kind == HV_CHANGE_ENTRY)
			err = slot_is_ours(s->tracee, &entries[i], &ours);
		if (err)
			return err;
		if (!ours)
			entries[i].state = HV_JOURNAL_FREE;
	}
	return NULL;
}

/* Our changes for events may be in modules. If the guest's list of modules cannot be read, the
 * other changes must still be undone. */
static void read_modules(struct hv_kernel *k)
{
	struct hv_modules modules;
	HV_AUTO_ERR struct hv_err *err = hv_modules_read(&k->core, &modules);

	if (err)
		return;
	hv_modules_deinit(&k->modules);
	k->modules = modules;
}

static struct hv_err *restore_from(struct hv_session *s, const struct hv_region_header *header,
				   struct hv_text *report)
{
	size_t len = header->nr_entries * sizeof(struct hv_journal_entry);
	HV_AUTO_FREE struct hv_journal_entry *entries = hv_alloc(len);
	struct hv_tracee *t = s->tracee;
	struct hv_err *err;

	read_modules(t->kernel);
	memcpy(entries, hv_region_journal(&t->region), len);
	t->range = hv_region_range(header);
	hv_tracee_plan_as(t, header->map_len_bytes);
	hv_session_place_rings(s);
	t->landings = hv_region_landings(header);
	t->handler = hv_gva(header->handler_gva);
	err = check_journal(s, entries, header->nr_entries);
	if (!err)
		err = hv_guest_prepare_hold(t->guest);
	if (!err)
		err = hv_guest_pin(t->guest);
	if (err)
		return err;
	t->had_copies = true; /* the dead process may have removed probes from guest arrays */
	hv_tracee_bind(t);
	hv_patcher_adopt(t->patcher, entries, header->nr_entries);
	return hv_session_restore(s, report);
}

struct hv_err *hv_session_has_left(struct hv_guest *guest, struct hv_kernel *kernel, bool *ret)
{
	struct hv_region_header header;
	enum hv_region_use use;
	struct hv_tracee *t = NULL;
	struct hv_err *err = hv_tracee_new(guest, kernel, &t);

	if (!err)
		err = hv_region_use(t, &header, &use);
	if (!err)
		*ret = use == HV_REGION_LIVE;
	hv_tracee_free(t);
	return err;
}

struct hv_err *hv_session_recover(struct hv_guest *guest, struct hv_kernel *kernel,
				  struct hv_text *report, bool *ret_found)
{
	HV_AUTO_SESSION struct hv_session *s = NULL;
	struct hv_region_header header;
	enum hv_region_use use;
	struct hv_err *err = hv_session_new(guest, kernel, &s);

	if (!err)
		err = hv_region_use(s->tracee, &header, &use);
	if (err)
		return err;
	*ret_found = use != HV_REGION_UNUSED;
	if (use == HV_REGION_LIVE)
		return restore_from(s, &header, report);
	if (use == HV_REGION_STALE) {
		hv_text_add(report, "the region's journal is of an earlier boot: cleared\n");
		err = hv_region_clear(&s->tracee->region);
	}
	return err ? err : hv_guest_unpin(guest);
}
