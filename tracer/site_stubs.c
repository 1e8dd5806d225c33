#include "tracer/site_stubs.h"

#include <stdlib.h>
#include <string.h>

#include "tracer/actions.h"
#include "tracer/graph_tracer.h"
#include "tracer/tracee.h"
#include "tracer/yield.h"

struct hv_site_stubs {
	struct hv_tracee *tracee; /* borrowed, as are these: */
	struct hv_graph_tracer *graph;
	struct hv_actions *actions;
	struct hv_yield *yield;
	uint8_t *now; /* owned, one a site of kernel->sites: enum hv_stub */
	size_t nr_refused;
};

struct hv_site_stubs *hv_site_stubs_new(struct hv_tracee *t, struct hv_graph_tracer *graph,
					struct hv_actions *actions, struct hv_yield *yield)
{
	struct hv_site_stubs *s = hv_alloc(sizeof(*s));

	*s = (struct hv_site_stubs){
		.tracee = t,
		.graph = graph,
		.actions = actions,
		.yield = yield,
		.now = hv_alloc(t->kernel->sites.nr),
	};
	return s;
}

void hv_site_stubs_free(struct hv_site_stubs *s)
{
	if (!s)
		return;
	free(s->now);
	free(s);
}

/* Translations of ascending addresses, a leaf at a time. */
struct translation {
	const struct hv_address_space *as;
	struct hv_gva_range covers;
	struct hv_mapping mapping; /* of covers.start */
};

static struct hv_err *translate(struct translation *walk, struct hv_gva gva, bool *ret_present,
				struct hv_gpa *ret)
{
	if (!hv_gva_in(gva, walk->covers)) {
		struct hv_err *err = hv_walk(walk->as, gva, &walk->mapping);

		if (err)
			return err;
		walk->covers = (struct hv_gva_range){gva, hv_gva_add(gva, walk->mapping.len_bytes)};
	}
	*ret_present = walk->mapping.present;
	*ret = hv_gpa_add(walk->mapping.gpa, gva.v - walk->covers.start.v);
	return NULL;
}

enum verdict { LEAVE, CHANGE, REFUSE };

/* STUB: where the site is to call to; 0: nowhere. */
static enum verdict judge(const struct hv_tracee *t, const struct hv_site *site, struct hv_gva stub,
			  struct hv_change *change)
{
	const struct hv_arch *arch = t->kernel->core.as.arch;
	struct hv_gva target = {0};
	enum hv_site_kind kind = arch->classify_site(change->from, site->ip, &target);
	bool ours = kind == HV_SITE_CALL && hv_gva_in(target, t->range);

	if (ours && target.v == stub.v)
		return LEAVE;
	if (ours && !hv_patcher_old_bytes(t->patcher, change->gpa, change->to))
		return LEAVE;
	if (!stub.v)
		return ours ? CHANGE : LEAVE;
	if (!ours && (site->invalid || site->busy || kind != HV_SITE_NOP))
		return REFUSE;
	return arch->encode_call(site->ip, stub, change->to) ? CHANGE : REFUSE;
}

static struct hv_err *plan_site(const struct hv_tracee *t, struct translation *walk,
				const struct hv_site *site, struct hv_gva stub,
				struct hv_change *change, enum verdict *ret)
{
	uint32_t len = (uint32_t)t->kernel->core.as.arch->site_len_bytes;
	bool present;
	struct hv_err *err;

	*change = (struct hv_change){.gva = site->ip, .kind = HV_CHANGE_TEXT, .len_bytes = len};
	err = translate(walk, site->ip, &present, &change->gpa);
	if (err)
		return err;
	/* A site across two pages would need two writes; the kernel aligns none so, and a guest
	 * that frees the page under it has unmapped the function. */
	if (!present || hv_site_crosses_pages(t->kernel->core.as.arch, change->gpa.v)) {
		*ret = stub.v ? REFUSE : LEAVE;
		return NULL;
	}
	err = hv_guest_read(t->guest, change->gpa, change->from, len);
	if (!err)
		*ret = judge(t, site, stub, change);
	return err;
}

/* The stub that the site at GPA calls, as far as we changed it. */
static uint8_t standing_stub(const struct hv_site_stubs *s, const struct hv_site *site,
			     struct hv_gpa gpa)
{
	const struct hv_tracee *t = s->tracee;
	const struct hv_arch *arch = t->kernel->core.as.arch;
	uint8_t bytes[HV_SITE_LEN_MAX], old_bytes[8];
	struct hv_gva target = {0};
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (!hv_patcher_old_bytes(t->patcher, gpa, old_bytes))
		return HV_STUB_NONE;
	err = hv_guest_read(t->guest, gpa, bytes, arch->site_len_bytes);
	if (err || arch->classify_site(bytes, site->ip, &target) != HV_SITE_CALL)
		return HV_STUB_NONE;
	if (!hv_actions_goes_on(s->actions, target, &target))
		return (uint8_t)hv_stubs_called_at(t, target);
	if (target.v)
		return (uint8_t)hv_stubs_called_at(t, target);
	return hv_actions_has(s->actions, site->ip.v) ? HV_STUB_ACTIONS : HV_STUB_NONE;
}

/* What stands in the guest now, whoever asked for it. */
static void note_now(struct hv_site_stubs *s, const struct hv_gpa *gpas)
{
	s->now = hv_realloc_array(s->now, s->tracee->kernel->sites.nr, 1);
	for (size_t i = 0; i < s->tracee->kernel->sites.nr; i++)
		s->now[i] = standing_stub(s, &s->tracee->kernel->sites.list[i], gpas[i]);
}

/* One pass over all sites: those in WANTED's places are made to call, all others are restored. */
static struct hv_err *change_sites(struct hv_site_stubs *s, const struct hv_gva *wanted,
				   struct hv_gpa *ret_gpas)
{
	const struct hv_sites *sites = &s->tracee->kernel->sites;
	HV_AUTO_FREE struct hv_change *changes = hv_alloc((sites->nr + 1) * sizeof(*changes));
	struct translation walk = {.as = &s->tracee->kernel->core.as};
	size_t nr = 0, nr_refused = 0;
	HV_AUTO_ERR struct hv_err *ended = NULL;
	struct hv_err *err;

	for (size_t i = 0; i < sites->nr; i++) {
		enum verdict verdict;

		err = plan_site(s->tracee, &walk, &sites->list[i], wanted[i], &changes[nr],
				&verdict);
		if (err)
			return hv_err_in(err, "site %s", sites->list[i].name);
		ret_gpas[i] = changes[nr].gpa;
		nr += verdict == CHANGE;
		nr_refused += verdict == REFUSE;
	}
	err = nr ? hv_yield_begin(s->yield) : NULL;
	if (!err)
		err = hv_patcher_apply(s->tracee->patcher, changes, nr);
	ended = hv_yield_end_if_done(s->yield);
	if (!err)
		err = hv_take(ended);
	for (size_t i = 0; !err && i < nr; i++)
		nr_refused += changes[i].refused;
	if (!err)
		s->nr_refused = nr_refused;
	return err;
}

/* Where the sites are to call to. */
static struct hv_err *choose_stubs(struct hv_site_stubs *s, const uint8_t *wanted, bool frames,
				   struct hv_gva *ret)
{
	struct hv_graph_roles roles = {0};
	const struct hv_sites *sites = &s->tracee->kernel->sites;
	struct hv_err *err = frames ? hv_graph_tracer_find_roles(s->graph, &roles) : NULL;

	hv_actions_begin(s->actions);
	for (size_t i = 0; !err && i < sites->nr; i++) {
		enum hv_call_role role = frames ? hv_graph_role(&roles, i) : HV_ROLE_NONE;
		bool acts = false;
		struct hv_gva entry;

		if (wanted[i] || role)
			ret[i] = hv_stubs_call(s->tracee, wanted[i], role);
		if (!sites->list[i].invalid)
			err = hv_actions_entry(s->actions, sites->list[i].ip.v, ret[i], &acts,
					       &entry);
		if (!err && acts)
			ret[i] = entry;
	}
	return err;
}

struct hv_err *hv_site_stubs_set(struct hv_site_stubs *s, const uint8_t *wanted)
{
	size_t nr = s->tracee->kernel->sites.nr;
	HV_AUTO_FREE struct hv_gpa *gpas = hv_alloc(nr * sizeof(*gpas));
	HV_AUTO_FREE struct hv_gva *stubs = hv_alloc(nr * sizeof(*stubs));
	struct hv_err *err = NULL;
	bool graph = false, frames = false, stacks = false;

	for (size_t i = 0; i < nr; i++) {
		graph |= (wanted[i] & ~HV_STUB_PROFILED) >= HV_STUB_GRAPH;
		frames |= wanted[i] >= HV_STUB_GRAPH;
		stacks |= wanted[i] == (HV_STUB_FUNCTION_STACK | HV_STUB_PROFILED);
	}
	if (stacks)
		err = hv_err_new(EBUSY, "the profile and func_stack_trace: one at a time");
	if (!err && frames)
		err = hv_graph_tracer_start(s->graph);
	if (!err)
		err = choose_stubs(s, wanted, frames, stubs);
	if (err)
		return err;
	if (graph)
		hv_graph_tracer_record(s->graph, 1);
	err = change_sites(s, stubs, gpas);
	if (!err)
		hv_actions_done(s->actions);
	note_now(s, gpas);
	if (!err && !graph)
		hv_graph_tracer_record(s->graph, 0);
	if (!err && !frames)
		hv_graph_tracer_stop(s->graph);
	return err;
}

struct hv_err *hv_site_stubs_check_gone(const struct hv_site_stubs *s)
{
	const struct hv_sites *sites = &s->tracee->kernel->sites;
	const struct hv_arch *arch = s->tracee->kernel->core.as.arch;
	struct translation walk = {.as = &s->tracee->kernel->core.as};

	for (size_t i = 0; i < sites->nr; i++) {
		const struct hv_site *site = &sites->list[i];
		uint8_t bytes[HV_SITE_LEN_MAX];
		struct hv_gpa gpa;
		bool present;
		struct hv_err *err = translate(&walk, site->ip, &present, &gpa);

		if (!err && !present)
			continue;
		if (!err)
			err = hv_guest_read(s->tracee->guest, gpa, bytes, arch->site_len_bytes);
		if (err)
			return hv_err_in(err, "site %s", site->name);
		if (hv_tracee_is_call(s->tracee, site->ip, bytes))
			return hv_err_new(EBUSY, "site %s (0x%llx) still calls a stub", site->name,
					  (unsigned long long)site->ip.v);
	}
	return hv_yield_check_gone(s->yield);
}

/* Where the sites are now; what cannot be translated is nowhere. */
void hv_site_stubs_look(struct hv_site_stubs *s)
{
	const struct hv_sites *sites = &s->tracee->kernel->sites;
	HV_AUTO_FREE struct hv_gpa *gpas = hv_alloc(sites->nr * sizeof(*gpas));
	struct translation walk = {.as = &s->tracee->kernel->core.as};

	for (size_t i = 0; i < sites->nr; i++) {
		bool present = false;
		HV_AUTO_ERR struct hv_err *err =
			translate(&walk, sites->list[i].ip, &present, &gpas[i]);

		if (err || !present)
			gpas[i] = hv_gpa(UINT64_MAX);
	}
	note_now(s, gpas);
}

struct hv_err *hv_site_stubs_restore(struct hv_site_stubs *s, struct hv_text *report)
{
	struct hv_patcher *p = s->tracee->patcher;
	HV_AUTO_FREE struct hv_change *undo = NULL;
	struct hv_err *err;
	size_t nr;

	hv_patcher_forget_gone(p);
	hv_yield_forget_taken(s->yield);
	nr = hv_patcher_undo_plan(p, HV_CHANGE_TEXT, &undo);
	err = hv_patcher_apply(p, undo, nr);
	if (!err)
		err = hv_yield_end_if_done(s->yield);
	if (err)
		return err;
	memset(s->now, HV_STUB_NONE, s->tracee->kernel->sites.nr);
	if (nr)
		hv_text_printf(report, "%zu sites restored and read back\n",
			       nr - hv_patcher_nr_standing(p, HV_CHANGE_TEXT));
	for (size_t i = 0; i < nr; i++)
		if (undo[i].refused)
			hv_text_printf(report,
				       "0x%llx: left alone: the guest changed it or freed it\n",
				       (unsigned long long)undo[i].gva.v);
	return NULL;
}

const uint8_t *hv_site_stubs_now(const struct hv_site_stubs *s)
{
	return s->now;
}

size_t hv_site_stubs_nr_refused(const struct hv_site_stubs *s)
{
	return s->nr_refused;
}
