/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/graph/graph_tracer.h"

#include <stdlib.h>

#include "kernel/clock/clock.h"
#include "kernel/tasks/unwind.h"
#include "tracer/graph/returns.h"
#include "tracer/guest/trampolines.h"
#include "tracer/guest/tracee.h"

struct hv_graph_tracer {
	struct hv_tracee *tracee;     /* borrowed */
	const struct hv_clock *clock; /* borrowed */
	struct hv_graph_options options;
	bool frames_on;	 /* sites may call trampolines that add frames */
	bool has_stacks; /* return stacks are prepared */
	bool records;	 /* returns are recorded */
	bool counts;	 /* calls are counted */
};

struct hv_graph_tracer *hv_graph_tracer_new(struct hv_tracee *t, const struct hv_clock *clock)
{
	struct hv_graph_tracer *g = hv_alloc(sizeof(*g));

	g->tracee = t;
	g->clock = clock;
	return g;
}

void hv_graph_tracer_free(struct hv_graph_tracer *g)
{
	free(g);
}

/* While a livepatch is in transition, the kernel waits until it can read all stacks to the end. It
 * cannot read a stack past our handler (kernel/livepatch/transition.c). */
static struct hv_err *check_livepatch(const struct hv_kernel *k)
{
	struct hv_gva at;
	uint64_t patch = 0;
	struct hv_err *err;

	if (!hv_kernel_symbol(k, "klp_transition_patch", &at))
		/* Kernels with livepatches may lack data symbols. */
		return hv_kernel_symbol(k, "klp_enable_patch", &at)
			       ? hv_core_need(&k->core, "klp_transition_patch", &at)
			       : NULL;
	err = hv_read_u64(&k->core.as, at, &patch);
	if (!err && patch)
		err = hv_err_new(EBUSY, "a livepatch is in transition: the guest must be able to"
					" read its stacks");
	return err;
}

static struct hv_err *check_kernel(const struct hv_kernel *k)
{
	struct hv_err *err = hv_kernel_need_exception_stacks(k);

	if (!err)
		err = hv_kernel_need_irq_stack(k);
	return err ? err : check_livepatch(k);
}

static struct hv_err *put_back(struct hv_hold *hold, void *ctx)
{
	size_t unused;

	return hv_returns_put_back(ctx, hold, &unused);
}

/* Frames that remain are correct: their calls return through the handler. Until then, the depths of
 * calls on these stacks are slightly too high, and return stacks of dead tasks stay in use. */
static void put_back_if_quiet(struct hv_graph_tracer *g)
{
	if (hv_returns_open(g->tracee))
		hv_err_free(hv_patcher_held(g->tracee->patcher, put_back, g->tracee));
}

struct hv_err *hv_graph_tracer_livepatch(struct hv_graph_tracer *g)
{
	struct hv_err *err = check_livepatch(g->tracee->kernel);

	if (!err || g->frames_on || hv_returns_open(g->tracee))
		return err;
	hv_err_free(err);
	return NULL;
}

void hv_graph_tracer_put_back(struct hv_graph_tracer *g)
{
	if (!g->frames_on)
		put_back_if_quiet(g);
}

void hv_graph_tracer_sweep(struct hv_graph_tracer *g)
{
	if (g->frames_on)
		hv_sweep(g->tracee);
}

/* Makes the trampolines take the plain way when PARAMS allow it. A trampoline reads first which way
 * to take, and then the params. The general way is always correct, so it is selected before the
 * params change, and the plain way after. */
static void choose_ways(struct hv_graph_tracer *g)
{
	struct hv_params *params = hv_region_params(&g->tracee->region);
	struct hv_control *control = hv_region_control(&g->tracee->region);

	__atomic_store_n(&control->graph_mode, !hv_graph_is_plain(params), __ATOMIC_RELEASE);
	__atomic_store_n(&params->profile_mode, hv_profile_is_plain(params) ? HV_PROFILE_PLAIN : 0,
			 __ATOMIC_RELEASE);
}

static void choose_general_ways(struct hv_graph_tracer *g)
{
	__atomic_store_n(&hv_region_control(&g->tracee->region)->graph_mode, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&hv_region_params(&g->tracee->region)->profile_mode, 0, __ATOMIC_RELEASE);
}

static void set_flags(struct hv_graph_tracer *g)
{
	struct hv_params *params = hv_region_params(&g->tracee->region);
	uint32_t flags = g->options.flags;

	if (g->records)
		flags |= HV_GRAPH_RETURNS;
	if (g->counts)
		flags |= HV_GRAPH_PROFILE;
	if (g->options.thresh_ns)
		flags |= HV_GRAPH_NO_ENTRIES;
	choose_general_ways(g);
	__atomic_store_n(&params->max_depth,
			 g->options.max_depth ? g->options.max_depth : UINT32_MAX,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&params->threshold_ticks, hv_clock_ticks(g->clock, g->options.thresh_ns),
			 __ATOMIC_RELAXED);
	params->ticks_per_ns = hv_clock_ticks(g->clock, UINT64_C(1) << 32);
	__atomic_store_n(&params->graph_flags, flags, __ATOMIC_RELEASE);
	choose_ways(g);
}

struct hv_err *hv_graph_tracer_start(struct hv_graph_tracer *g)
{
	struct hv_err *err;

	if (g->frames_on)
		return NULL;
	err = check_kernel(g->tracee->kernel);
	if (!err)
		err = hv_returns_check(g->tracee);
	if (err)
		return err;
	hv_orc_prepare(g->tracee->kernel); /* for holds that read stacks */
	if (!g->has_stacks)
		hv_trampolines_prepare_stacks(g->tracee);
	g->has_stacks = true;
	put_back_if_quiet(g);
	g->frames_on = true;
	return NULL;
}

void hv_graph_tracer_stop(struct hv_graph_tracer *g)
{
	if (!g->frames_on)
		return;
	g->frames_on = false;
	put_back_if_quiet(g);
}

void hv_graph_tracer_record(struct hv_graph_tracer *g, enum hv_switch to)
{
	g->records = to;
	set_flags(g);
}

void hv_graph_tracer_count(struct hv_graph_tracer *g, enum hv_switch to)
{
	g->counts = to;
	set_flags(g);
}

/* Values noted before the option was enabled must not be used when the task returns to the CPU. */
static void forget_leaving(struct hv_graph_tracer *g)
{
	for (unsigned i = 0; i < g->tracee->plan.nr_stacks; i++) {
		struct hv_stack *stack = hv_region_stack(&g->tracee->region, i);

		__atomic_store_n(&stack->left_tsc, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&stack->left_steal, 0, __ATOMIC_RELAXED);
	}
}

void hv_graph_tracer_set_options(struct hv_graph_tracer *g, const struct hv_graph_options *options)
{
	if (options->flags & ~g->options.flags & (HV_GRAPH_NO_SLEEP | HV_GRAPH_HOST))
		forget_leaving(g);
	g->options = *options;
	g->options.flags &= HV_GRAPH_SUBTREE | HV_GRAPH_RETVAL | HV_GRAPH_NO_IRQS |
			    HV_GRAPH_OWN_TIME | HV_GRAPH_HOST | HV_GRAPH_NO_SLEEP;
	set_flags(g);
}

/* __schedule, which cannot be traced, calls rcu_note_context_switch on the stack of the task that
 * leaves the CPU, and finish_task_switch on the stack of the next task (kernel/sched/core.c). */
struct hv_err *hv_graph_tracer_find_roles(const struct hv_graph_tracer *g,
					  struct hv_graph_roles *ret)
{
	struct hv_graph_roles roles = {{SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX}};
	const struct hv_sites *sites = &g->tracee->kernel->sites;

	roles.sites[HV_ROLE_NEW_TASK] =
		hv_sites_find(sites, "schedule_tail", HV_SITE_NAME_OR_CLONE);
	if (g->options.flags & (HV_GRAPH_NO_SLEEP | HV_GRAPH_HOST)) {
		roles.sites[HV_ROLE_LEAVES] =
			hv_sites_find(sites, "rcu_note_context_switch", HV_SITE_NAME_OR_CLONE);
		roles.sites[HV_ROLE_ARRIVES] =
			hv_sites_find(sites, "finish_task_switch", HV_SITE_NAME_OR_CLONE);
		if (roles.sites[HV_ROLE_LEAVES] == SIZE_MAX ||
		    roles.sites[HV_ROLE_ARRIVES] == SIZE_MAX)
			return hv_err_new(
				EOPNOTSUPP,
				"sleep-time 0 and funcgraph-host: no site rcu_note_context_switch"
				" or finish_task_switch: the time off the CPU cannot be measured");
	}
	*ret = roles;
	return NULL;
}

enum hv_call_role hv_graph_role(const struct hv_graph_roles *roles, size_t site)
{
	for (unsigned role = HV_ROLE_NONE + 1; role < HV_NR_ROLES; role++)
		if (roles->sites[role] == site)
			return role;
	return HV_ROLE_NONE;
}
