/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/text_diff.h"

#include <stdlib.h>

#include "tracer/guest/tracee.h"

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

/* hvtrace made a difference if a site there calls our range. All other differences are static keys
 * and calls that the guest switched, or that belong to events that recover removed. */
struct hv_err *hv_text_diff_report(const struct hv_tracee *t, struct hv_text *report)
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
