/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/guest/actions.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/code/probe_site.h"
#include "kernel/code/nofault.h"
#include "tracer/guest/scope.h"
#include "tracer/guest/trampolines.h"
#include "tracer/guest/tracee.h"

#define COUNTED                                                                                    \
	(1u << HV_ACTION_ON_COUNTED | 1u << HV_ACTION_OFF_COUNTED |                                \
	 1u << HV_ACTION_STACK_COUNTED | 1u << HV_ACTION_REPORT_COUNTED)

/* These actions need an action group per function. */
#define OWN_GROUP (COUNTED | 1u << HV_ACTION_FETCH | 1u << HV_ACTION_RETURN)

#define FIRST_FOR_CHAINS (HV_NR_ACTION_GROUPS - HV_GROUPS_FOR_CHAINS)

#define PROGRAMS (1u << HV_ACTION_FETCH | 1u << HV_ACTION_RETURN_FETCH)

_Static_assert(HV_DOES_ON == 1u << HV_ACTION_ON, "the bits are alike");
_Static_assert(HV_DOES_OFF == 1u << HV_ACTION_OFF, "the bits are alike");
_Static_assert(HV_DOES_ON_COUNTED == 1u << HV_ACTION_ON_COUNTED, "the bits are alike");
_Static_assert(HV_DOES_OFF_COUNTED == 1u << HV_ACTION_OFF_COUNTED, "the bits are alike");
_Static_assert(HV_DOES_STACK == 1u << HV_ACTION_STACK, "the bits are alike");
_Static_assert(HV_DOES_STACK_COUNTED == 1u << HV_ACTION_STACK_COUNTED, "the bits are alike");
_Static_assert(HV_DOES_REPORT == 1u << HV_ACTION_REPORT, "the bits are alike");
_Static_assert(HV_DOES_REPORT_COUNTED == 1u << HV_ACTION_REPORT_COUNTED, "the bits are alike");
_Static_assert(HV_DOES_FETCH == 1u << HV_ACTION_FETCH, "the bits are alike");
_Static_assert(HV_DOES_REGS == 1u << HV_ACTION_REGS, "the bits are alike");
_Static_assert(HV_DOES_ALL_REGS == 1u << HV_ACTION_ALL_REGS, "the bits are alike");
_Static_assert(HV_DOES_DEEPEST == 1u << HV_ACTION_DEEPEST, "the bits are alike");
_Static_assert(HV_DOES_RETURN == 1u << HV_ACTION_RETURN, "the bits are alike");
_Static_assert(HV_DOES_RETURN_FETCH == 1u << HV_ACTION_RETURN_FETCH, "the bits are alike");
_Static_assert(HV_DOES_RETURN_ARGS == 1u << HV_ACTION_RETURN_ARGS, "the bits are alike");

/* Number of calls that got no frame for HV_ACTION_RETURN. */
struct missed {
	uint64_t ip;
	uint64_t nr;
};

struct hv_actions {
	struct hv_tracee *tracee;     /* borrowed */
	const struct hv_scope *scope; /* borrowed */
	struct hv_site_actions *list; /* owned, including the programs; ascending by ip */
	size_t nr;
	struct group {
		uint64_t ip; /* 0: shared by all functions with these actions */
		unsigned bits;
		uint32_t does;	     /* as in the shared action group */
		uint32_t goes_on;    /* offset of the trampoline that follows; 0: none */
		unsigned used : 1;   /* was in use in this session */
		unsigned in_use : 1; /* sites call its entry */
		unsigned wanted : 1; /* sites are being changed to call its entry */
	} groups[HV_NR_ACTION_GROUPS];
	unsigned next_group;   /* where the search for a free action group starts */
	struct missed *missed; /* owned; counts from action groups that are no longer in use */
	size_t nr_missed;
};

struct hv_actions *hv_actions_new(struct hv_tracee *t, const struct hv_scope *scope)
{
	struct hv_actions *a = hv_alloc(sizeof(*a));

	a->tracee = t;
	a->scope = scope;
	return a;
}

static void free_list(struct hv_actions *a)
{
	for (size_t i = 0; i < a->nr; i++) {
		free((struct hv_fetch_step *)a->list[i].program);
		free((struct hv_probe_site *)a->list[i].probe_site);
	}
	free(a->list);
}

void hv_actions_free(struct hv_actions *a)
{
	if (!a)
		return;
	free_list(a);
	free(a->missed);
	free(a);
}

struct hv_err *hv_actions_check_fetch(const struct hv_actions *a)
{
	for (enum hv_nofault reader = 0; reader < HV_NR_NOFAULTS; reader++)
		if (!hv_nofault_address(a->tracee->kernel, reader).v)
			return hv_err_new(EOPNOTSUPP,
					  "memory cannot be read for probes: this kernel has no"
					  " function %s",
					  hv_nofault_name(reader));
	if (!a->tracee->plan.drafts_off)
		return hv_err_new(ENOSPC, "memory cannot be read for probes: the region has no room"
					  " for drafts of events");
	return NULL;
}

struct hv_err *hv_actions_check_deepest(const struct hv_actions *a)
{
	return hv_trampolines_check_actions(a->tracee->kernel, HV_DOES_DEEPEST);
}

static int compare_ips(const void *pa, const void *pb)
{
	const struct hv_site_actions *a = pa, *b = pb;

	return (a->ip > b->ip) - (a->ip < b->ip);
}

static const struct hv_site_actions *find(const struct hv_actions *a, uint64_t ip)
{
	struct hv_site_actions key = {.ip = ip};

	if (!a->nr)
		return NULL;
	return bsearch(&key, a->list, a->nr, sizeof(key), compare_ips);
}

static struct hv_probe_site *copy_of(const struct hv_probe_site *probe_site)
{
	struct hv_probe_site *copy = hv_alloc(sizeof(*copy));

	*copy = *probe_site;
	return copy;
}

struct hv_err *hv_actions_set(struct hv_actions *a, const struct hv_site_actions *list, size_t nr)
{
	size_t nr_counted = 0;

	for (size_t i = 0; i < nr; i++)
		nr_counted += (list[i].bits & COUNTED) != 0;
	if (nr_counted > HV_ACTIONS_COUNTED_MAX)
		return hv_err_new(ENOSPC, "%zu functions have a counted command; at most %d can",
				  nr_counted, HV_ACTIONS_COUNTED_MAX);
	free_list(a);
	a->list = hv_alloc(nr * sizeof(*list));
	for (size_t i = 0; i < nr; i++) {
		struct hv_fetch_step *program = hv_alloc((list[i].nr_steps + 1) * sizeof(*program));

		if (list[i].nr_steps)
			memcpy(program, list[i].program, list[i].nr_steps * sizeof(*program));
		a->list[i] = list[i];
		a->list[i].program = program;
		a->list[i].probe_site = list[i].probe_site ? copy_of(list[i].probe_site) : NULL;
	}
	a->nr = nr;
	return NULL;
}

static int32_t *left_of(const struct hv_actions *a, unsigned group, enum hv_action action)
{
	struct hv_control *control = hv_region_control(&a->tracee->region);

	switch (action) {
	case HV_ACTION_ON_COUNTED:
		return &control->left[group].on;
	case HV_ACTION_STACK_COUNTED:
		return &control->left[group].stack;
	case HV_ACTION_REPORT_COUNTED:
		return &control->left[group].report;
	default:
		return &control->left[group].off;
	}
}

static int32_t clamped(int64_t left)
{
	if (left > INT32_MAX)
		return INT32_MAX;
	return left < 0 ? -1 : (int32_t)left;
}

/* Returns the action group that counts ACTION for IP, or HV_NR_ACTION_GROUPS. */
static unsigned group_in_use(const struct hv_actions *a, uint64_t ip, enum hv_action action)
{
	for (unsigned i = 0; i < HV_NR_ACTION_GROUPS; i++)
		if (a->groups[i].in_use && a->groups[i].ip == ip && a->groups[i].bits >> action & 1)
			return i;
	return HV_NR_ACTION_GROUPS;
}

int64_t hv_actions_left(const struct hv_actions *a, uint64_t ip, enum hv_action action,
			int64_t not_set)
{
	unsigned group = group_in_use(a, ip, action);
	int64_t left;

	if (group == HV_NR_ACTION_GROUPS)
		return not_set;
	left = __atomic_load_n(left_of(a, group, action), __ATOMIC_RELAXED);
	/* A count that does not fit into the action group is kept on the host until it does. */
	return left == INT32_MAX || left < 0 ? not_set : left;
}

void hv_actions_begin(struct hv_actions *a)
{
	for (unsigned i = 0; i < HV_NR_ACTION_GROUPS; i++)
		a->groups[i].wanted = 0;
}

static void start_count(struct hv_actions *a, unsigned group, const struct hv_site_actions *site,
			enum hv_action action)
{
	unsigned before = group_in_use(a, site->ip, action);
	int32_t left = clamped(site->left[action]);

	if (before != HV_NR_ACTION_GROUPS)
		left = __atomic_load_n(left_of(a, before, action), __ATOMIC_RELAXED);
	__atomic_store_n(left_of(a, group, action), left, __ATOMIC_RELAXED);
}

/* Steps after the last one are 0, which ends the program. */
static void put_program(struct hv_fetch_step *at, const struct hv_site_actions *site)
{
	memset(at, 0, HV_FETCH_STEPS_MAX * sizeof(*at));
	if (site->nr_steps)
		memcpy(at, site->program, site->nr_steps * sizeof(*at));
}

static uint32_t *missed_in(const struct hv_actions *a, unsigned group)
{
	return &hv_region_control(&a->tracee->region)->missed[group];
}

static uint32_t does_of(const struct hv_site_actions *site)
{
	return site->bits | (uint32_t)site->return_step << HV_DOES_STEP_SHIFT;
}

static uint32_t offset_of(const struct hv_actions *a, struct hv_gva trampoline)
{
	return trampoline.v ? (uint32_t)(trampoline.v - a->tracee->range.start.v) : 0;
}

/* Returns whether the trampoline at OFF is a chain. */
static bool is_chain(uint32_t off)
{
	return off >= HV_REGION_CHAINS_OFF - HV_REGION_TRAMPOLINES_OFF;
}

/* No site calls the action group yet. But a task that was switched out in the action group's code
 * for another function may still execute it, and a call of another function may still return
 * through it. Any program is safe for such a task, and its results do not have the tags of the new
 * program. */
static void fill_group(struct hv_actions *a, unsigned group, const struct hv_site_actions *site,
		       uint32_t goes_on, uint32_t kind)
{
	struct hv_action_group *shared = hv_region_action_group(&a->tracee->region, group);

	for (unsigned action = 0; action < HV_NR_ACTIONS; action++)
		if (site->bits & COUNTED & 1u << action)
			start_count(a, group, site, action);
	if (site->bits & PROGRAMS)
		put_program(hv_region_program(&a->tracee->region, group), site);
	a->groups[group].ip = site->bits & OWN_GROUP ? site->ip : 0;
	a->groups[group].bits = site->bits;
	a->groups[group].does = does_of(site);
	a->groups[group].goes_on = goes_on;
	a->groups[group].used = 1;
	if (site->bits >> HV_ACTION_RETURN & 1) {
		if (!is_chain(goes_on)) /* see hv_actions_set_probed() */
			goes_on = offset_of(a, hv_trampolines_probed(a->tracee, group));
		kind |= site->bits >> HV_ACTION_RETURN_ARGS & 1 ? HV_FRAME_ARGS : 0;
		__atomic_store_n(missed_in(a, group), 0, __ATOMIC_RELAXED);
		__atomic_store_n(hv_region_kind(&a->tracee->region, group), kind, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&shared->goes_on, goes_on, __ATOMIC_RELAXED);
	__atomic_store_n(&shared->does, does_of(site), __ATOMIC_RELEASE);
}

/* Returns whether GROUP in the region already has the program of SITE. */
static bool has_program(const struct hv_actions *a, unsigned group,
			const struct hv_site_actions *site)
{
	static const struct hv_fetch_step end;
	const struct hv_fetch_step *now = hv_region_program(&a->tracee->region, group);

	if (site->nr_steps && memcmp(now, site->program, site->nr_steps * sizeof(*now)) != 0)
		return false;
	return site->nr_steps == HV_FETCH_STEPS_MAX ||
	       memcmp(&now[site->nr_steps], &end, sizeof(end)) == 0;
}

static bool serves(const struct hv_actions *a, unsigned group, const struct hv_site_actions *site,
		   uint32_t goes_on)
{
	const struct group *s = &a->groups[group];

	if (!(s->in_use || s->wanted) || s->does != does_of(site) || s->goes_on != goes_on)
		return false;
	if (site->bits & OWN_GROUP && s->ip != site->ip)
		return false;
	return !(site->bits & PROGRAMS) || has_program(a, group, site);
}

/* Finds the action group that has been free for the longest time, because open calls may still
 * return through the others. Groups that may be needed for chains come last. Returns
 * HV_NR_ACTION_GROUPS if none is free. */
static unsigned free_group(struct hv_actions *a)
{
	for (unsigned i = 0; i < HV_NR_ACTION_GROUPS; i++) {
		unsigned group = i < FIRST_FOR_CHAINS ? (a->next_group + i) % FIRST_FOR_CHAINS : i;

		if (a->groups[group].in_use || a->groups[group].wanted ||
		    is_chain(a->groups[group].goes_on))
			continue;
		if (i < FIRST_FOR_CHAINS)
			a->next_group = (group + 1) % FIRST_FOR_CHAINS;
		return group;
	}
	return HV_NR_ACTION_GROUPS;
}

/* Like free_group(), for an action group with the actions of SITE that continues at the chain at OFF:
 * one that did before, or that was never used. One through which calls of another function may
 * still return comes last. */
static unsigned free_group_for_chain(const struct hv_actions *a, const struct hv_site_actions *site,
				     uint32_t off)
{
	unsigned unused = HV_NR_ACTION_GROUPS, last = HV_NR_ACTION_GROUPS;

	for (unsigned i = FIRST_FOR_CHAINS; i < HV_NR_ACTION_GROUPS; i++) {
		const struct group *group = &a->groups[i];

		if (group->in_use || group->wanted)
			continue;
		if (!group->used && unused == HV_NR_ACTION_GROUPS)
			unused = i;
		if (!group->used || group->goes_on != off)
			continue;
		if (!(group->bits >> HV_ACTION_RETURN & 1) || group->ip == site->ip)
			return i;
		last = i;
	}
	return unused == HV_NR_ACTION_GROUPS ? last : unused;
}

/* Finds an action group with the actions of SITE that continues at the trampoline at OFF. */
static struct hv_err *choose_group(struct hv_actions *a, const struct hv_site_actions *site,
				   uint32_t off, uint32_t kind, unsigned *ret)
{
	unsigned group = 0;
	struct hv_err *err = hv_trampolines_check_actions(a->tracee->kernel, site->bits);

	if (err)
		return err;
	while (group < HV_NR_ACTION_GROUPS && !serves(a, group, site, off))
		group++;
	if (group == HV_NR_ACTION_GROUPS) {
		group = is_chain(off) ? free_group_for_chain(a, site, off) : free_group(a);
		if (group == HV_NR_ACTION_GROUPS)
			return hv_err_new(ENOSPC,
					  "too many functions have commands or probes: remove "
					  "some");
		fill_group(a, group, site, off, kind);
	}
	a->groups[group].wanted = 1;
	*ret = group;
	return NULL;
}

static struct hv_gva entry_of_group(const struct hv_actions *a, unsigned group)
{
	return a->groups[group].bits >> HV_ACTION_ALL_REGS & 1
		       ? hv_trampolines_entry_regs(a->tracee, group)
		       : hv_trampolines_action(a->tracee, group);
}

struct hv_err *hv_actions_entry(struct hv_actions *a, uint64_t ip, struct hv_gva goes_on,
				uint32_t kind, bool *ret_has, struct hv_gva *ret)
{
	const struct hv_site_actions *found = find(a, ip);
	struct hv_site_actions all = found ? *found : (struct hv_site_actions){.ip = ip};
	unsigned group = 0;
	struct hv_err *err;

	all.bits |= hv_scope_task_bits(a->scope, ip);
	*ret_has = all.bits != 0;
	if (!*ret_has)
		return NULL;
	err = choose_group(a, &all, offset_of(a, goes_on), kind, &group);
	if (!err)
		*ret = entry_of_group(a, group);
	return err;
}

size_t hv_actions_nr_probe_sites(const struct hv_actions *a)
{
	size_t nr = 0;

	for (size_t i = 0; i < a->nr; i++)
		nr += a->list[i].probe_site != NULL;
	return nr;
}

struct hv_err *hv_actions_probe_site(struct hv_actions *a, size_t index, struct hv_probe_site *ret,
				     unsigned *ret_group)
{
	size_t at = 0;

	while (!a->list[at].probe_site || index--)
		at++;
	*ret = *a->list[at].probe_site;
	return choose_group(a, &a->list[at], 0, 0, ret_group);
}

/* Saves the count of an action group that is no longer in use. */
static void keep_missed(struct hv_actions *a, unsigned group)
{
	uint32_t nr = __atomic_load_n(missed_in(a, group), __ATOMIC_RELAXED);
	size_t i = 0;

	if (!(a->groups[group].bits >> HV_ACTION_RETURN & 1) || !nr)
		return;
	while (i < a->nr_missed && a->missed[i].ip != a->groups[group].ip)
		i++;
	if (i == a->nr_missed) {
		a->missed = hv_realloc_array(a->missed, ++a->nr_missed, sizeof(*a->missed));
		a->missed[i] = (struct missed){.ip = a->groups[group].ip};
	}
	a->missed[i].nr += nr;
}

void hv_actions_done(struct hv_actions *a)
{
	for (unsigned i = 0; i < HV_NR_ACTION_GROUPS; i++) {
		if (a->groups[i].in_use && !a->groups[i].wanted)
			keep_missed(a, i);
		a->groups[i].in_use = a->groups[i].wanted;
	}
}

uint64_t hv_actions_missed(const struct hv_actions *a, uint64_t ip)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < a->nr_missed; i++)
		nr += a->missed[i].ip == ip ? a->missed[i].nr : 0;
	for (unsigned i = 0; i < HV_NR_ACTION_GROUPS; i++)
		if (a->groups[i].in_use && a->groups[i].ip == ip &&
		    a->groups[i].bits >> HV_ACTION_RETURN & 1)
			nr += __atomic_load_n(missed_in(a, i), __ATOMIC_RELAXED);
	return nr;
}

bool hv_actions_return(const struct hv_actions *a, uint64_t ip)
{
	const struct hv_site_actions *found = find(a, ip);

	return found && found->bits >> HV_ACTION_RETURN & 1;
}

bool hv_actions_any_return(const struct hv_actions *a)
{
	for (size_t i = 0; i < a->nr; i++)
		if (a->list[i].bits >> HV_ACTION_RETURN & 1)
			return true;
	return false;
}

bool hv_actions_follow_forks(const struct hv_actions *a, uint64_t ip)
{
	return hv_scope_task_bits(a->scope, ip);
}

bool hv_actions_has(const struct hv_actions *a, uint64_t ip)
{
	return find(a, ip) != NULL;
}

bool hv_actions_acts(const struct hv_actions *a, uint64_t ip)
{
	return find(a, ip) || hv_scope_task_bits(a->scope, ip);
}

/* Returns the action group with the entry AT, or HV_NR_ACTION_GROUPS. */
static unsigned group_of_entry(const struct hv_actions *a, struct hv_gva at)
{
	unsigned group = 0;

	while (group < HV_NR_ACTION_GROUPS && entry_of_group(a, group).v != at.v)
		group++;
	return group;
}

struct hv_gva hv_actions_probed(const struct hv_actions *a, struct hv_gva entry)
{
	return hv_trampolines_probed(a->tracee, group_of_entry(a, entry));
}

void hv_actions_set_probed(struct hv_actions *a, struct hv_gva entry, struct hv_gva chain)
{
	unsigned group = group_of_entry(a, entry);

	__atomic_store_n(&hv_region_action_group(&a->tracee->region, group)->goes_on,
			 offset_of(a, chain), __ATOMIC_RELAXED);
}

void hv_actions_set_deepest(struct hv_actions *a, uint64_t bytes)
{
	__atomic_store_n(&hv_region_control(&a->tracee->region)->deepest, bytes, __ATOMIC_RELAXED);
}

bool hv_actions_goes_on(const struct hv_actions *a, struct hv_gva at, struct hv_gva *ret)
{
	unsigned group = HV_NR_ACTION_GROUPS;

	if (a->tracee->kernel->core.as.arch->trampolines.action_len_bytes)
		group = group_of_entry(a, at);
	if (group == HV_NR_ACTION_GROUPS)
		return false;
	*ret = a->groups[group].goes_on
		       ? hv_gva_add(a->tracee->range.start, a->groups[group].goes_on)
		       : (struct hv_gva){0};
	return true;
}
