/* Leaving: every byte back, nothing of ours mapped, and the proof of it. */
#include "tracer/session_state.h"

#include <string.h>

#define NAMED_MAX 16 /* differences that are named one by one */

/* EBUSY while a vCPU or a stack could still come back into the range. */
static struct hv_err *check_nobody_inside(struct hv_session *s, struct hv_hold *hold)
{
	unsigned nr_vcpus = hv_guest_info(s->guest)->nr_vcpus;
	HV_AUTO_FREE struct hv_vcpu_regs *regs = hv_alloc(nr_vcpus * sizeof(*regs));
	HV_AUTO_FREE char *where = NULL;
	size_t nr_found = 0;
	struct hv_err *err = hv_hold_registers(hold, regs);

	if (err)
		return err;
	for (unsigned cpu = 0; cpu < nr_vcpus; cpu++)
		if (hv_gva_in(regs[cpu].ip, s->range))
			return hv_err_new(EBUSY, "vCPU %u is in a stub", cpu);
	err = hv_stacks_scan(s->kernel, s->range, regs, nr_vcpus, &nr_found, &where);
	if (!err && nr_found)
		err = hv_err_new(EBUSY, "%s may return into a stub", where);
	return err;
}

struct unmapping {
	struct hv_session *session;
	struct hv_change *changes; /* owned */
	size_t nr;
};

static void unmapping_deinit(struct unmapping *u)
{
	free(u->changes);
}

static struct hv_err *unmap(struct hv_hold *hold, void *ctx)
{
	struct unmapping *u = ctx;
	struct hv_err *err = check_nobody_inside(u->session, hold);

	if (!err)
		err = hv_patcher_apply_held(u->session->patcher, hold, u->changes, u->nr);
	if (!err)
		err = hv_hold_flush_translations(hold);
	return err;
}

static struct hv_err *restore_sites(struct hv_session *s, struct hv_text *report)
{
	HV_AUTO_FREE struct hv_change *undo = NULL;
	size_t nr = hv_patcher_undo_plan(s->patcher, HV_CHANGE_TEXT, &undo);
	struct hv_err *err = hv_patcher_apply(s->patcher, undo, nr);

	if (err)
		return err;
	memset(s->patched, 0, s->kernel->sites.nr);
	hv_text_printf(report, "%zu sites restored and read back\n",
		       nr - hv_patcher_nr_standing(s->patcher, HV_CHANGE_TEXT));
	for (size_t i = 0; i < nr; i++)
		if (undo[i].refused)
			hv_text_printf(report,
				       "0x%llx: left alone: the guest changed it or freed it\n",
				       (unsigned long long)undo[i].gva.v);
	return NULL;
}

/* Names one difference of the text; false when it is one too many. */
static bool name_difference(struct hv_session *s, struct hv_gva at, struct hv_text *names)
{
	const char *name, *module;
	uint64_t off;

	if (!hv_kernel_symbol_at(s->kernel, at, &name, &module, &off))
		return false;
	hv_text_add(names, names->len_bytes ? ", " : "");
	hv_text_add_guest(names, name, 128);
	hv_text_printf(names, "+0x%llx", (unsigned long long)off);
	return true;
}

/* The site that the byte at AT belongs to, or NULL. Sites are sorted in parts only, so this is the
 * slow way, taken for few bytes. */
static const struct hv_site *site_over(const struct hv_session *s, struct hv_gva at)
{
	const struct hv_sites *sites = &s->kernel->sites;
	size_t len = s->kernel->as.arch->site_len_bytes;

	for (size_t i = 0; i < sites->nr; i++)
		if (at.v - sites->list[i].ip.v < len)
			return &sites->list[i];
	return NULL;
}

/* The kernel's text against the copy taken before attach. Bytes of a site that now call our range
 * would be ours; whatever else differs is the guest's own doing (static keys and calls). */
static struct hv_err *compare_text(struct hv_session *s, struct hv_text *report)
{
	struct hv_gva_range text = s->kernel->text;
	size_t len = text.end.v - text.start.v;
	struct hv_span before = hv_image_at(&s->kernel->image, text.start);
	HV_AUTO_FREE uint8_t *now = hv_alloc(len);
	HV_AUTO_TEXT struct hv_text names = {0};
	size_t nr_runs = 0, nr_ours = 0;
	struct hv_err *err = hv_read(&s->kernel->as, text.start, now, len);

	if (err || before.len_bytes < len)
		return err ? err : hv_err_new(EIO, "kernel text: no copy to compare with");
	for (size_t i = 0; i < len; i++) {
		const struct hv_site *site;
		struct hv_gva target = {0};

		if (now[i] == before.data[i])
			continue;
		site = site_over(s, hv_gva_add(text.start, i));
		if (site && s->kernel->as.arch->classify_site(now + (site->ip.v - text.start.v),
							      site->ip, &target) == HV_SITE_CALL)
			nr_ours += hv_gva_in(target, s->range);
		if (nr_runs++ < NAMED_MAX)
			name_difference(s, hv_gva_add(text.start, i), &names);
		while (i + 1 < len && now[i + 1] != before.data[i + 1])
			i++;
	}
	if (nr_ours)
		return hv_err_new(EIO, "kernel text: %zu sites still call a stub", nr_ours);
	hv_text_printf(report, "%zu bytes of kernel text compared, none of ours left", len);
	if (nr_runs)
		hv_text_printf(report, "; %zu changed by the guest itself: %s%s", nr_runs,
			       names.data, nr_runs > NAMED_MAX ? ", ..." : "");
	hv_text_add(report, "\n");
	return NULL;
}

struct hv_err *hv_session_restore(struct hv_session *s, struct hv_text *report)
{
	hv_cleanup(unmapping_deinit) struct unmapping u = {.session = s};
	struct hv_err *err = restore_sites(s, report);

	if (err)
		return err;
	u.nr = hv_patcher_undo_plan(s->patcher, HV_CHANGE_ENTRY, &u.changes);
	if (u.nr)
		err = hv_patcher_held(s->patcher, unmap, &u);
	if (err)
		return err;
	hv_text_printf(report, "%zu page-table slots emptied, translations flushed\n", u.nr);
	err = compare_text(s, report);
	if (!err)
		err = hv_region_clear(&s->region);
	return err;
}

struct hv_err *hv_session_detach(struct hv_session *s, struct hv_text *report)
{
	struct hv_err *err = hv_session_alive(s);

	if (err)
		return err;
	hv_session_set_recording(s, 0);
	return hv_session_restore(s, report);
}
