/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/budget.h"

#include <string.h>

#include "kernel/kernel.h"
#include "tracer/load.h"
#include "tree/instance/core/instance.h"

#define NAMED_MAX 8

struct hv_budget {
	struct hv_load *load; /* owned; NULL: no limit was set yet */
	uint64_t load_ppm;    /* latest measurement */
	uint64_t taken_ns;    /* vCPU time spent in trampolines while measuring, in total */
	struct hv_filter aside;
	uint64_t named[NAMED_MAX]; /* the first functions put aside, in that order */
};

static struct hv_budget *state_of(const struct hv_instances *all)
{
	return hv_instances_state(all, HV_PART_BUDGET);
}

static void deinit_all(struct hv_instances *all)
{
	struct hv_budget *b = state_of(all);

	hv_load_free(b->load);
	hv_filter_deinit(&b->aside);
}

const struct hv_part hv_budget_part = {.all_bytes = sizeof(struct hv_budget),
				       .deinit_all = deinit_all};

uint64_t hv_budget_load_ppm(const struct hv_instances *all)
{
	return state_of(all)->load_ppm;
}

uint64_t hv_budget_taken_ns(const struct hv_instances *all)
{
	return state_of(all)->taken_ns;
}

bool hv_budget_has(const struct hv_instances *all, struct hv_gva ip)
{
	return hv_filter_has(&state_of(all)->aside, ip);
}

void hv_budget_forget(struct hv_instances *all)
{
	struct hv_budget *b = state_of(all);

	hv_filter_deinit(&b->aside);
	b->aside = (struct hv_filter){0};
}

static void add_name(const struct hv_sites *sites, uint64_t ip, struct hv_text *ret)
{
	for (size_t i = 0; i < sites->nr; i++) {
		if (sites->list[i].ip.v != ip)
			continue;
		if (ret->len_bytes)
			hv_text_add(ret, ", ");
		hv_site_text(&sites->list[i], ret);
		return;
	}
}

/* Inserts IP into the ascending list. */
static void put_aside(struct hv_filter *f, struct hv_gva ip)
{
	size_t at = f->nr;

	f->ips = hv_realloc_array(f->ips, f->nr + 1, sizeof(*f->ips));
	while (at && f->ips[at - 1] > ip.v)
		at--;
	memmove(&f->ips[at + 1], &f->ips[at], (f->nr - at) * sizeof(*f->ips));
	f->ips[at] = ip.v;
	f->nr++;
}

/* Selects functions until the remaining load is four fifths of the limit. */
static void choose(struct hv_budget *b, const struct hv_sites *sites,
		   const struct hv_load_view *view, uint64_t limit_ppm)
{
	struct hv_filter known = hv_filter_match(sites, "*", NULL);
	uint64_t wanted_ppm = limit_ppm - limit_ppm / 5;
	uint64_t left = view->cost;
	uint64_t enough = (uint64_t)((unsigned __int128)view->cost * wanted_ppm / view->ppm);

	for (size_t i = 0; i < view->nr && left > enough; i++) {
		const struct hv_load_function *f = &view->functions[i];

		/* The guest may have written any address into a record. */
		if (hv_filter_has(&b->aside, f->ip) || !hv_filter_has(&known, f->ip))
			continue;
		if (b->aside.nr < NAMED_MAX)
			b->named[b->aside.nr] = f->ip.v;
		put_aside(&b->aside, f->ip);
		left -= f->cost;
	}
	hv_filter_deinit(&known);
}

struct hv_err *hv_budget_keep(struct hv_instances *all, uint64_t limit_ppm, uint64_t now_ns,
			      size_t *ret_nr)
{
	struct hv_budget *b = state_of(all);
	HV_AUTO_LOAD_VIEW struct hv_load_view view = {0};
	struct hv_filter before;
	struct hv_err *err;

	*ret_nr = 0;
	if (!b->load)
		b->load = hv_load_new(hv_instances_session(all));
	hv_load_look(b->load, now_ns, &view);
	b->load_ppm = view.ppm;
	b->taken_ns += view.taken_ns;
	if (view.ppm <= limit_ppm)
		return NULL;
	before = hv_filter_dup(&b->aside);
	choose(b, &hv_instances_session(all)->kernel->sites, &view, limit_ppm);
	err = b->aside.nr == before.nr ? NULL : hv_instance_retrace(hv_instances_top(all));
	if (err) {
		hv_filter_deinit(&b->aside);
		b->aside = before;
		return err;
	}
	*ret_nr = b->aside.nr - before.nr;
	hv_filter_deinit(&before);
	return NULL;
}

void hv_budget_names(const struct hv_instances *all, struct hv_text *ret)
{
	const struct hv_budget *b = state_of(all);
	HV_AUTO_TEXT struct hv_text names = {0};

	for (size_t i = 0; i < b->aside.nr && i < NAMED_MAX; i++)
		add_name(&hv_instances_session(all)->kernel->sites, b->named[i], &names);
	if (b->aside.nr > NAMED_MAX)
		hv_text_printf(&names, " and %zu more", b->aside.nr - NAMED_MAX);
	if (names.data)
		hv_text_add(ret, names.data);
}
