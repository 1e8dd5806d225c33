/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/sites/site_trampolines.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kernel/kernel.h"
#include "kernel/sites/ftrace_users.h"
#include "tracer/graph/graph_tracer.h"
#include "tracer/guest/actions.h"
#include "tracer/guest/tracee.h"
#include "tracer/hooks/guest_ftrace.h"
#include "tracer/probe_sites/probe_sites.h"
#include "tracer/sites/chains.h"
#include "tracer/sites/entry_sites.h"
#include "tracer/sites/site_pairs.h"

struct hv_site_trampolines {
	struct hv_tracee *tracee; /* borrowed, like the next four */
	struct hv_graph_tracer *graph;
	struct hv_actions *actions;
	struct hv_guest_ftrace *guest_ftrace;
	struct hv_probe_sites *probe_sites;
	struct hv_chains *chains; /* owned */
	/* The guest's users during a change of sites, read when the first of them is met. */
	struct hv_ftrace_users users; /* owned */
	bool has_users;
	uint8_t *now;	       /* owned, one per site of kernel->sites: enum hv_trampoline */
	size_t nr_joined;      /* sites that call a chain */
	struct hv_text unseen; /* owned; names of functions that the guest took until now */
	size_t nr_unseen;
	uint64_t unseen_ns; /* the longest time of them */
	struct hv_refused refused;
	struct hv_gva inexact; /* the refused site that affects others; 0: none */
	unsigned inexact_for;  /* enum relied_on */
};

struct hv_site_trampolines *hv_site_trampolines_new(struct hv_tracee *t,
						    struct hv_graph_tracer *graph,
						    struct hv_actions *actions,
						    struct hv_guest_ftrace *guest_ftrace,
						    struct hv_probe_sites *probe_sites)
{
	struct hv_site_trampolines *s = hv_alloc(sizeof(*s));

	*s = (struct hv_site_trampolines){
		.tracee = t,
		.graph = graph,
		.actions = actions,
		.guest_ftrace = guest_ftrace,
		.probe_sites = probe_sites,
		.chains = hv_chains_new(t),
		.now = hv_alloc(t->kernel->sites.nr),
	};
	return s;
}

void hv_site_trampolines_free(struct hv_site_trampolines *s)
{
	if (!s)
		return;
	hv_chains_free(s->chains);
	hv_text_deinit(&s->unseen);
	hv_ftrace_users_deinit(&s->users);
	free(s->now);
	free(s);
}

/* Translates ascending addresses, with one page-table walk per leaf. */
struct translation {
	const struct hv_address_space *as;
	struct hv_gva_range covers;
	struct hv_mapping mapping; /* at covers.start */
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

/* GIVE_BACK: the site calls a chain, and the wanted trampoline cannot be called by one. It is
 * restored and counts as refused. */
enum verdict { LEAVE, CHANGE, REFUSE, GIVE_BACK };

/* Results that become inaccurate if a site is refused, in addition to the calls of its function. */
enum relied_on { FOR_NOTHING, FOR_NEW_TASKS, FOR_FORKS };

struct site_plan {
	struct hv_gva trampoline; /* target of the site's call; 0: none */
	struct hv_gpa gpa;
	/* For functions with actions, in whose action group TRAMPOLINE is: the guest's trampoline at
	 * which the action group ends; 0: none. */
	struct hv_gva guests;
	bool acts;
	bool has_no_chain;  /* wanted, but a function that the guest uses cannot do that */
	bool waits;	    /* wanted later, and calls no trampoline now */
	bool reports_sleep; /* without it, the time of a sleeping task would count */
	bool is_refused;
	enum relied_on relied_on;
};

/* Changes of the sites where tasks leave their CPU and return to it. */
struct sleep_changes {
	struct hv_change list[HV_NR_ROLES];
	struct hv_change planned[HV_NR_ROLES]; /* the same changes, unsorted and unmodified */
	size_t nr;
};

/* Returns whether SITE, which is KIND now, can be patched. */
static bool is_free(const struct hv_site *site, enum hv_site_kind kind)
{
	return !site->invalid && !site->busy && kind == HV_SITE_NOP;
}

/* Returns the guest's records of its users of sites. They may have changed since they were read; then
 * a site is refused, or the hold finds other bytes. */
static const struct hv_ftrace_users *users_of(struct hv_site_trampolines *s)
{
	const struct hv_kernel_core *core = &s->tracee->kernel->core;

	if (!s->has_users) {
		hv_ftrace_users_deinit(&s->users);
		hv_err_free(hv_ftrace_users_read(core, &s->users));
		s->has_users = true;
	}
	return &s->users;
}

/* The call that a site makes. */
struct called {
	enum hv_site_kind kind;
	struct hv_gva target;
	bool ours; /* a trampoline or a chain */
	/* The guest's trampoline, which the site calls directly or by a chain; 0: none that its
	 * records explain. */
	struct hv_gva guests;
};

static struct called called_at(struct hv_site_trampolines *s, const struct hv_site *site,
			       const uint8_t *bytes)
{
	const struct hv_tracee *t = s->tracee;
	struct called c = {0};
	struct hv_gva unused;

	c.kind = t->kernel->core.as.arch->classify_site(bytes, site->ip, &c.target);
	c.ours = c.kind == HV_SITE_CALL && hv_tracee_has(t, c.target);
	if (c.ours)
		hv_chains_at(s->chains, c.target, &unused, &c.guests);
	else if (c.kind == HV_SITE_CALL && !site->invalid &&
		 t->kernel->core.as.arch->trampolines.chain_function_off &&
		 hv_ftrace_users_explain(users_of(s), site->ip, c.target))
		c.guests = c.target;
	return c;
}

/* Chooses a chain for SITE. If the guest's trampoline might keep the return address that TRAMPOLINE
 * replaces, detach would wait until the function returns; so there is none. */
static bool choose_chain(struct hv_site_trampolines *s, const struct hv_site *site,
			 struct hv_gva trampoline, struct hv_gva guests, struct hv_gva *ret)
{
	if (hv_trampolines_replace_return(s->tracee, trampoline) &&
	    !hv_ftrace_users_keep_returns(users_of(s), site->ip, guests))
		return false;
	return hv_chains_choose(s->chains, trampoline, guests, ret);
}

/* Finds the address that SITE calls to reach TRAMPOLINE. */
static bool find_call(struct hv_site_trampolines *s, const struct hv_site *site,
		      const struct called *now, struct hv_gva trampoline, struct hv_gva *ret)
{
	if (now->guests.v)
		return choose_chain(s, site, trampoline, now->guests, ret);
	*ret = hv_veneer_from(s->tracee, site->ip, trampoline);
	return now->ours || is_free(site, now->kind);
}

static enum verdict judge(struct hv_site_trampolines *s, const struct hv_site *site,
			  const struct site_plan *plan, struct hv_change *change)
{
	const struct hv_tracee *t = s->tracee;
	const struct called now = called_at(s, site, change->from);
	struct hv_gva to = {0};
	bool can = plan->trampoline.v && !plan->has_no_chain;

	/* The guest may have changed the site since the action group was chosen. */
	if (can && plan->acts)
		can = plan->guests.v == now.guests.v;
	can = can && find_call(s, site, &now, plan->trampoline, &to);
	if (now.ours && now.target.v == to.v)
		return LEAVE;
	if (now.ours && !hv_patcher_old_bytes(t->patcher, change->gpa, change->to))
		return LEAVE;
	/* If the guest has overwritten our call, the journal's old bytes are no longer the guest's. */
	if (!hv_tracee_is_left(t, site->ip, change->from) &&
	    hv_patcher_old_bytes(t->patcher, change->gpa, change->to))
		hv_guest_ftrace_take(s->guest_ftrace, site->ip, change->gpa);
	if (!plan->trampoline.v && !plan->has_no_chain)
		return now.ours ? CHANGE : LEAVE;
	if (!can)
		return now.ours ? GIVE_BACK : REFUSE;
	return t->kernel->core.as.arch->encode_call(site->ip, to, change->to) ? CHANGE : REFUSE;
}

/* Like judge(), for PLAN. A site that is wanted later is judged now, so that the user learns early
 * that it cannot be changed. */
static enum verdict judge_plan(struct hv_site_trampolines *s, const struct hv_site *site,
			       struct site_plan *plan, struct hv_change *change)
{
	if (plan->waits) {
		const struct called now = called_at(s, site, change->from);

		plan->waits = now.ours || now.guests.v || is_free(site, now.kind);
		if (!plan->waits)
			return REFUSE;
	}
	return judge(s, site, plan, change);
}

/* Returns whether the site is in two pages that may not be adjacent in memory. They are adjacent if
 * one leaf maps both, as in the kernel's image. Only kernels whose calls are instruction pairs have
 * such sites in the image; others align their functions. */
static bool is_in_pieces(const struct hv_arch *arch, const struct translation *walk,
			 const struct hv_change *change)
{
	if (!hv_site_crosses_pages(arch, change->gpa.v))
		return false;
	return !arch->site_first_bytes || walk->covers.end.v - change->gva.v < arch->site_len_bytes;
}

static struct hv_err *plan_site(struct hv_site_trampolines *s, struct translation *walk,
				const struct hv_site *site, struct site_plan *plan,
				struct hv_change *change, enum verdict *ret)
{
	const struct hv_tracee *t = s->tracee;
	uint32_t len = (uint32_t)t->kernel->core.as.arch->site_len_bytes;
	bool present;
	struct hv_err *err;

	*change = (struct hv_change){.gva = site->ip, .kind = HV_CHANGE_TEXT, .len_bytes = len};
	err = translate(walk, site->ip, &present, &change->gpa);
	if (err)
		return err;
	/* If the page is not present, the guest has freed the function. */
	plan->gpa = change->gpa;
	if (!present || is_in_pieces(t->kernel->core.as.arch, walk, change)) {
		*ret = plan->trampoline.v || plan->waits ? REFUSE : LEAVE;
		plan->waits = false;
		return NULL;
	}
	err = hv_guest_read(t->guest, change->gpa, change->from, len);
	if (!err)
		*ret = judge_plan(s, site, plan, change);
	return err;
}

/* Returns the trampoline that the site at GPA calls, if we patched it. Counts sites that call a
 * chain. */
static uint8_t patched_trampoline(struct hv_site_trampolines *s, const struct hv_site *site,
				  struct hv_gpa gpa)
{
	const struct hv_tracee *t = s->tracee;
	const struct hv_arch *arch = t->kernel->core.as.arch;
	uint8_t bytes[HV_SITE_LEN_MAX], old_bytes[8];
	struct hv_gva target = {0}, trampoline, guests;
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (!hv_patcher_old_bytes(t->patcher, gpa, old_bytes))
		return HV_TRAMPOLINE_NONE;
	err = hv_guest_read(t->guest, gpa, bytes, arch->site_len_bytes);
	if (err || arch->classify_site(bytes, site->ip, &target) != HV_SITE_CALL)
		return HV_TRAMPOLINE_NONE;
	target = hv_veneer_leads_to(t, target);
	if (hv_chains_at(s->chains, target, &trampoline, &guests)) {
		target = trampoline;
		s->nr_joined++;
	}
	if (!hv_actions_goes_on(s->actions, target, &target))
		return (uint8_t)hv_trampolines_called_at(t, target);
	if (hv_chains_at(s->chains, target, &trampoline, &guests))
		target = trampoline;
	if (target.v)
		return (uint8_t)hv_trampolines_called_at(t, target);
	return hv_actions_has(s->actions, site->ip.v) ? HV_TRAMPOLINE_ACTIONS : HV_TRAMPOLINE_NONE;
}

/* Rereads the present trampoline of each site from the guest. */
static void note_now(struct hv_site_trampolines *s, const struct site_plan *plans)
{
	s->now = hv_realloc_array(s->now, s->tracee->kernel->sites.nr, 1);
	s->nr_joined = 0;
	if (s->tracee->kernel->sites.entries) {
		hv_entry_sites_now(s->tracee, HV_TRAMPOLINE_FUNCTION, s->now);
		return;
	}
	for (size_t i = 0; i < s->tracee->kernel->sites.nr; i++) {
		s->now[i] = patched_trampoline(s, &s->tracee->kernel->sites.list[i], plans[i].gpa);
		if (!s->now[i] && plans[i].waits)
			s->now[i] = HV_TRAMPOLINE_LATER;
	}
}

#define UNSEEN_NAMED 3

/* Notes the sites that the guest had taken and that call a trampoline again. */
static void note_unseen(struct hv_site_trampolines *s, const struct site_plan *plans)
{
	const struct hv_sites *sites = &s->tracee->kernel->sites;
	uint64_t now_ns = hv_now_ns(), ns;
	uint8_t unused[8];

	if (!hv_guest_ftrace_unseen(s->guest_ftrace)->nr_now)
		return;
	for (size_t i = 0; i < sites->nr; i++) {
		if (!hv_guest_ftrace_is_taken(s->guest_ftrace, sites->list[i].ip))
			continue;
		if (!hv_patcher_old_bytes(s->tracee->patcher, plans[i].gpa, unused)) {
			if (plans[i].trampoline.v || plans[i].waits)
				hv_guest_ftrace_stays_taken(s->guest_ftrace, sites->list[i].ip);
			continue;
		}
		ns = hv_guest_ftrace_is_back(s->guest_ftrace, sites->list[i].ip, now_ns);
		if (ns > s->unseen_ns)
			s->unseen_ns = ns;
		if (s->nr_unseen++ < UNSEEN_NAMED)
			hv_text_printf(&s->unseen, "%s%s", s->unseen.len_bytes ? ", " : "",
				       sites->list[i].name);
	}
	hv_guest_ftrace_settle(s->guest_ftrace);
}

bool hv_site_trampolines_take_unseen(struct hv_site_trampolines *s, struct hv_text *ret)
{
	if (!s->nr_unseen)
		return false;
	hv_text_printf(ret,
		       "%zu function%s not seen for up to %llu ms while the guest changed %s: ",
		       s->nr_unseen, s->nr_unseen == 1 ? " was" : "s were",
		       (unsigned long long)((s->unseen_ns + HV_NS_PER_MS - 1) / HV_NS_PER_MS),
		       s->nr_unseen == 1 ? "it" : "them");
	hv_text_printf(ret, "%s%s", s->unseen.data, s->nr_unseen > UNSEEN_NAMED ? ", ..." : "");
	hv_text_deinit(&s->unseen);
	s->unseen = (struct hv_text){0};
	s->nr_unseen = 0;
	s->unseen_ns = 0;
	return true;
}

static void note_refused(struct hv_refused *refused, struct hv_gva site)
{
	if (refused->nr < HV_REFUSED_FIRST)
		refused->first[refused->nr] = site;
	refused->nr++;
}

static struct hv_err *apply(struct hv_tracee *t, struct hv_change *changes, size_t nr)
{
	hv_cleanup(hv_site_pairs_deinit) struct hv_site_pairs pairs = {0};
	struct hv_err *err = hv_site_pairs_begin(t, changes, nr, &pairs);

	if (err)
		return err;
	err = hv_patcher_apply(t->patcher, changes, nr);
	return err ? hv_site_pairs_undo(t, &pairs, err) : NULL;
}

static struct hv_err *refuse_sleep(const struct hv_sites *sites, struct hv_gva at)
{
	const char *name = "a function";

	for (size_t i = 0; i < sites->nr; i++)
		if (sites->list[i].ip.v == at.v)
			name = sites->list[i].name;
	return hv_err_new(EBUSY,
			  "sleep-time 0 and funcgraph-host need %s, and 0x%llx cannot be changed"
			  " now",
			  name, (unsigned long long)at.v);
}

/* Undoes the changes that were made, after the error WHY. Takes ownership of WHY and returns it,
 * with HV_ERR_NEEDS_RECOVERY if that failed. */
static struct hv_err *take_sleep_back(struct hv_tracee *t, const struct sleep_changes *made,
				      struct hv_err *why)
{
	struct hv_change back[HV_NR_ROLES];
	struct hv_err *failed;
	size_t nr = 0;

	if (why->facts & HV_ERR_NEEDS_RECOVERY)
		return why;
	for (size_t i = 0; i < made->nr; i++)
		for (size_t j = 0; j < made->nr; j++) {
			const struct hv_change *was = &made->planned[j];

			if (made->list[i].refused || was->gpa.v != made->list[i].gpa.v)
				continue;
			back[nr] = *was;
			memcpy(back[nr].from, was->to, sizeof(was->to));
			memcpy(back[nr++].to, was->from, sizeof(was->from));
		}
	hv_patcher_set_stops(t->patcher, NULL, NULL); /* must not be interrupted */
	failed = nr ? hv_patcher_apply(t->patcher, back, nr) : NULL;
	if (!failed)
		return why;
	why = hv_err_in(why, "could not be undone (%s)", failed->message);
	hv_err_free(failed);
	return hv_err_mark(why, HV_ERR_NEEDS_RECOVERY);
}

/* Makes all of CHANGES or none. */
static struct hv_err *apply_sleep(struct hv_tracee *t, struct sleep_changes *changes)
{
	struct hv_err *err = NULL;

	memcpy(changes->planned, changes->list, sizeof(changes->list));
	if (changes->nr)
		err = apply(t, changes->list, changes->nr);
	if (err)
		return err;
	for (size_t i = 0; i < changes->nr; i++)
		if (changes->list[i].refused)
			return take_sleep_back(
				t, changes, refuse_sleep(&t->kernel->sites, changes->list[i].gva));
	return NULL;
}

/* First changes the sites where tasks leave their CPU or return to it: if one of them is refused,
 * no other site has been changed. */
static struct hv_err *apply_all(struct hv_tracee *t, struct sleep_changes *sleep,
				struct hv_change *changes, size_t nr)
{
	struct hv_err *err = apply_sleep(t, sleep);

	if (err)
		return err;
	err = apply(t, changes, nr);
	return err ? take_sleep_back(t, sleep, err) : NULL;
}

/* Returns whether the site at AT is one of the NR changes that the hold refused. */
static bool is_refused(const struct hv_change *changes, size_t nr, struct hv_gva at)
{
	for (size_t i = 0; i < nr; i++)
		if (changes[i].gva.v == at.v)
			return changes[i].refused;
	return false;
}

static void note_inexact(struct hv_site_trampolines *s, const struct site_plan *plans,
			 const struct hv_change *changes, size_t nr)
{
	const struct hv_sites *sites = &s->tracee->kernel->sites;

	s->inexact = hv_gva(0);
	for (size_t i = 0; i < sites->nr && !s->inexact.v; i++) {
		if (!plans[i].relied_on ||
		    !(plans[i].is_refused || is_refused(changes, nr, sites->list[i].ip)))
			continue;
		s->inexact = sites->list[i].ip;
		s->inexact_for = plans[i].relied_on;
	}
}

/* Refuses the CHANGES that would replace a call of the guest, if the guest's ftrace would see them. */
static void refuse_seen(const struct hv_site_trampolines *s, struct hv_change *changes, size_t nr)
{
	const struct hv_tracee *t = s->tracee;

	if (hv_guest_ftrace_is_patched(s->guest_ftrace))
		return;
	for (size_t i = 0; i < nr; i++) {
		struct hv_gva target;

		if (t->kernel->core.as.arch->classify_site(changes[i].from, changes[i].gva,
							   &target) == HV_SITE_CALL &&
		    !hv_tracee_has(t, target))
			changes[i].refused = 1;
	}
}

/* Makes sites call the trampolines in PLANS, one per site, and restores all others, in one pass. */
static struct hv_err *change_sites(struct hv_site_trampolines *s, struct site_plan *plans)
{
	const struct hv_sites *sites = &s->tracee->kernel->sites;
	HV_AUTO_FREE struct hv_change *changes = hv_alloc((sites->nr + 1) * sizeof(*changes));
	struct translation walk = {.as = &s->tracee->kernel->core.as};
	HV_AUTO_ERR struct hv_err *ended = NULL;
	struct sleep_changes sleep = {.nr = 0};
	struct hv_refused refused = {0};
	size_t nr = 0;
	struct hv_err *err;

	for (size_t i = 0; i < sites->nr; i++) {
		enum verdict verdict;

		err = plan_site(s, &walk, &sites->list[i], &plans[i], &changes[nr], &verdict);
		if (err)
			return hv_err_in(err, "site %s", sites->list[i].name);
		plans[i].is_refused = verdict == REFUSE || verdict == GIVE_BACK;
		if (plans[i].is_refused && plans[i].reports_sleep)
			return refuse_sleep(sites, sites->list[i].ip);
		if (plans[i].is_refused)
			note_refused(&refused, sites->list[i].ip);
		if (verdict == CHANGE && plans[i].reports_sleep)
			sleep.list[sleep.nr++] = changes[nr];
		else
			nr += verdict == CHANGE || verdict == GIVE_BACK;
	}
	err = nr || sleep.nr ? hv_guest_ftrace_begin(s->guest_ftrace) : NULL;
	refuse_seen(s, changes, nr);
	refuse_seen(s, sleep.list, sleep.nr);
	if (!err)
		err = hv_chains_write(s->chains);
	if (!err)
		err = apply_all(s->tracee, &sleep, changes, nr);
	/* All sites are changed or refused now. The rest must not be interrupted. If the calls of
	 * ftrace's reader cannot be restored now, the next change or detach does it. */
	hv_patcher_set_stops(s->tracee->patcher, NULL, NULL);
	ended = hv_guest_ftrace_end_if_done(s->guest_ftrace);
	if (ended && ended->facts & HV_ERR_NEEDS_RECOVERY) {
		hv_err_free(err);
		err = hv_take(ended);
	}
	for (size_t i = 0; !err && i < nr; i++)
		if (changes[i].refused)
			note_refused(&refused, changes[i].gva);
	if (!err)
		s->refused = refused;
	if (!err)
		note_inexact(s, plans, changes, nr);
	return err;
}

/* Returns the trampoline that site I keeps while it is wanted later: its present one, without
 * counting. */
static unsigned kept_trampoline(const struct hv_site_trampolines *s, size_t i)
{
	unsigned now = s->now[i] & ~(unsigned)HV_TRAMPOLINE_PROFILED;

	return now == HV_TRAMPOLINE_LATER || now == HV_TRAMPOLINE_ACTIONS ? HV_TRAMPOLINE_NONE
									  : now;
}

/* These trampolines read the function's caller after a return probe has replaced it. */
static struct hv_err *check_return(const struct hv_site_trampolines *s, size_t i,
				   unsigned trampoline)
{
	const struct hv_site *site = &s->tracee->kernel->sites.list[i];

	trampoline &= ~(unsigned)HV_TRAMPOLINE_PROFILED;
	if (trampoline != HV_TRAMPOLINE_FUNCTION_STACK &&
	    trampoline != HV_TRAMPOLINE_SECTION_FUNCTION &&
	    trampoline != HV_TRAMPOLINE_SECTION_GRAPH)
		return NULL;
	if (site->invalid || !hv_actions_return(s->actions, site->ip.v))
		return NULL;
	return hv_err_new(EBUSY, "%s of %s: a return probe needs this function for itself",
			  trampoline == HV_TRAMPOLINE_FUNCTION_STACK ? "func_stack_trace"
								     : "a tracer of latencies",
			  site->name);
}

/* Returns the guest's trampoline that SITE calls, directly or by a chain; 0: none that can be
 * joined. */
static struct hv_gva guests_at(struct hv_site_trampolines *s, struct translation *walk,
			       const struct hv_site *site)
{
	const struct hv_arch *arch = s->tracee->kernel->core.as.arch;
	HV_AUTO_ERR struct hv_err *err = NULL;
	uint8_t bytes[HV_SITE_LEN_MAX];
	bool present = false;
	struct hv_gpa gpa;

	if (!arch->trampolines.chain_function_off)
		return hv_gva(0);
	err = translate(walk, site->ip, &present, &gpa);
	if (!err && present)
		err = hv_guest_read(s->tracee->guest, gpa, bytes, arch->site_len_bytes);
	return err || !present ? hv_gva(0) : called_at(s, site, bytes).guests;
}

/* Makes PLAN's trampoline the entry of an action group, which then continues at the present one.
 * If the guest uses the site, it continues at a chain. KIND is as for hv_actions_entry(). */
static struct hv_err *plan_actions(struct hv_site_trampolines *s, const struct hv_site *site,
				   uint32_t kind, struct site_plan *plan)
{
	struct hv_gva next = plan->trampoline;
	struct hv_err *err;

	plan->has_no_chain =
		plan->guests.v && !choose_chain(s, site, plan->trampoline, plan->guests, &next);
	if (plan->has_no_chain)
		return NULL;
	err = hv_actions_entry(s->actions, site->ip.v, next, kind, &plan->acts, &plan->trampoline);
	if (err && err->code == ENOSPC && plan->guests.v) { /* no action group is left for chains */
		hv_err_free(err);
		plan->has_no_chain = true;
		return NULL;
	}
	if (err || !plan->guests.v || !hv_actions_return(s->actions, site->ip.v))
		return err;
	plan->has_no_chain = !choose_chain(s, site, hv_actions_probed(s->actions, plan->trampoline),
					   plan->guests, &next);
	if (!plan->has_no_chain)
		hv_actions_set_probed(s->actions, plan->trampoline, next);
	return NULL;
}

/* Finds the addresses that the sites must call. */
static struct hv_err *choose_trampolines(struct hv_site_trampolines *s, const uint8_t *wanted,
					 bool frames, struct site_plan *plans)
{
	struct hv_graph_roles roles = {0};
	const struct hv_sites *sites = &s->tracee->kernel->sites;
	struct translation walk = {.as = &s->tracee->kernel->core.as};
	struct hv_err *err = frames ? hv_graph_tracer_find_roles(s->graph, &roles) : NULL;

	hv_actions_begin(s->actions);
	for (size_t i = 0; !err && i < sites->nr; i++) {
		enum hv_call_role role = frames ? hv_graph_role(&roles, i) : HV_ROLE_NONE;
		bool later = wanted[i] & HV_TRAMPOLINE_LATER;
		unsigned trampoline = later ? kept_trampoline(s, i) : wanted[i];

		err = check_return(s, i, trampoline);
		if (err)
			return err;
		/* The trampoline that records stacks has no entries for roles. */
		if (trampoline == HV_TRAMPOLINE_FUNCTION_STACK && role)
			return hv_err_new(EBUSY,
					  "func_stack_trace of %s: function_graph and the profile"
					  " need this function for themselves",
					  sites->list[i].name);
		if (trampoline || role)
			plans[i].trampoline = hv_trampolines_call(s->tracee, trampoline, role);
		plans[i].waits = later && !trampoline;
		plans[i].reports_sleep = role == HV_ROLE_LEAVES || role == HV_ROLE_ARRIVES;
		if (hv_actions_follow_forks(s->actions, sites->list[i].ip.v))
			plans[i].relied_on = FOR_FORKS;
		else if (role == HV_ROLE_NEW_TASK)
			plans[i].relied_on = FOR_NEW_TASKS;
		if (sites->list[i].invalid || !hv_actions_acts(s->actions, sites->list[i].ip.v))
			continue;
		plans[i].guests = guests_at(s, &walk, &sites->list[i]);
		err = plan_actions(s, &sites->list[i], hv_trampolines_kind(trampoline, role),
				   &plans[i]);
	}
	return err;
}

/* The guest may have released a site in PLANS since the sites were read. If that cannot be read
 * now, the site remains refused. */
static void look_at_busy_sites(struct hv_site_trampolines *s, const struct site_plan *plans)
{
	struct hv_kernel *kernel = s->tracee->kernel;

	for (size_t i = 0; i < kernel->sites.nr; i++) {
		bool is_wanted = plans[i].trampoline.v || plans[i].waits;

		if (!is_wanted || !kernel->sites.list[i].busy)
			continue;
		hv_err_free(hv_sites_read_busy(&kernel->core, &kernel->sites));
		return;
	}
}

/* Checks that a site without ftrace can do what is wanted at it. */
static struct hv_err *check_entry(struct hv_site_trampolines *s, size_t i, uint8_t wanted)
{
	struct hv_gva ip = s->tracee->kernel->sites.list[i].ip, unused;
	struct hv_err *err = hv_trampolines_check(s->tracee->kernel, wanted);
	bool acts;

	if (!err) /* fails if the function has any action */
		err = hv_actions_entry(s->actions, ip.v, hv_gva(0), 0, &acts, &unused);
	return err;
}

/* hv_site_trampolines_set() for a kernel without ftrace. */
static struct hv_err *set_entries(struct hv_site_trampolines *s, const uint8_t *wanted)
{
	size_t nr = s->tracee->kernel->sites.nr;
	HV_AUTO_FREE uint8_t *leads = hv_alloc(nr + 1);
	struct hv_err *err = NULL;

	hv_actions_begin(s->actions);
	for (size_t i = 0; !err && i < nr; i++) {
		bool later = wanted[i] & HV_TRAMPOLINE_LATER;

		leads[i] = later ? s->now[i] == HV_TRAMPOLINE_FUNCTION : wanted[i] != 0;
		err = check_entry(s, i, wanted[i]);
	}
	if (!err)
		err = hv_entry_sites_set(s->tracee, leads, &s->refused);
	hv_patcher_set_stops(s->tracee->patcher, NULL, NULL);
	if (!err)
		hv_actions_done(s->actions);
	note_now(s, NULL);
	for (size_t i = 0; !err && i < nr; i++)
		if (wanted[i] & HV_TRAMPOLINE_LATER && !s->now[i])
			s->now[i] = HV_TRAMPOLINE_LATER;
	return err;
}

struct hv_err *hv_site_trampolines_set(struct hv_site_trampolines *s, const uint8_t *wanted)
{
	size_t nr = s->tracee->kernel->sites.nr;
	HV_AUTO_FREE struct site_plan *plans = hv_alloc(nr * sizeof(*plans));
	struct hv_err *err = NULL;
	bool graph = false, frames = hv_actions_any_return(s->actions), stacks = false;

	if (s->tracee->kernel->sites.entries)
		return set_entries(s, wanted);
	for (size_t i = 0; i < nr; i++) {
		uint8_t trampoline = wanted[i] & ~(unsigned)HV_TRAMPOLINE_LATER;

		graph |= (trampoline & ~HV_TRAMPOLINE_PROFILED) >= HV_TRAMPOLINE_FIRST_GRAPH;
		frames |= trampoline >= HV_TRAMPOLINE_FIRST_GRAPH;
		if (!err)
			err = hv_trampolines_check(s->tracee->kernel, trampoline);
		stacks |= trampoline == (HV_TRAMPOLINE_FUNCTION_STACK | HV_TRAMPOLINE_PROFILED);
	}
	if (!err && stacks)
		err = hv_err_new(EBUSY, "the profile and func_stack_trace cannot be used together");
	s->has_users = false;
	if (!err)
		err = choose_trampolines(s, wanted, frames, plans);
	if (!err)
		look_at_busy_sites(s, plans);
	if (!err && frames)
		err = hv_graph_tracer_start(s->graph);
	if (!err)
		err = hv_probe_sites_begin(s->probe_sites);
	if (err)
		return err;
	if (graph)
		hv_graph_tracer_record(s->graph, HV_ON);
	err = change_sites(s, plans);
	if (!err)
		err = hv_probe_sites_end(s->probe_sites);
	if (!err)
		hv_actions_done(s->actions);
	note_now(s, plans);
	note_unseen(s, plans);
	if (!err && !graph)
		hv_graph_tracer_record(s->graph, HV_OFF);
	if (!err && !frames)
		hv_graph_tracer_stop(s->graph);
	return err;
}

/* Returns whether BYTES, a site of a kernel without ftrace, lead to a detour. */
static bool jumps_to_us(const struct hv_tracee *t, struct hv_gva at, const uint8_t *bytes)
{
	struct hv_gva target;

	return t->kernel->sites.entries &&
	       t->kernel->core.as.arch->classify_site(bytes, at, &target) == HV_SITE_JUMP &&
	       hv_tracee_has(t, target);
}

struct hv_err *hv_site_trampolines_check_gone(const struct hv_site_trampolines *s)
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
		if (hv_tracee_is_left(s->tracee, site->ip, bytes) ||
		    jumps_to_us(s->tracee, site->ip, bytes))
			return hv_err_new(EBUSY, "site %s (0x%llx) still calls a trampoline",
					  site->name, (unsigned long long)site->ip.v);
	}
	return hv_guest_ftrace_check_gone(s->guest_ftrace);
}

/* Notes the trampolines that the sites call at their present addresses. Sites that cannot be
 * translated call none. */
void hv_site_trampolines_look(struct hv_site_trampolines *s)
{
	const struct hv_sites *sites = &s->tracee->kernel->sites;
	HV_AUTO_FREE struct site_plan *plans = hv_alloc(sites->nr * sizeof(*plans));
	struct translation walk = {.as = &s->tracee->kernel->core.as};

	for (size_t i = 0; i < sites->nr; i++) {
		bool present = false;
		HV_AUTO_ERR struct hv_err *err =
			translate(&walk, sites->list[i].ip, &present, &plans[i].gpa);

		if (err || !present)
			plans[i].gpa = hv_gpa(UINT64_MAX);
	}
	note_now(s, plans);
}

struct hv_err *hv_site_trampolines_restore(struct hv_site_trampolines *s, struct hv_text *report)
{
	struct hv_patcher *p = s->tracee->patcher;
	HV_AUTO_FREE struct hv_change *undo = NULL;
	struct hv_err *err;
	size_t nr, nr_restored;

	hv_patcher_forget_gone(p);
	hv_guest_ftrace_forget_taken(s->guest_ftrace);
	nr = hv_patcher_undo_plan(p, HV_CHANGE_TEXT, &undo);
	err = hv_patcher_apply(p, undo, nr);
	if (!err)
		err = hv_guest_ftrace_end_if_done(s->guest_ftrace);
	if (err)
		return err;
	memset(s->now, HV_TRAMPOLINE_NONE, s->tracee->kernel->sites.nr);
	s->nr_joined = 0;
	nr_restored = nr - hv_patcher_nr_patched(p, HV_CHANGE_TEXT);
	if (nr)
		hv_text_printf(report, "%zu site%s restored and read back\n", nr_restored,
			       hv_plural(nr_restored));
	for (size_t i = 0; i < nr; i++)
		if (undo[i].refused)
			hv_text_printf(report,
				       "0x%llx: left alone: the guest changed it or freed it\n",
				       (unsigned long long)undo[i].gva.v);
	return NULL;
}

size_t hv_site_trampolines_joined(const struct hv_site_trampolines *s)
{
	return s->nr_joined;
}

const uint8_t *hv_site_trampolines_now(const struct hv_site_trampolines *s)
{
	return s->now;
}

const struct hv_refused *hv_site_trampolines_refused(const struct hv_site_trampolines *s)
{
	return &s->refused;
}

struct hv_err *hv_site_trampolines_why_inexact(const struct hv_site_trampolines *s,
					       struct hv_gva *ret_at)
{
	static const char *const what[] = {
		[FOR_NEW_TASKS] = "calls of new tasks may be shown deeper than they are",
		[FOR_FORKS] = "the pids of tasks that begin or end are not followed",
	};
	const struct hv_sites *sites = &s->tracee->kernel->sites;

	*ret_at = s->inexact;
	for (size_t i = 0; i < sites->nr && s->inexact.v; i++)
		if (sites->list[i].ip.v == s->inexact.v)
			return hv_err_new(EBUSY, "%s, 0x%llx, cannot be changed now: %s",
					  sites->list[i].name, (unsigned long long)s->inexact.v,
					  what[s->inexact_for]);
	return NULL;
}
