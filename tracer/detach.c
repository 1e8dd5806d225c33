/* Leaving: every byte back, nothing of ours mapped, and the proof of it. */
#include <string.h>

#include "tracer/returns.h"
#include "tracer/yield.h"

#define NAMED_MAX 16 /* differences that are named one by one */

struct unmapping {
	struct hv_session *session;
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
	struct hv_err *err = hv_returns_put_back(u->session, hold, &u->nr_returns);

	if (!err)
		err = hv_patcher_apply_held(u->session->patcher, hold, u->changes, u->nr);
	if (!err)
		err = hv_hold_flush_translations(hold, HV_REGION_STUBS_OFF,
						 HV_REGION_STUBS_END - HV_REGION_STUBS_OFF);
	return err;
}

static struct hv_err *restore_sites(struct hv_session *s, struct hv_text *report)
{
	HV_AUTO_FREE struct hv_change *undo = NULL;
	struct hv_err *err;
	size_t nr;

	hv_patcher_forget_gone(s->patcher);
	hv_yield_forget_taken(s);
	nr = hv_patcher_undo_plan(s->patcher, HV_CHANGE_TEXT, &undo);
	err = hv_patcher_apply(s->patcher, undo, nr);
	if (!err)
		err = hv_yield_end_if_done(s);
	if (err)
		return err;
	memset(s->patched, 0, s->kernel->sites.nr);
	if (nr)
		hv_text_printf(report, "%zu sites restored and read back\n",
			       nr - hv_patcher_nr_standing(s->patcher, HV_CHANGE_TEXT));
	for (size_t i = 0; i < nr; i++)
		if (undo[i].refused)
			hv_text_printf(report,
				       "0x%llx: left alone: the guest changed it or freed it\n",
				       (unsigned long long)undo[i].gva.v);
	return NULL;
}

static void name_difference(struct hv_session *s, struct hv_gva at, struct hv_text *names)
{
	const char *name, *module;
	uint64_t off;

	if (!hv_kernel_symbol_at(s->kernel, at, &name, &module, &off))
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

/* Addresses of all sites, ascending. */
static uint64_t *sorted_sites(const struct hv_session *s)
{
	const struct hv_sites *sites = &s->kernel->sites;
	uint64_t *ips = hv_alloc(sites->nr * sizeof(*ips));

	for (size_t i = 0; i < sites->nr; i++)
		ips[i] = sites->list[i].ip.v;
	qsort(ips, sites->nr, sizeof(*ips), by_value);
	return ips;
}

/* The site that the byte at AT belongs to; false when there is none. */
static bool site_over(const uint64_t *ips, size_t nr, size_t site_len, uint64_t at, uint64_t *ret)
{
	size_t low = 0, high = nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (ips[mid] <= at)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0 || at - ips[low - 1] >= site_len)
		return false;
	*ret = ips[low - 1];
	return true;
}

static bool calls_us(const struct hv_session *s, const uint8_t *bytes, uint64_t ip)
{
	struct hv_gva target = {0};

	return s->kernel->core.as.arch->classify_site(bytes, hv_gva(ip), &target) == HV_SITE_CALL &&
	       hv_gva_in(target, s->range);
}

struct differences {
	struct hv_text names; /* of the first ones that are the guest's own */
	size_t nr;
	size_t nr_ours;
};

static void differences_deinit(struct differences *d)
{
	hv_text_deinit(&d->names);
}

static void sort_difference(struct hv_session *s, const uint8_t *before, const uint8_t *now,
			    const uint64_t *ips, size_t off, struct differences *d)
{
	struct hv_gva text = s->kernel->text.start;
	uint64_t ip;

	if (site_over(ips, s->kernel->sites.nr, s->kernel->core.as.arch->site_len_bytes,
		      text.v + off, &ip)) {
		if (calls_us(s, now + (ip - text.v), ip)) {
			d->nr_ours++;
			return;
		}
		/* The copy was taken with our call in it (recover): a nop now is what we want. */
		if (calls_us(s, before + (ip - text.v), ip))
			return;
	}
	if (d->nr++ < NAMED_MAX)
		name_difference(s, hv_gva_add(text, off), &d->names);
}

/* The kernel's text against the copy taken when it was opened. A site that calls our range would be
 * ours; whatever else differs is the guest's own doing (static keys and calls). */
static struct hv_err *compare_text(struct hv_session *s, struct hv_text *report)
{
	struct hv_gva_range text = s->kernel->text;
	size_t len = text.end.v - text.start.v;
	struct hv_span before = hv_image_at(&s->kernel->core.image, text.start);
	HV_AUTO_FREE uint8_t *now = hv_alloc(len + HV_SITE_LEN_MAX);
	HV_AUTO_FREE uint64_t *ips = sorted_sites(s);
	hv_cleanup(differences_deinit) struct differences d = {0};
	struct hv_err *err = hv_read(&s->kernel->core.as, text.start, now, len);

	if (err)
		return err;
	if (before.len_bytes < len + HV_SITE_LEN_MAX)
		return hv_err_new(EIO, "kernel text: no copy to compare with");
	for (size_t i = 0; i < len; i++) {
		if (now[i] == before.data[i])
			continue;
		sort_difference(s, before.data, now, ips, i, &d);
		while (i + 1 < len && now[i + 1] != before.data[i + 1])
			i++;
	}
	if (d.nr_ours)
		return hv_err_new(EIO, "kernel text: %zu sites still call a stub", d.nr_ours);
	hv_text_printf(report, "%zu bytes of kernel text compared, none of ours left", len);
	if (d.nr)
		hv_text_printf(report, "; %zu places changed by the guest itself: %s%s", d.nr,
			       d.names.data ? d.names.data : "", d.nr > NAMED_MAX ? ", ..." : "");
	hv_text_add(report, "\n");
	return NULL;
}

struct hv_err *hv_session_restore(struct hv_session *s, struct hv_text *report)
{
	hv_cleanup(unmapping_deinit) struct unmapping u = {.session = s};
	struct hv_err *err = restore_sites(s, report);

	/* Whatever was left alone, and wherever a module lies by now: before the stubs go. */
	hv_session_refresh(s);
	if (!err)
		err = hv_session_check_calls(s);
	if (err)
		return err;
	u.nr = hv_patcher_undo_plan(s->patcher, HV_CHANGE_ENTRY, &u.changes);
	if (u.nr)
		err = hv_patcher_held(s->patcher, unmap, &u);
	if (!err)
		err = hv_region_check_not_mapped(s->kernel, &s->region);
	if (err)
		return err;
	if (u.nr_returns)
		hv_text_printf(report, "%zu return addresses on the kernel's stacks put back\n",
			       u.nr_returns);
	hv_text_printf(report, "%zu page-table slots emptied, translations flushed\n", u.nr);
	err = compare_text(s, report);
	if (!err)
		err = hv_region_clear(&s->region);
	return err ? err : hv_guest_unpin(s->guest);
}

struct hv_err *hv_session_detach(struct hv_session *s, struct hv_text *report)
{
	struct hv_err *err = hv_session_alive(s);

	if (err)
		return err;
	hv_session_set_recording(s, 0);
	return hv_session_restore(s, report);
}
