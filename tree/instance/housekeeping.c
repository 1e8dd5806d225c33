/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/housekeeping.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/text.h"
#include "kernel/kernel.h"
#include "tracer/graph/call_counts.h"
#include "tracer/graph/graph_tracer.h"
#include "tracer/sites/site_trampolines.h"
#include "tree/instance/core/sharing.h"
#include "tree/instance/demux/demux.h"
#include "tree/instance/dynamic/kprobes.h"
#include "tree/instance/latency/sections.h"
#include "tree/instance/publish.h"
#include "tree/instance/trace.h"

#define RETRACE_WAITS_MAX 60 /* periods of about a second */

/* The attempts to publish an instance. */
struct state {
	unsigned nr_failed;  /* since the last successful one */
	unsigned waits;	     /* periods until the next retry */
	unsigned failed_now; /* failed in this period: no retry until the next one */
};

/* For all instances. */
struct all_state {
	bool events_wait;   /* the top instance's events must be published again */
	uint64_t rejoin_ns; /* time of the next hv_instances_rejoin() */
};

static struct state *state_of(const struct hv_instance *in)
{
	return hv_instance_state(in, HV_PART_HOUSEKEEPING);
}

static struct all_state *state_of_all(const struct hv_instances *all)
{
	return hv_instances_state(all, HV_PART_HOUSEKEEPING);
}

const struct hv_part hv_housekeeping_part = {
	.state_bytes = sizeof(struct state),
	.all_bytes = sizeof(struct all_state),
};

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
	const struct hv_kernel *kernel = hv_instance_session(in)->kernel;
	const struct hv_modules *modules = &kernel->modules;
	struct hv_selection *sel = hv_instance_selection(in);

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
	struct all_state *all = state_of_all(hv_instance_all(in));
	bool events_wait = hv_instance_is_top(in) && all->events_wait;
	struct hv_err *err = events_wait ? hv_instance_publish_events(in) : NULL;
	struct hv_err *sites_err;

	all->events_wait &= !events_wait || err;
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
	struct state *s = state_of(in);
	HV_AUTO_ERR struct hv_err *err = publish(in);

	if (!err) {
		s->nr_failed = 0;
		return;
	}
	if (!s->nr_failed || needs_recovery(err))
		hv_instance_report(in, err);
	s->failed_now = 1;
	if (needs_recovery(err)) {
		s->nr_failed = 0;
		return;
	}
	if (s->nr_failed < RETRACE_WAITS_MAX + 1)
		s->nr_failed++;
	s->waits = s->nr_failed - 1;
}

/* A failing attempt may take as long as hvtrace tries to pause the guest. So retries become rarer,
 * with at most one per period. */
static void retry_retrace(struct hv_instance *in)
{
	struct state *s = state_of(in);

	if (!s->nr_failed || s->failed_now)
		return;
	if (s->waits)
		s->waits--;
	else
		retrace(in);
}

void hv_instances_refresh(struct hv_instances *all)
{
	struct all_state *s = state_of_all(all);
	unsigned probes_changed;

	hv_sections_look(all);
	if (!hv_session_refresh(hv_instances_session(all)))
		return;
	probes_changed = hv_kprobes_renew(all);
	hv_instances_forget_events(all);
	hv_sections_renew(all);
	s->events_wait |= probes_changed && hv_kprobes_have_tracepoints(all);
	for (struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in)) {
		apply_waiting_words(in);
		if (hv_instance_is_live(in) || hv_instance_commands(in)->nr ||
		    (hv_instance_is_top(in) && s->events_wait) ||
		    (probes_changed && hv_instance_has_events(in)))
			retrace(in);
	}
}

/* Adds LINE to the events of each instance that records functions, like a line of trace_marker. */
static void mark(struct hv_instances *all, const struct hv_text *line)
{
	for (struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in))
		if (hv_instance_is_live(in) && hv_instance_records(in))
			hv_instance_mark(in, line->data, line->len_bytes);
}

/* Spends at most a fifth of the time, however often the guest reads or changes sites. */
static void rejoin(struct hv_instances *all)
{
	struct all_state *s = state_of_all(all);
	uint64_t begun_ns = hv_now_ns(), end_ns;

	if (begun_ns < s->rejoin_ns)
		return;
	if (hv_session_rejoin(hv_instances_session(all)))
		retrace(hv_instances_top(all));
	end_ns = hv_now_ns();
	s->rejoin_ns = end_ns + 4 * (end_ns - begun_ns);
}

void hv_instances_rejoin(struct hv_instances *all)
{
	HV_AUTO_TEXT struct hv_text line = {0};

	rejoin(all);
	hv_text_add(&line, "hvtrace: ");
	if (hv_site_trampolines_take_unseen(hv_instances_session(all)->trampolines, &line))
		mark(all, &line);
}

void hv_instances_retire(struct hv_instances *all)
{
	for (struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in))
		retry_retrace(in);
	if (hv_demux_commands_are_spent(all) && !state_of(hv_instances_top(all))->failed_now) {
		hv_demux_forget_spent(all);
		retrace(hv_instances_top(all));
	}
	for (struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in))
		state_of(in)->failed_now = 0;
}

struct hv_err *hv_instances_step_aside(struct hv_instances *all)
{
	struct hv_err *why = hv_graph_tracer_livepatch(hv_instances_session(all)->graph);

	if (!why)
		return NULL;
	for (struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in))
		if (hv_kprobes_end_returns(in))
			retrace(in);
	if (hv_instances_profile(all)) {
		for (struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in))
			hv_instance_note_profile(in, HV_OFF);
		hv_call_counts_switch(hv_instances_session(all)->counts, HV_OFF);
		retrace(hv_instances_top(all));
	}
	for (struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in))
		if (hv_instance_tracer(in)->is_graph)
			hv_err_free(hv_instance_set_tracer(in, &hv_tracer_nop));
	hv_graph_tracer_put_back(hv_instances_session(all)->graph);
	return why;
}
