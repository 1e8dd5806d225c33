/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/housekeeping.h"

#include "kernel/kernel.h"
#include "tracer/graph/call_counts.h"
#include "tracer/graph/graph_tracer.h"
#include "tree/instance/dynamic/kprobes.h"
#include "tree/instance/latency/sections.h"
#include "tree/instance/publish.h"
#include "tree/instance/trace.h"

#define RETRACE_WAITS_MAX 60 /* periods of about a second */

static void module_came(struct hv_selection *sel, unsigned list, const struct hv_sites *sites,
			const char *module)
{
	char *func;

	while (hv_modcache_take(&sel->waiting[list], module, &func)) {
		hv_filter_change(&sel->lists[list], sites, func[0] ? func : "*", module);
		free(func);
	}
}

static void apply_waiting_words(struct hv_instance *in)
{
	const struct hv_kernel *kernel = in->all->session->kernel;
	const struct hv_modules *modules = &kernel->modules;
	struct hv_selection *sel = &in->selection;

	for (unsigned list = 0; list < HV_NR_FILTER_LISTS; list++) {
		for (size_t i = 0; i < modules->nr && sel->waiting[list].nr; i++)
			module_came(sel, list, &kernel->sites, modules->list[i].name);
		sel->lists[list].awaits_modules &= sel->waiting[list].nr != 0;
	}
}

static bool needs_recovery(const struct hv_err *err)
{
	return err && err->facts & HV_ERR_NEEDS_RECOVERY;
}

/* Publishes IN again, its events first if they are pending. Stops at an error that needs recovery,
 * and returns that one. */
static struct hv_err *publish(struct hv_instance *in)
{
	bool events_wait = in == &in->all->top && in->all->events_wait;
	struct hv_err *err = events_wait ? hv_instance_publish_events(in) : NULL;
	struct hv_err *sites_err;

	in->all->events_wait &= !events_wait || err;
	if (needs_recovery(err))
		return err;
	sites_err = hv_instance_retrace(in);
	if (!err || needs_recovery(sites_err)) {
		hv_err_free(err);
		return sites_err;
	}
	hv_err_free(sites_err);
	return err;
}

/* Like publish(), but on failure reports the error once, and hv_instances_retire() retries until it
 * succeeds. If the guest needs recovery, reports that too, and does not retry before a setting
 * changes. */
static void retrace(struct hv_instance *in)
{
	HV_AUTO_ERR struct hv_err *err = publish(in);

	if (!err) {
		in->nr_retraces_failed = 0;
		return;
	}
	if (!in->nr_retraces_failed || needs_recovery(err))
		hv_instance_tell(in, err);
	in->retrace_failed_now = 1;
	if (needs_recovery(err)) {
		in->nr_retraces_failed = 0;
		return;
	}
	if (in->nr_retraces_failed < RETRACE_WAITS_MAX + 1)
		in->nr_retraces_failed++;
	in->retrace_waits = in->nr_retraces_failed - 1;
}

/* A failing attempt may take as long as hvtrace tries to pause the guest. So retries become rarer,
 * with at most one per period. */
static void retry_retrace(struct hv_instance *in)
{
	if (!in->nr_retraces_failed || in->retrace_failed_now)
		return;
	if (in->retrace_waits)
		in->retrace_waits--;
	else
		retrace(in);
}

void hv_instances_refresh(struct hv_instances *all)
{
	unsigned probes_changed;

	hv_sections_look(all);
	if (!hv_session_refresh(all->session))
		return;
	probes_changed = hv_kprobes_renew(all);
	hv_instances_forget_events(all);
	hv_sections_renew(all);
	all->events_wait |= probes_changed && hv_kprobes_have_tracepoints(all);
	for (struct hv_instance *in = &all->top; in; in = in->next) {
		apply_waiting_words(in);
		if (hv_instance_is_live(in) || in->probes.nr ||
		    (in == &all->top && all->events_wait) ||
		    (probes_changed && hv_instance_has_events(in)))
			retrace(in);
	}
}

void hv_instances_retire(struct hv_instances *all)
{
	for (struct hv_instance *in = &all->top; in; in = in->next)
		retry_retrace(in);
	if (all->commands_spent && !all->top.retrace_failed_now) {
		all->commands_spent = 0;
		retrace(&all->top);
	}
	for (struct hv_instance *in = &all->top; in; in = in->next)
		in->retrace_failed_now = 0;
}

struct hv_err *hv_instances_step_aside(struct hv_instances *all)
{
	struct hv_err *why = hv_graph_tracer_livepatch(all->session->graph);

	if (!why)
		return NULL;
	for (struct hv_instance *in = &all->top; in; in = in->next)
		if (hv_kprobes_end_returns(in))
			retrace(in);
	if (hv_instances_profile(all)) {
		for (struct hv_instance *in = &all->top; in; in = in->next)
			in->profiles = 0;
		hv_call_counts_switch(all->session->counts, 0);
		retrace(&all->top);
	}
	for (struct hv_instance *in = &all->top; in; in = in->next)
		if (in->selection.tracer->is_graph)
			hv_err_free(hv_instance_set_tracer(in, &hv_tracer_nop));
	hv_graph_tracer_put_back(all->session->graph);
	return why;
}
