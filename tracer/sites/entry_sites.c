/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/sites/entry_sites.h"

#include <stdlib.h>
#include <string.h>

#include "tracer/guest/tracee.h"
#include "tracer/probe_sites/detours.h"
#include "tracer/sites/site_trampolines.h"

/* Sites that lead to detours, or that are to lead to them; ascending. */
struct addresses {
	uint64_t *list; /* owned */
	size_t nr;
};

static void addresses_deinit(struct addresses *a)
{
	free(a->list);
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static bool has(const struct addresses *a, uint64_t at)
{
	return a->nr && bsearch(&at, a->list, a->nr, sizeof(at), by_value);
}

static struct addresses present(const struct hv_tracee *t)
{
	HV_AUTO_FREE struct hv_change *undo = NULL;
	size_t nr = hv_patcher_undo_plan(t->patcher, HV_CHANGE_PROBE_SITE, &undo);
	struct addresses a = {.list = hv_alloc((nr + 1) * sizeof(*a.list)), .nr = nr};

	for (size_t i = 0; i < nr; i++)
		a.list[i] = undo[i].gva.v;
	qsort(a.list, nr, sizeof(*a.list), by_value);
	return a;
}

static struct hv_detour_want want_of(const struct hv_sites *sites, size_t i)
{
	const struct hv_function_entry *entry = &sites->entries->list[i];
	struct hv_detour_want want = {
		.kind = HV_DETOUR_ENTRY,
		.at = sites->list[i].ip,
		.len_bytes = entry->len_bytes,
		.nr_insns = entry->nr,
	};

	memcpy(want.insn, entry->insns, entry->len_bytes);
	return want;
}

/* For hv_detours_put_back(). */
static bool keeps(void *ctx, struct hv_gva at)
{
	return has(ctx, at.v);
}

static void note_refused(const struct hv_detour_want *wants, size_t nr, struct hv_refused *ret)
{
	*ret = (struct hv_refused){0};
	for (size_t i = 0; i < nr; i++) {
		if (!wants[i].is_refused)
			continue;
		if (ret->nr < HV_REFUSED_FIRST)
			ret->first[ret->nr] = wants[i].at;
		ret->nr++;
	}
}

/* Restores the sites that are not in KEPT. After an error also restores the new ones, which are not
 * in BEFORE. */
static struct hv_err *put_back(struct hv_tracee *t, struct addresses *kept,
			       struct addresses *before)
{
	size_t nr;
	struct hv_err *err = hv_detours_put_back(t, HV_CHANGE_PROBE_SITE, keeps, kept, &nr);

	if (!err)
		return NULL;
	hv_patcher_set_stops(t->patcher, NULL, NULL); /* else it would be interrupted again */
	hv_err_free(hv_detours_put_back(t, HV_CHANGE_PROBE_SITE, keeps, before, &nr));
	return err;
}

struct hv_err *hv_entry_sites_set(struct hv_tracee *t, const uint8_t *wanted,
				  struct hv_refused *ret_refused)
{
	const struct hv_sites *sites = &t->kernel->sites;
	hv_cleanup(addresses_deinit) struct addresses kept = {0}, before = {0};
	HV_AUTO_FREE struct hv_detour_want *wants = NULL;
	struct hv_detours *detours = t->detours[1];
	size_t nr = 0, nr_refused = 0;
	struct hv_err *err = NULL;

	for (size_t i = 0; i < sites->nr; i++)
		nr += wanted[i] != 0;
	if (nr > HV_ENTRY_SITES_MAX)
		return hv_err_new(E2BIG,
				  "%zu functions; in a kernel without ftrace at most %u can be "
				  "traced at a time: choose some with set_ftrace_filter",
				  nr, HV_ENTRY_SITES_MAX);
	hv_patcher_forget_gone(t->patcher);
	before = present(t);
	kept.list = hv_alloc((nr + 1) * sizeof(*kept.list));
	wants = hv_alloc((nr + 1) * sizeof(*wants));
	nr = 0;
	for (size_t i = 0; i < sites->nr; i++) {
		if (!wanted[i])
			continue;
		kept.list[kept.nr++] = sites->list[i].ip.v;
		if (!has(&before, sites->list[i].ip.v))
			wants[nr++] = want_of(sites, i);
	}
	hv_detours_look_again(detours);
	if (nr)
		err = hv_detours_patch(detours, wants, nr, &nr_refused);
	if (!err)
		err = put_back(t, &kept, &before);
	if (!err)
		note_refused(wants, nr, ret_refused);
	return err;
}

void hv_entry_sites_now(const struct hv_tracee *t, uint8_t yes, uint8_t *ret)
{
	const struct hv_sites *sites = &t->kernel->sites;
	hv_cleanup(addresses_deinit) struct addresses now = present(t);

	for (size_t i = 0; i < sites->nr; i++)
		ret[i] = has(&now, sites->list[i].ip.v) ? yes : 0;
}
