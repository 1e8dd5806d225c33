/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/functions.h"

#include "kernel/kernel.h"
#include "kernel/tasks/tasks.h"
#include "tracer/graph/graph_tracer.h"
#include "tracer/guest/scope.h"
#include "tracer/guest/trampolines.h"
#include "tracer/sites/site_trampolines.h"
#include "tree/instance/budget.h"
#include "tree/instance/core/sharing.h"
#include "tree/instance/latency/sections.h"
#include "tree/instance/triggers/triggers.h"

struct state {
	enum hv_forks forks;		  /* whether the guest follows forks, as published last */
	unsigned wait;			  /* sites are changed when recording starts */
	const struct hv_instance *begins; /* recording starts in it after the sites are changed */
	struct hv_gva inexact_reported;	  /* the refused site that was reported last */
};

static struct state *state_of(const struct hv_instances *all)
{
	return hv_instances_state(all, HV_PART_FUNCTIONS);
}

const struct hv_part hv_functions_part = {.all_bytes = sizeof(struct state)};

/* -- tasks and vCPUs --------------------------------------------------------------------------- */

#define MISSING_SHOWN 8

enum hv_forks hv_tasks_forks(const struct hv_instances *all)
{
	return state_of(all)->forks;
}

static bool follows_forks(const struct hv_instance *in)
{
	return hv_options_on(hv_instance_options(in), HV_OPT_FUNCTION_FORK) &&
	       (hv_instance_selection(in)->pids[HV_LIST_FILTER].nr ||
		hv_instance_selection(in)->pids[HV_LIST_NOTRACE].nr);
}

static struct hv_err *refuse_forks_of_several(const struct hv_instances *all)
{
	for (const struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in)) {
		const char *name = hv_instance_name(in);

		if (follows_forks(in))
			return hv_err_new(EBUSY,
					  "several instances trace, and %s%s has the"
					  " option function-fork",
					  name ? "instances/" : "", name ? name : "the top");
	}
	return NULL;
}

/* Only the guest sees forks, and it has only one list of pids. SINGLE is NULL if several instances
 * trace. */
static struct hv_err *publish_forks(struct hv_instances *all, const struct hv_instance *single)
{
	enum hv_forks how = HV_FORKS_NOT;
	struct hv_err *err = single ? NULL : refuse_forks_of_several(all);

	if (err)
		return err;
	if (single && follows_forks(single))
		how = hv_instance_selection(single)->pids[HV_LIST_FILTER].nr ? HV_FORKS_OF_ONLY
									     : HV_FORKS_OF_OTHERS;
	err = hv_scope_follow_forks(hv_instances_session(all)->scope, how);
	if (!err)
		state_of(all)->forks = how;
	return err;
}

void hv_tasks_publish_cpus(struct hv_instances *all)
{
	const struct hv_instance *single = hv_instances_single(all);

	hv_scope_mute_cpus(hv_instances_session(all)->scope,
			   single ? hv_instance_selection(single)->muted : NULL);
}

struct hv_err *hv_tasks_publish(struct hv_instances *all)
{
	static const struct hv_pidlist none[HV_NR_PID_LISTS];
	const struct hv_instance *single = hv_instances_single(all);
	const struct hv_pidlist *lists = single ? hv_instance_selection(single)->pids : none;
	const struct hv_pidlist *only = &lists[HV_LIST_FILTER], *without = &lists[HV_LIST_NOTRACE];
	struct hv_err *err = publish_forks(all, single);

	if (err)
		return err;
	hv_tasks_publish_cpus(all);
	return hv_scope_filter_pids(hv_instances_session(all)->scope, only->pids, only->nr,
				    without->pids, without->nr);
}

/* If all tasks of a list have exited, the list stays unchanged, because an empty list would mean
 * all tasks. */
void hv_tasks_learn(struct hv_instance *in)
{
	bool only = hv_tasks_forks(hv_instance_all(in)) == HV_FORKS_OF_ONLY;
	struct hv_pidlist *list =
		&hv_instance_selection(in)->pids[only ? HV_LIST_FILTER : HV_LIST_NOTRACE];
	struct hv_pidlist now;

	if (hv_tasks_forks(hv_instance_all(in)) == HV_FORKS_NOT ||
	    hv_instances_single(hv_instance_all(in)) != in)
		return;
	now.nr = hv_scope_pids(hv_instance_session(in)->scope,
			       only ? HV_PIDS_RECORDED : HV_PIDS_NOT_RECORDED, &now.pids);
	if (!now.nr)
		return;
	hv_pidlist_deinit(list);
	*list = now;
}

static bool has_pid(const struct hv_tasks *tasks, uint32_t pid)
{
	for (size_t i = 0; i < tasks->nr; i++)
		if (tasks->list[i].pid == pid)
			return true;
	return false;
}

static void add_missing(const struct hv_instance *in, const struct hv_tasks *tasks,
			struct hv_text *ret)
{
	const struct hv_pidlist *only = &hv_instance_selection(in)->pids[HV_LIST_FILTER];
	const char *name = hv_instance_name(in);
	size_t nr = 0;

	for (size_t i = 0; i < only->nr && nr < MISSING_SHOWN; i++) {
		if (has_pid(tasks, only->pids[i]))
			continue;
		if (!nr++)
			hv_text_printf(ret, "%s%s%sset_ftrace_pid:", name ? "instances/" : "",
				       name ? name : "", name ? "/" : "");
		hv_text_printf(ret, " %u", only->pids[i]);
	}
	if (nr)
		hv_text_add(ret, "\n");
}

void hv_tasks_missing(struct hv_instances *all, struct hv_text *ret)
{
	struct hv_tasks tasks = {0};
	HV_AUTO_ERR struct hv_err *err = NULL;
	size_t nr = 0;

	for (const struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in))
		nr += hv_instance_selection(in)->pids[HV_LIST_FILTER].nr;
	if (nr)
		err = hv_tasks_read(hv_instances_session(all)->kernel, &tasks);
	for (const struct hv_instance *in = hv_instances_top(all); nr && !err && in;
	     in = hv_instance_next(in))
		add_missing(in, &tasks, ret);
	hv_tasks_deinit(&tasks);
}

/* -- sites ------------------------------------------------------------------------------------- */

struct hv_err *hv_instance_before_recording(struct hv_instance *in)
{
	struct state *s = state_of(hv_instance_all(in));
	struct hv_err *err;

	if (!s->wait)
		return NULL;
	s->begins = in;
	err = hv_instance_retrace(in);
	s->begins = NULL;
	return err;
}

/* Returns the trampoline that SITE must call for IN. */
static uint8_t trampoline_of(const struct hv_instance *in, const struct hv_site *site)
{
	if (!hv_instance_has_functions(in) || site->invalid ||
	    !hv_selection_has_function(hv_instance_selection(in), site->ip))
		return HV_TRAMPOLINE_NONE;
	return hv_instance_tracer(in)->trampoline_of(in, site);
}

/* The profile counts the functions in its instance's filter, regardless of the tracer
 * (fprofiler_ops). */
static uint8_t profile_of(const struct hv_instances *all, const struct hv_site *site)
{
	for (const struct hv_instance *in = hv_instances_top(all); in && !site->invalid;
	     in = hv_instance_next(in))
		if (hv_instance_profiles(in) &&
		    hv_selection_has_function(hv_instance_selection(in), site->ip))
			return HV_TRAMPOLINE_PROFILED;
	return 0;
}

/* Returns whether sites must be changed for IN now. A command may start recording at any time. */
static bool needs_sites(const struct hv_instance *in)
{
	return state_of(hv_instance_all(in))->begins == in || hv_instance_tracing_on(in) ||
	       hv_func_commands_have(hv_instance_commands(in), HV_FUNC_COMMAND_TRACEON) ||
	       hv_triggers_have(in, HV_TRIGGER_TRACEON);
}

/* Returns the trampoline that records what A and B record. check_stacks() ensures that it
 * exists. */
static uint8_t join(uint8_t a, uint8_t b)
{
	bool graph_a = a >= HV_TRAMPOLINE_FIRST_GRAPH, graph_b = b >= HV_TRAMPOLINE_FIRST_GRAPH;

	if (a && b && graph_a != graph_b)
		return HV_TRAMPOLINE_FUNCTION_AND_GRAPH;
	return a > b ? a : b;
}

/* Returns the trampoline that SITE must call. It is HV_TRAMPOLINE_LATER if only instances that do
 * not record want the site, and no profile. Functions put aside get no trampoline (budget.h). */
static uint8_t wanted_trampoline(const struct hv_instances *all, const struct hv_site *site)
{
	uint8_t most = HV_TRAMPOLINE_NONE, later = HV_TRAMPOLINE_NONE;

	if (hv_budget_has(all, site->ip))
		return HV_TRAMPOLINE_NONE;
	for (const struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in)) {
		uint8_t trampoline = trampoline_of(in, site);

		if (trampoline && !needs_sites(in))
			later = join(later, trampoline);
		else
			most = join(most, trampoline);
	}
	if (later && !most && !profile_of(all, site))
		return later | HV_TRAMPOLINE_LATER;
	return join(most, later) | profile_of(all, site);
}

/* Returns whether calls of IN form a graph. */
static bool has_graph(const struct hv_instance *in)
{
	return hv_instance_tracer(in)->is_graph ||
	       (hv_sections_are_on(in) &&
		hv_options_on(hv_instance_options(in), HV_OPT_DISPLAY_GRAPH));
}

/* Returns an error if IN records the stack of a function that is in BESIDE's graph. */
static struct hv_err *check_stacks_beside(const struct hv_instance *in,
					  const struct hv_instance *beside)
{
	const struct hv_sites *sites = &hv_instance_session(in)->kernel->sites;
	const char *const names[] = {hv_instance_name(in), hv_instance_name(beside)};

	if (!has_graph(beside))
		return NULL;
	for (size_t i = 0; i < sites->nr; i++)
		if (trampoline_of(in, &sites->list[i]) == HV_TRAMPOLINE_FUNCTION_STACK &&
		    trampoline_of(beside, &sites->list[i]))
			return hv_err_new(
				EBUSY,
				"func_stack_trace of %s%s: %s of %s%s has"
				" the same function %s",
				names[0] ? "instances/" : "", names[0] ? names[0] : "the top",
				hv_instance_tracer(beside)->name, names[1] ? "instances/" : "",
				names[1] ? names[1] : "the top", sites->list[i].name);
	return NULL;
}

/* No trampoline can both record the stack of a call and replace its return address. */
static struct hv_err *check_stacks(struct hv_instances *all)
{
	struct hv_err *err = NULL;

	for (struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in)) {
		if (hv_instance_tracer(in)->id != HV_TRACER_FUNCTION ||
		    !hv_options_on(hv_instance_options(in), HV_OPT_FUNC_STACK_TRACE))
			continue;
		for (struct hv_instance *i = hv_instances_top(all); !err && i;
		     i = hv_instance_next(i))
			err = check_stacks_beside(in, i);
	}
	return err;
}

/* Reports in error_log, once, a refused site that makes the graph or the pids inexact. */
static void report_inexact(struct hv_instance *in)
{
	struct state *s = state_of(hv_instance_all(in));
	struct hv_gva at;
	HV_AUTO_ERR struct hv_err *why =
		hv_site_trampolines_why_inexact(hv_instance_session(in)->trampolines, &at);

	if (why && at.v != s->inexact_reported.v)
		hv_instance_report(in, why);
	s->inexact_reported = at;
}

struct hv_err *hv_sites_publish(struct hv_instance *in)
{
	const struct hv_sites *sites = &hv_instance_session(in)->kernel->sites;
	HV_AUTO_FREE uint8_t *wanted = hv_alloc(sites->nr);
	struct hv_err *err = check_stacks(hv_instance_all(in));
	unsigned waits = 0;

	if (err)
		return err;
	for (size_t i = 0; i < sites->nr; i++) {
		wanted[i] = wanted_trampoline(hv_instance_all(in), &sites->list[i]);
		waits |= wanted[i] & HV_TRAMPOLINE_LATER;
	}
	hv_sites_publish_graph(in);
	err = hv_site_trampolines_set(hv_instance_session(in)->trampolines, wanted);
	if (err)
		return err;
	state_of(hv_instance_all(in))->wait = waits;
	report_inexact(in);
	return NULL;
}

/* Returns the first instance that traces function_graph, otherwise one with a graph of its
 * sections, otherwise IN. */
static const struct hv_instance *graph_instance(const struct hv_instance *in)
{
	const struct hv_instance *found = in;

	for (const struct hv_instance *i = hv_instances_top(hv_instance_all(in)); i;
	     i = hv_instance_next(i)) {
		if (hv_instance_tracer(i)->is_graph)
			return i;
		if (has_graph(i))
			found = i;
	}
	return found;
}

/* Adds the limits of IN, which traces alone or not at all. */
static void add_limits(const struct hv_instance *in, struct hv_graph_options *graph)
{
	graph->max_depth = hv_instances_top_settings(hv_instance_all(in))->max_graph_depth;
	if (hv_sections_are_on(in))
		return; /* tracing_thresh applies to the sections */
	graph->thresh_ns = hv_instances_top_settings(hv_instance_all(in))->thresh_ns;
	if (hv_instance_selection(in)->lists[HV_LIST_GRAPH].nr)
		graph->flags |= HV_GRAPH_SUBTREE;
	if (!hv_options_on(hv_instance_options(in), HV_OPT_FUNCGRAPH_IRQS))
		graph->flags |= HV_GRAPH_NO_IRQS;
	if (hv_options_on(hv_instance_options(in), HV_OPT_FUNCGRAPH_RETVAL))
		graph->flags |= HV_GRAPH_RETVAL;
}

void hv_sites_publish_graph(struct hv_instance *in)
{
	struct hv_instances *all = hv_instance_all(in);
	const struct hv_instance *traces = graph_instance(in);
	const struct hv_options *options = hv_instance_options(traces),
				*tops = hv_instance_options(hv_instances_top(all));
	struct hv_graph_options graph = {0};

	if (hv_instances_single(all))
		add_limits(traces, &graph);
	for (const struct hv_instance *i = hv_instances_top(all); i; i = hv_instance_next(i)) {
		if (!hv_instance_tracer(i)->is_graph)
			continue;
		if (hv_options_on(hv_instance_options(i), HV_OPT_FUNCGRAPH_RETVAL))
			graph.flags |= HV_GRAPH_RETVAL;
		if (hv_options_on(hv_instance_options(i), HV_OPT_FUNCGRAPH_HOST))
			graph.flags |= HV_GRAPH_HOST;
	}
	if (hv_instances_profile(all) && hv_options_on(tops, HV_OPT_FUNCGRAPH_HOST))
		graph.flags |= HV_GRAPH_HOST;
	if (!hv_options_on(tops, HV_OPT_GRAPH_TIME))
		graph.flags |= HV_GRAPH_OWN_TIME;
	if (!hv_options_on(hv_instances_profile(all) ? tops : options, HV_OPT_SLEEP_TIME))
		graph.flags |= HV_GRAPH_NO_SLEEP;
	hv_graph_tracer_set_options(hv_instances_session(all)->graph, &graph);
}
