/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attaches to a guest, detaches from it, and recovers a guest whose service died. Attaching puts
 * the trampolines into the region and maps it into the guest. Detaching and recovering restore
 * every byte, unmap the region, and verify both. */
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/err.h"
#include "base/text.h"
#include "kernel/image/release.h"
#include "kernel/kernel.h"
#include "kernel/sites/ftrace_users.h"
#include "kernel/tasks/unwind.h"
#include "patcher/mapping.h"
#include "tracer/events/buffer_state.h"
#include "tracer/events/decoder.h"
#include "tracer/graph/returns.h"
#include "tracer/guest/scope.h"
#include "tracer/guest/trampolines.h"
#include "tracer/guest/tracee.h"
#include "tracer/hooks/kernel_calls.h"
#include "tracer/hooks/guest_ftrace.h"
#include "tracer/probe_sites/detours.h"
#include "tracer/session.h"
#include "tracer/sites/chains.h"
#include "tracer/sites/init_code.h"
#include "tracer/sites/site_trampolines.h"
#include "tracer/tracepoints/event_calls.h"
#include "tracer/tracepoints/module_claims.h"
#include "tracer/tracepoints/event_tracer.h"
#include "tracer/tracepoints/plug.h"

/* -- comparing the kernel's text --------------------------------------------------------------- */

/* Compares the kernel's text with the copy made when the kernel was opened. This proves that no
 * call to a trampoline is left, and shows the guest's own changes. */

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
	size_t nr_pages; /* that the guest changed at places that are not known */
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
 * changes are still in it: calls of trampolines, including those where the guest's ftrace reads
 * sites (guest_ftrace.h), and jumps to detours with the bytes after them (detours.h). */
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
		if (hv_tracee_is_left(t, hv_gva(ip), now + (ip - text.v)) ||
		    is_ours(t, hv_gva(ip), now + (ip - text.v))) {
			d->nr_ours++;
			return;
		}
	}
	if (was_ours(t, before, off))
		return;
	if (d->nr++ < NAMED_MAX)
		name_difference(t, hv_gva_add(text, off), &d->names);
}

/* Counts the pages of the text that are not known as they were copied: they were released, and their
 * hash differs although all known patches were put back. Adds the function at the start of each. */
static void add_changed_pages(const struct hv_tracee *t, struct differences *d)
{
	struct hv_gva_range text = t->kernel->text;

	for (struct hv_gva at = text.start; at.v < text.end.v;
	     at = hv_gva((at.v | (HV_IMAGE_PAGE - 1)) + 1)) {
		if (!hv_image_is_changed(&t->kernel->core.image, at))
			continue;
		if (d->nr++ < NAMED_MAX)
			name_difference(t, at, &d->names);
		d->nr_pages++;
	}
}

/* Finds the copy of the kernel's text. Pages that were released, or that differed, are read again.
 * EIO: it is not whole, because the kernel's symbols contradict each other. */
static struct hv_err *find_copy(const struct hv_kernel *k, struct hv_span *ret)
{
	struct hv_gva_range copied = {k->text.start, hv_gva_add(k->text.end, HV_SITE_LEN_MAX)};
	struct hv_err *err = hv_image_load_again(&k->core.image, copied);

	if (err)
		return err;
	*ret = hv_image_part(&k->core.image, k->text.start, copied.end.v - copied.start.v);
	if (ret->len_bytes < k->text.end.v - k->text.start.v + HV_SITE_LEN_MAX)
		return hv_err_new(EIO,
				  "kernel text: its symbols place it outside the kernel's image, "
				  "so it cannot be compared after detach");
	return NULL;
}

/* Adds one line to REPORT that names the first differences made by the guest. EIO: sites still call
 * a trampoline, or there is no copy.
 *
 * hvtrace made a difference if a site there calls our range. All other differences are static keys
 * and calls that the guest switched, or that belong to events that recover removed. In a page that
 * the guest changed elsewhere, for example by a kprobe, only the known sites are compared. */
static struct hv_err *report_differences(const struct hv_tracee *t, struct hv_text *report)
{
	struct hv_gva_range text = t->kernel->text;
	size_t len = text.end.v - text.start.v;
	HV_AUTO_FREE uint8_t *now = hv_alloc(len + HV_SITE_LEN_MAX);
	HV_AUTO_FREE uint64_t *ips = sorted_sites(t);
	hv_cleanup(differences_deinit) struct differences d = {0};
	struct hv_span before;
	struct hv_err *err;

	hv_populate(now, len);
	err = hv_read(&t->kernel->core.as, text.start, now, len);
	if (!err)
		err = find_copy(t->kernel, &before);
	if (err)
		return err;
	for (size_t i = 0; i < len; i++) {
		if (now[i] == before.data[i])
			continue;
		sort_difference(t, before.data, now, ips, i, &d);
		while (i + 1 < len && now[i + 1] != before.data[i + 1])
			i++;
	}
	add_changed_pages(t, &d);
	if (d.nr_ours)
		return hv_err_new(EIO, "kernel text: %zu site%s still call%s a trampoline",
				  d.nr_ours, hv_plural(d.nr_ours), d.nr_ours == 1 ? "s" : "");
	hv_text_printf(report, "%zu bytes of kernel text compared, no changes by hvtrace left",
		       len);
	if (d.nr)
		hv_text_printf(report, "; %zu place%s changed by the guest: %s%s", d.nr,
			       hv_plural(d.nr), d.names.data ? d.names.data : "",
			       d.nr > NAMED_MAX ? ", ..." : "");
	if (d.nr_pages)
		hv_text_printf(report, " (%zu of them somewhere in a page of 4 KiB)", d.nr_pages);
	hv_text_add(report, "\n");
	return NULL;
}

/* -- restoring the guest ----------------------------------------------------------------------- */

struct unmapping {
	struct hv_tracee *tracee;
	struct hv_change *changes; /* owned; the entries first, then the calls */
	size_t nr;
	size_t nr_entries;
	size_t nr_returns; /* number of return addresses restored */
};

static void unmapping_deinit(struct unmapping *u)
{
	free(u->changes);
}

/* Plans to clear the page-table entries and to restore the calls that make the kernel wait before
 * it hibernates. Both happen in one hold: the guest must neither hibernate with our page-table
 * entries nor call unmapped code. */
static void plan_unmapping(struct unmapping *u)
{
	HV_AUTO_FREE struct hv_change *calls = NULL;
	size_t nr_calls = hv_hibernation_undo_plan(u->tracee, &calls);

	u->nr_entries = hv_patcher_undo_plan(u->tracee->patcher, HV_CHANGE_ENTRY, &u->changes);
	u->nr = u->nr_entries + nr_calls;
	u->changes = hv_realloc_array(u->changes, u->nr + 1, sizeof(*u->changes));
	memcpy(u->changes + u->nr_entries, calls, nr_calls * sizeof(*calls));
}

/* If the guest has overwritten one call, the patcher refuses that one and makes all other changes.
 * So check all of them first. */
static struct hv_err *check_calls(const struct unmapping *u)
{
	for (size_t i = u->nr_entries; i < u->nr; i++) {
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

/* This flushes the trampolines' pages, and with them all mappings of the cleared entries. The
 * rings' memory is released after the hold (hv_region_clear), before anything else can use it. */
static struct hv_err *unmap(struct hv_hold *hold, void *ctx)
{
	struct unmapping *u = ctx;
	struct hv_err *err = hv_returns_put_back(u->tracee, hold, &u->nr_returns);

	if (!err)
		err = check_calls(u);
	if (!err)
		err = hv_patcher_apply_held(u->tracee->patcher, hold, u->changes, u->nr);
	if (!err)
		err = hv_hold_flush_translations(hold, HV_REGION_TRAMPOLINES_OFF,
						 HV_REGION_TRAMPOLINES_END -
							 HV_REGION_TRAMPOLINES_OFF);
	return err;
}

/* If a trampoline was called, a task may sleep in it, and its stack is read in the hold. Loading
 * the unwind tables there would make the hold long. If the guest hides that trampolines were
 * called, it only makes its own hold longer. */
static void prepare_stacks(const struct hv_session *s)
{
	bool were_called = !s->buffer || hv_returns_open(s->tracee);

	for (unsigned cpu = 0; s->buffer && cpu < s->buffer->nr_cpus; cpu++)
		were_called |= hv_buffer_head(s->buffer, cpu) != 0;
	if (were_called)
		hv_orc_prepare(s->kernel);
}

/* Restores the bytes of every site and the page-table entries, flushes translations, compares the
 * text, and clears the region. REPORT and EBUSY are as for hv_session_detach. */
static struct hv_err *restore(struct hv_session *s, struct hv_text *report)
{
	struct hv_tracee *t = s->tracee;
	hv_cleanup(unmapping_deinit) struct unmapping u = {.tracee = t};
	size_t nr_detours = 0, nr_probe_detours = 0;
	struct hv_err *err;

	hv_tracee_bind(t);
	err = hv_detours_put_back(t, HV_CHANGE_DETOUR, NULL, NULL, &nr_detours);
	if (!err)
		err = hv_detours_put_back(t, HV_CHANGE_PROBE_SITE, NULL, NULL, &nr_probe_detours);
	nr_detours += nr_probe_detours;
	if (nr_detours)
		hv_text_printf(report, "%zu instruction%s that led to detours restored\n",
			       nr_detours, hv_plural(nr_detours));
	if (!err)
		err = hv_site_trampolines_restore(s->trampolines, report);
	if (!err)
		err = hv_event_tracer_restore(s->events, report);
	if (!err)
		err = hv_renames_end(t);
	/* Before the trampolines are unmapped, find sites that were not restored, including sites
	 * in modules. */
	hv_session_refresh(s);
	if (!err)
		err = hv_site_trampolines_check_gone(s->trampolines);
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
	hv_text_printf(report, "%zu page-table %s emptied, translations flushed\n", u.nr_entries,
		       u.nr_entries == 1 ? "entry" : "entries");
	err = report_differences(t, report);
	if (!err)
		err = hv_region_clear(&t->region);
	return err ? err : hv_guest_unpin(t->guest);
}

/* -- detaching --------------------------------------------------------------------------------- */

struct hv_err *hv_session_detach(struct hv_session *s, struct hv_text *report)
{
	struct hv_err *err = hv_session_alive(s);

	if (err)
		return err;
	hv_scope_set_recording(s->scope, HV_OFF);
	hv_region_control(&s->tracee->region)->sections = 0;
	return restore(s, report);
}

/* -- attaching --------------------------------------------------------------------------------- */

static struct hv_err *map_region(struct hv_tracee *t, struct hv_mapping_plan *plan)
{
	bool mapped = false;
	struct hv_err *err = hv_patcher_apply(t->patcher, plan->changes, plan->nr);

	if (!err)
		err = hv_tracee_is_mapped(t, &mapped);
	if (!err && !mapped)
		err = hv_err_new(EBUSY, "kernel page tables: the entries at 0x%llx are in use",
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
	hv_mapping_put_tables(plan, &t->region);
	hv_trampolines_prepare(t);
	err = hv_trampolines_link(t);
	if (!err)
		err = map_region(t, plan);
	if (err)
		return unmap_after(t, err);
	hv_tracee_bind(t);
	return NULL;
}

/* The last step. From here on the guest may be in a trampoline. */
static struct hv_err *change_calls(struct hv_session *s)
{
	struct hv_err *err = hv_hibernation_begin(s->tracee);
	HV_AUTO_TEXT struct hv_text report = {0};
	HV_AUTO_ERR struct hv_err *failed = NULL;

	if (!err)
		err = hv_renames_begin(s->tracee);
	if (err)
		failed = restore(s, &report);

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
	struct hv_span unused;
	struct hv_err *err = hv_init_code_begin(guest, kernel);

	if (!err)
		err = find_copy(kernel, &unused);
	if (!err)
		err = hv_session_new(guest, kernel, &s);
	if (!err)
		err = claim_region(s->tracee, &s->found_stale);
	if (!err)
		err = plan_mapping(s->tracee, &plan);
	if (err)
		return err;
	hv_session_find_rings(s);
	s->tracee->range = plan.range;
	s->tracee->veneers = plan.veneers;
	s->tracee->handler = hv_trampolines_handler(s->tracee);
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
	 * the trampolines that sites call. */
	if (!kernel->is_starting)
		s->modules_signature = kernel->modules_signature;
	if (!hv_session_refresh(s))
		hv_site_trampolines_look(s->trampolines);
	*ret = hv_take(s);
	return NULL;
}

/* -- recovering -------------------------------------------------------------------------------- */

/* Recovers from a service that died: finds its journal in the region and undoes its changes. The
 * journal is untrusted, because the guest's root can write it. So an entry is used only if the
 * change that it would undo is clearly ours, such as a site that calls our mapping or a page-table
 * entry that maps our region. */

/* Sets *RET to whether E is a patched site: its bytes call our mapping, and the journal would
 * restore a nop, or a call that the guest itself made. */
static struct hv_err *site_is_ours(const struct hv_tracee *t, const struct hv_ftrace_users *users,
				   struct hv_journal_entry *e, bool *ret)
{
	struct hv_gva target;

	*ret = false;
	if (t->kernel->core.as.arch->classify_site(e->old_bytes, hv_gva(e->gva), &target) !=
	    HV_SITE_NOP)
		return hv_chains_are_ours(t, users, e, ret);
	return hv_tracee_is_patched(t, e, ret);
}

static struct hv_err *entry_is_ours(const struct hv_tracee *t, const struct hv_journal_entry *e,
				    bool *ret)
{
	static const uint8_t empty[8];
	struct hv_mapping m;
	struct hv_err *err;

	*ret = false;
	if (e->len_bytes != sizeof(uint64_t) || !hv_tracee_has(t, hv_gva(e->gva)) ||
	    memcmp(e->old_bytes, empty, sizeof(empty)) != 0)
		return NULL;
	err = hv_walk_to_entry(&t->kernel->core.as, hv_gva(e->gva), &m);
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
	hv_cleanup(hv_ftrace_users_deinit) struct hv_ftrace_users users = {0};

	/* If the users of the guest's ftrace cannot be read, sites whose entries restore a call of
	 * such a user stay patched, and recovery fails until they can be read. */
	hv_err_free(hv_ftrace_users_read(&s->kernel->core, &users));
	for (uint32_t i = 0; i < nr; i++) {
		bool ours = false;
		struct hv_err *err = NULL;

		if (entries[i].state != HV_JOURNAL_USED)
			continue;
		if (entries[i].kind == HV_CHANGE_TEXT)
			err = site_is_ours(s->tracee, &users, &entries[i], &ours);
		else if (entries[i].kind == HV_CHANGE_FTRACE_READER)
			err = hv_guest_ftrace_is_ours(s->guest_ftrace, &entries[i], &ours);
		else if (entries[i].kind == HV_CHANGE_DETOUR ||
			 entries[i].kind == HV_CHANGE_PROBE_SITE)
			err = hv_detours_are_ours(s->tracee, &entries[i], &ours);
		else if (entries[i].kind == HV_CHANGE_HIBERNATION)
			err = hv_hibernation_is_ours(s->tracee, &entries[i], &ours);
		else if (entries[i].kind == HV_CHANGE_RENAME)
			err = hv_renames_are_ours(s->tracee, &entries[i], &ours);
		else if (entries[i].kind == HV_CHANGE_EVENT_CALL)
			err = hv_event_calls_are_ours(s->tracee, &entries[i], &ours);
		else if (entries[i].kind == HV_CHANGE_MODULE)
			err = hv_module_claims_are_ours(s->tracee, &entries[i], &ours);
		else if (entries[i].kind == HV_CHANGE_KEY ||
			 entries[i].kind == HV_CHANGE_STATIC_CALL)
			err = hv_plugs_know_change(s->tracee, &entries[i], &ours);
		else if (entries[i].kind == HV_CHANGE_ENTRY)
			err = entry_is_ours(s->tracee, &entries[i], &ours);
		if (err)
			return err;
		if (!ours)
			entries[i].state = HV_JOURNAL_FREE;
	}
	return NULL;
}

/* Our changes for events may be in modules. If the guest's list of modules cannot be read, the
 * other changes must still be undone. EBUSY: the members of struct module were not derived. This
 * can be temporary, while the guest loads a module. */
static struct hv_err *read_modules(struct hv_kernel *k)
{
	struct hv_modules modules;
	struct hv_err *err = hv_modules_read(&k->core, &modules);

	if (err && k->core.types.from == HV_TYPES_DERIVED) {
		err->code = EBUSY;
		return err;
	}
	if (err) {
		hv_err_free(err);
		return NULL;
	}
	hv_modules_deinit(&k->modules);
	k->modules = modules;
	return NULL;
}

static struct hv_err *restore_from(struct hv_session *s, const struct hv_region_header *header,
				   struct hv_text *report)
{
	size_t len = header->nr_entries * sizeof(struct hv_journal_entry);
	HV_AUTO_FREE struct hv_journal_entry *entries = hv_alloc(len);
	struct hv_tracee *t = s->tracee;
	struct hv_err *err;

	err = read_modules(t->kernel);
	if (err)
		return err;
	memcpy(entries, hv_region_journal(&t->region), len);
	t->range = hv_region_range(header);
	hv_tracee_plan_as(t, header->map_len_bytes);
	hv_session_find_rings(s);
	t->veneers = hv_region_veneers(header);
	t->handler = hv_gva(header->handler_gva);
	err = check_journal(s, entries, header->nr_entries);
	if (!err)
		err = hv_guest_prepare_hold(t->guest);
	if (!err)
		err = hv_guest_pin(t->guest);
	if (err)
		return err;
	t->had_copies = true; /* the dead process may have removed callbacks from guest arrays */
	hv_tracee_bind(t);
	hv_patcher_adopt(t->patcher, entries, header->nr_entries);
	return restore(s, report);
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
