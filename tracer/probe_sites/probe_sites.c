/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/probe_sites/probe_sites.h"

#include <stdlib.h>
#include <string.h>

#include "tracer/guest/actions.h"
#include "tracer/guest/tracee.h"
#include "tracer/probe_sites/detours.h"

/* -- runs -------------------------------------------------------------------------------------- */

static uint64_t end_of(const struct hv_probe_site *site)
{
	return site->at.v + site->len_bytes;
}

bool hv_probe_runs_meet(const struct hv_probe_run *a, const struct hv_probe_run *b)
{
	return a->head.at.v < end_of(&b->head) && b->head.at.v < end_of(&a->head);
}

bool hv_probe_run_records(const struct hv_probe_run *run, struct hv_gva at, unsigned group)
{
	for (unsigned i = 0; i < run->nr_probes; i++)
		if (run->head.at.v + run->probes[i].off == at.v && run->probes[i].group == group)
			return true;
	return false;
}

bool hv_probe_run_has(const struct hv_probe_run *b, const struct hv_probe_run *a)
{
	for (unsigned i = 0; i < a->nr_probes; i++)
		if (!hv_probe_run_records(b, hv_gva_add(a->head.at, a->probes[i].off),
					  a->probes[i].group))
			return false;
	return true;
}

/* Returns whether an instruction that HEAD replaces begins at AT. */
static bool begins_in(const struct hv_probe_site *head, struct hv_gva at)
{
	uint64_t off = at.v - head->at.v;

	return off < head->len_bytes && off < HV_DETOUR_INSN_MAX && head->begins >> off & 1;
}

/* Returns the head of the run with SITE. No run begins before START. */
static const struct hv_probe_site *find_head(const struct hv_probe_site *site, uint64_t start,
					     const struct hv_probe_run *now, size_t nr_now)
{
	for (size_t i = 0; i < nr_now; i++)
		if (now[i].head.at.v >= start && begins_in(&now[i].head, site->at))
			return &now[i].head;
	return site;
}

static bool add(struct hv_probe_run *run, const struct hv_probe_want *want)
{
	if (!begins_in(&run->head, want->site.at) || run->nr_probes == HV_DETOUR_PROBES_MAX)
		return false;
	run->probes[run->nr_probes++] = (struct hv_detour_probe){
		.off = (unsigned)(want->site.at.v - run->head.at.v),
		.group = want->group,
	};
	return true;
}

size_t hv_probe_runs_plan(struct hv_probe_want *wants, size_t nr, const struct hv_probe_run *now,
			  size_t nr_now, struct hv_probe_run *ret)
{
	uint64_t end = 0; /* end of the last run */
	size_t nr_runs = 0;

	for (size_t i = 0; i < nr; i++) {
		if (wants[i].is_refused)
			continue;
		if (!nr_runs || wants[i].site.at.v >= end) {
			const struct hv_probe_site *head =
				find_head(&wants[i].site, end, now, nr_now);

			ret[nr_runs++] = (struct hv_probe_run){.head = *head};
			end = end_of(head);
		}
		wants[i].is_refused = !add(&ret[nr_runs - 1], &wants[i]);
	}
	return nr_runs;
}

/* -- probe sites ------------------------------------------------------------------------------- */

struct hv_probe_sites {
	struct hv_tracee *tracee;     /* borrowed */
	struct hv_actions *actions;   /* borrowed */
	struct hv_detours *detours;   /* owned */
	struct hv_probe_want *wanted; /* owned, ascending; leading to detours, or refused */
	size_t nr;
	struct hv_probe_run *runs; /* owned, ascending: present runs in the guest */
	size_t nr_runs;
};

struct hv_probe_sites *hv_probe_sites_new(struct hv_tracee *t, struct hv_actions *a)
{
	struct hv_probe_sites *p = hv_alloc(sizeof(*p));

	p->tracee = t;
	p->actions = a;
	p->detours = hv_detours_new(t, HV_CHANGE_PROBE_SITE);
	return p;
}

void hv_probe_sites_free(struct hv_probe_sites *p)
{
	if (!p)
		return;
	hv_detours_free(p->detours);
	free(p->wanted);
	free(p->runs);
	free(p);
}

/* -- possible probe sites ---------------------------------------------------------------------- */

/* Adds the original bytes where there are changes of KIND. */
static size_t add_own(const struct hv_tracee *t, enum hv_change_kind kind,
		      struct hv_own_bytes **list, size_t nr)
{
	HV_AUTO_FREE struct hv_change *undo = NULL;
	size_t nr_undo = hv_patcher_undo_plan(t->patcher, kind, &undo);

	*list = hv_realloc_array(*list, nr + nr_undo + 1, sizeof(**list));
	for (size_t i = 0; i < nr_undo; i++) {
		struct hv_own_bytes *own = &(*list)[nr++];

		*own = (struct hv_own_bytes){.at = undo[i].gva, .len_bytes = undo[i].len_bytes};
		memcpy(own->bytes, undo[i].to, undo[i].len_bytes);
	}
	return nr;
}

/* A change may be shorter than the instruction that it replaces. */
static bool overlaps(const struct hv_own_bytes *own, const struct hv_probe_site *site)
{
	return own->at.v < site->at.v + site->len_bytes &&
	       site->at.v < own->at.v + HV_DETOUR_INSN_MAX && own->at.v != site->at.v;
}

struct hv_err *hv_probe_sites_find(const struct hv_probe_sites *p, struct hv_gva at,
				   struct hv_probe_site *ret)
{
	HV_AUTO_FREE struct hv_own_bytes *own = NULL;
	size_t nr_sites = add_own(p->tracee, HV_CHANGE_PROBE_SITE, &own, 0);
	size_t nr = add_own(p->tracee, HV_CHANGE_DETOUR, &own, nr_sites);

	return hv_probe_site_read(p->tracee->kernel, at, own, nr, ret);
}

/* Returns whether no latency tracer replaced instructions of SITE: two jumps must not overlap. */
static bool is_free(const struct hv_probe_sites *p, const struct hv_probe_site *site)
{
	HV_AUTO_FREE struct hv_own_bytes *own = NULL;
	size_t nr = add_own(p->tracee, HV_CHANGE_DETOUR, &own, 0);

	for (size_t i = 0; i < nr; i++)
		if (overlaps(&own[i], site))
			return false;
	return true;
}

/* -- present runs ------------------------------------------------------------------------------ */

static bool is_in(const struct hv_change *undo, size_t nr, struct hv_gva at)
{
	for (size_t i = 0; i < nr; i++)
		if (undo[i].gva.v == at.v)
			return true;
	return false;
}

/* Forgets runs that were restored, or whose module was removed. */
static void forget_gone(struct hv_probe_sites *p)
{
	HV_AUTO_FREE struct hv_change *undo = NULL;
	size_t nr_undo, nr = 0;

	hv_patcher_forget_gone(p->tracee->patcher);
	nr_undo = hv_patcher_undo_plan(p->tracee->patcher, HV_CHANGE_PROBE_SITE, &undo);
	for (size_t i = 0; i < p->nr_runs; i++)
		if (is_in(undo, nr_undo, p->runs[i].head.at))
			p->runs[nr++] = p->runs[i];
	p->nr_runs = nr;
}

static const struct hv_probe_run *find_run(const struct hv_probe_sites *p, struct hv_gva head)
{
	for (size_t i = 0; i < p->nr_runs; i++)
		if (p->runs[i].head.at.v == head.v)
			return &p->runs[i];
	return NULL;
}

static int by_head(const void *a, const void *b)
{
	uint64_t x = ((const struct hv_probe_run *)a)->head.at.v;
	uint64_t y = ((const struct hv_probe_run *)b)->head.at.v;

	return x < y ? -1 : x > y;
}

/* Notes that the guest has RUN now, possibly instead of another run with the same head. */
static void note(struct hv_probe_sites *p, const struct hv_probe_run *run)
{
	struct hv_probe_run *before = (struct hv_probe_run *)find_run(p, run->head.at);

	if (before) {
		*before = *run;
		return;
	}
	p->runs = hv_realloc_array(p->runs, p->nr_runs + 1, sizeof(*p->runs));
	p->runs[p->nr_runs++] = *run;
	qsort(p->runs, p->nr_runs, sizeof(*p->runs), by_head);
}

static struct hv_detour_want want_of(const struct hv_probe_sites *p, const struct hv_probe_run *run)
{
	struct hv_detour_want want = {
		.kind = HV_DETOUR_PROBE_SITE,
		.at = run->head.at,
		.len_bytes = run->head.len_bytes,
		.nr_insns = run->head.nr,
		.nr_probes = run->nr_probes,
		.leads_already = find_run(p, run->head.at) != NULL,
	};

	memcpy(want.insn, run->head.insns, sizeof(want.insn));
	memcpy(want.probes, run->probes, sizeof(want.probes));
	return want;
}

/* Makes RUN where the guest has no run, or one with the same head. */
static struct hv_err *patch(struct hv_probe_sites *p, const struct hv_probe_run *run)
{
	struct hv_detour_want want = want_of(p, run);
	size_t nr_refused = 0;
	struct hv_err *err = hv_detours_patch(p->detours, &want, 1, &nr_refused);

	if (!err && !nr_refused)
		note(p, run);
	return err;
}

/* Makes RUNS where the guest has other runs, at GONE. */
static struct hv_err *exchange(struct hv_probe_sites *p, const struct hv_probe_run *runs, size_t nr,
			       const struct hv_gva *gone, size_t nr_gone)
{
	HV_AUTO_FREE struct hv_detour_want *wants = hv_alloc(nr * sizeof(*wants));
	bool is_refused = false;
	struct hv_err *err;

	for (size_t i = 0; i < nr; i++)
		wants[i] = want_of(p, &runs[i]);
	err = hv_detours_exchange(p->detours, wants, nr, gone, nr_gone, &is_refused);
	if (err || is_refused)
		return err;
	forget_gone(p);
	for (size_t i = 0; i < nr; i++)
		note(p, &runs[i]);
	return NULL;
}

/* -- wanted runs ------------------------------------------------------------------------------- */

static struct hv_err *find_wanted(struct hv_probe_sites *p)
{
	size_t nr = hv_actions_nr_probe_sites(p->actions);

	free(p->wanted);
	p->wanted = hv_alloc((nr + 1) * sizeof(*p->wanted));
	p->nr = 0;
	for (size_t i = 0; i < nr; i++) {
		struct hv_probe_want *want = &p->wanted[i];
		struct hv_err *err =
			hv_actions_probe_site(p->actions, i, &want->site, &want->group);

		if (err)
			return err;
		want->is_refused = !is_free(p, &want->site);
		p->nr++;
	}
	return NULL;
}

/* Finds the runs of the guest that overlap the first of NEXT, and how many of NEXT must be made
 * together because they overlap the same run. */
static size_t find_gone(const struct hv_probe_sites *p, const struct hv_probe_run *next,
			size_t nr_next, struct hv_gva *gone, size_t *ret_nr)
{
	size_t nr = 0, last = 0;

	*ret_nr = 0;
	do {
		for (size_t i = 0; i < p->nr_runs; i++) {
			const struct hv_probe_run *run = &p->runs[i];

			if (!hv_probe_runs_meet(run, &next[nr]) ||
			    run->head.at.v == next[nr].head.at.v)
				continue;
			if (!*ret_nr || gone[*ret_nr - 1].v != run->head.at.v)
				gone[(*ret_nr)++] = run->head.at;
			last = i;
		}
		nr++;
	} while (nr < nr_next && *ret_nr && hv_probe_runs_meet(&p->runs[last], &next[nr]));
	return nr;
}

/* Makes the first of NEXT and those that must be made with it. */
static struct hv_err *make(struct hv_probe_sites *p, const struct hv_probe_run *next,
			   size_t nr_next, size_t *ret_nr)
{
	HV_AUTO_FREE struct hv_gva *gone = hv_alloc((p->nr_runs + 1) * sizeof(*gone));
	const struct hv_probe_run *now;
	size_t nr_gone;

	*ret_nr = find_gone(p, next, nr_next, gone, &nr_gone);
	if (nr_gone)
		return exchange(p, next, *ret_nr, gone, nr_gone);
	now = find_run(p, next[0].head.at);
	return now && hv_probe_run_has(now, &next[0]) ? NULL : patch(p, &next[0]);
}

/* There are few probe sites, so each run is made separately. A run that fails does not affect the
 * others. */
struct hv_err *hv_probe_sites_begin(struct hv_probe_sites *p)
{
	HV_AUTO_FREE struct hv_probe_run *next = NULL;
	size_t nr_next = 0;
	struct hv_err *err = find_wanted(p);

	hv_detours_look_again(p->detours);
	forget_gone(p);
	if (!err) {
		next = hv_alloc((p->nr + 1) * sizeof(*next));
		nr_next = hv_probe_runs_plan(p->wanted, p->nr, p->runs, p->nr_runs, next);
	}
	for (size_t i = 0, nr; !err && i < nr_next; i += nr)
		err = make(p, &next[i], nr_next - i, &nr);
	if (err) {
		p->nr = 0;
		hv_err_keep_first(&err, hv_probe_sites_end(p));
	}
	return err;
}

static bool is_wanted(const struct hv_probe_sites *p, const struct hv_probe_run *run,
		      const struct hv_detour_probe *probe)
{
	for (size_t i = 0; i < p->nr; i++)
		if (!p->wanted[i].is_refused &&
		    p->wanted[i].site.at.v == run->head.at.v + probe->off &&
		    p->wanted[i].group == probe->group)
			return true;
	return false;
}

/* Returns RUN with only the probes that are still wanted. */
static struct hv_probe_run wanted_of(const struct hv_probe_sites *p, const struct hv_probe_run *run)
{
	struct hv_probe_run less = {.head = run->head};

	for (unsigned i = 0; i < run->nr_probes; i++)
		if (is_wanted(p, run, &run->probes[i]))
			less.probes[less.nr_probes++] = run->probes[i];
	return less;
}

static bool stays(void *ctx, struct hv_gva at)
{
	const struct hv_probe_sites *p = ctx;
	const struct hv_probe_run *run = find_run(p, at);

	return run && wanted_of(p, run).nr_probes;
}

struct hv_err *hv_probe_sites_end(struct hv_probe_sites *p)
{
	struct hv_err *err = NULL;
	size_t unused;

	for (size_t i = 0; !err && i < p->nr_runs; i++) {
		const struct hv_probe_run less = wanted_of(p, &p->runs[i]);

		if (less.nr_probes && less.nr_probes < p->runs[i].nr_probes)
			err = patch(p, &less);
	}
	hv_err_keep_first(&err,
			  hv_detours_put_back(p->tracee, HV_CHANGE_PROBE_SITE, stays, p, &unused));
	forget_gone(p);
	if (!err || err->code != EBUSY)
		return err;
	hv_err_free(err);
	return NULL;
}

bool hv_probe_sites_has(const struct hv_probe_sites *p, struct hv_gva at)
{
	for (size_t i = 0; i < p->nr; i++)
		for (size_t r = 0; p->wanted[i].site.at.v == at.v && r < p->nr_runs; r++)
			if (!p->wanted[i].is_refused &&
			    hv_probe_run_records(&p->runs[r], at, p->wanted[i].group))
				return true;
	return false;
}
