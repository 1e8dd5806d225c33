#include "tree/instance/trace.h"

#include <string.h>

#include "kernel/kernel.h"
#include "tracer/call_counts.h"
#include "tracer/events/callers.h"
#include "tracer/events/names.h"
#include "tree/instance/commands.h"
#include "tree/instance/recording.h"
#include "tree/instance/share.h"
#include "tree/instance/sites.h"
#include "tree/instance/tasks.h"

/* -- telling the session ---------------------------------------------------------------------- */

/* The return of a call is kept for one tracer, and a call has one stub: a graph is traced alone. */
static struct hv_err *check_graph(const struct hv_instance *in, enum hv_tracer tracer)
{
	for (const struct hv_instance *i = &in->all->top; i; i = i->next) {
		enum hv_tracer other = i->selection.tracer;

		if (i == in || tracer == HV_TRACER_NOP || other == HV_TRACER_NOP)
			continue;
		if (tracer == HV_TRACER_FUNCTION_GRAPH || other == HV_TRACER_FUNCTION_GRAPH)
			return hv_err_new(EBUSY, "function_graph is traced alone: %s%s has %s",
					  i->name ? "instances/" : "",
					  i->name ? i->name : "the top", hv_tracer_name(other));
	}
	return NULL;
}

static struct hv_err *begin_sharing(struct hv_instance *top)
{
	top->recording = hv_instance_tracing_on(top);
	return hv_instance_need_host(top);
}

/* To be called before IN is changed so that it traces TRACER. Learns what the guest has done until
 * now, and has the events until now judged by what is set now. */
static struct hv_err *prepare(struct hv_instance *in, enum hv_tracer tracer)
{
	struct hv_err *err = check_graph(in, tracer);

	hv_tasks_learn(in);
	if (!err && !hv_instance_is_top(in) && tracer != HV_TRACER_NOP)
		err = begin_sharing(&in->all->top);
	if (!err)
		hv_instances_drain(in->all);
	return err;
}

/* Tells the session what the instances want after IN has changed. If IN traces now, tasks are told
 * before sites, so that nothing is recorded of other tasks; if it does not, after them. If that
 * changes whether forks are followed, other sites are needed. */
static struct hv_err *publish(struct hv_instance *in)
{
	struct hv_instances *all = in->all;
	bool traces = in->selection.tracer != HV_TRACER_NOP;
	enum hv_forks forks = all->forks;
	struct hv_err *err = hv_commands_publish(all);

	if (!err && hv_share_is(all) && traces)
		err = hv_tasks_publish(all);
	if (!err)
		err = hv_sites_publish(in);
	if (!err && hv_share_is(all) && !traces)
		err = hv_tasks_publish(all);
	if (!err && !traces && all->forks != forks)
		err = hv_sites_publish(in);
	if (!err && hv_share_is(all))
		hv_recording_publish(all);
	return err;
}

/* To be called after publish() has failed and IN was set back. Sites are as before. */
static void take_back(struct hv_instance *in)
{
	hv_sites_publish_graph(in);
	if (hv_share_is(in->all))
		hv_err_free(hv_tasks_publish(in->all));
	hv_err_free(hv_commands_publish(in->all));
}

/* -- changes ---------------------------------------------------------------------------------- */

/* To be called after prepare(). On success IN owns PROBES and no longer what it had before. */
static struct hv_err *change(struct hv_instance *in, enum hv_tracer tracer, struct hv_probes probes)
{
	const struct hv_probes probes_before = in->probes;
	enum hv_tracer before = in->selection.tracer;
	struct hv_err *err;

	in->selection.tracer = tracer;
	in->probes = probes;
	err = publish(in);
	if (!err)
		return NULL;
	in->selection.tracer = before;
	in->probes = probes_before;
	take_back(in);
	return err;
}

struct hv_err *hv_instance_set_tracer(struct hv_instance *in, enum hv_tracer tracer)
{
	struct hv_err *err = prepare(in, tracer);

	return err ? err : change(in, tracer, in->probes);
}

struct hv_err *hv_instance_retrace(struct hv_instance *in)
{
	return hv_instance_set_tracer(in, in->selection.tracer);
}

struct hv_err *hv_instance_stop(struct hv_instance *in)
{
	struct hv_probes before = in->probes;
	struct hv_err *err;

	if (in->selection.tracer == HV_TRACER_NOP && !in->probes.nr)
		return NULL;
	err = prepare(in, HV_TRACER_NOP);
	if (!err)
		err = change(in, HV_TRACER_NOP, (struct hv_probes){0});
	if (!err)
		hv_probes_deinit(&before);
	return err;
}

/* What has to be there before COMMAND can be obeyed. */
static struct hv_err *prepare_command(struct hv_instance *in, enum hv_probe_command command)
{
	struct hv_err *err;

	if (command == HV_PROBE_STACKTRACE)
		return hv_callers_prepare(in->all->session->callers);
	if (command != HV_PROBE_SNAPSHOT)
		return NULL;
	err = hv_instance_need_host(in);
	return err ? err : hv_buffers_need_snapshot(&in->buffers);
}

struct hv_err *hv_instance_set_command(struct hv_instance *in, const char *func,
				       enum hv_probe_command command, const char *param)
{
	const struct hv_sites *sites = &in->all->session->kernel->sites;
	struct hv_err *err = func[0] == '!' ? NULL : prepare_command(in, command);
	struct hv_probes probes, before;

	if (!err)
		err = prepare(in, in->selection.tracer);
	if (err)
		return err;
	/* Behind the drain, which uses counts up. */
	before = in->probes;
	probes = hv_probes_dup(&before);
	err = hv_probes_apply(&probes, sites, func, command, param);
	if (!err)
		err = change(in, in->selection.tracer, probes);
	hv_probes_deinit(err ? &probes : &before);
	return err;
}

struct hv_err *hv_instance_set_list(struct hv_instance *in, enum hv_filter_list which,
				    struct hv_filter *list)
{
	struct hv_filter *now = &in->selection.lists[which], before = *now;
	bool is_live = hv_instance_is_live(in);
	struct hv_err *err = is_live ? prepare(in, in->selection.tracer) : NULL;

	if (err)
		return err;
	*now = *list;
	if (is_live)
		err = publish(in);
	if (err) {
		*now = before;
		take_back(in);
		return err;
	}
	hv_filter_deinit(&before);
	*list = (struct hv_filter){0};
	return NULL;
}

/* After a change of which tasks IN records; the drain has run before it. */
static struct hv_err *publish_tasks(struct hv_instance *in)
{
	enum hv_forks forks = in->all->forks;
	struct hv_err *err = hv_tasks_publish(in->all);

	return err || in->all->forks == forks ? err : hv_sites_publish(in);
}

struct hv_err *hv_instance_set_pids(struct hv_instance *in, enum hv_filter_list which,
				    struct hv_pidlist *list)
{
	struct hv_pidlist *now = &in->selection.pids[which], before = *now;
	struct hv_err *err;

	hv_instances_drain(in->all);
	*now = *list;
	err = publish_tasks(in);
	if (err) {
		*now = before;
		hv_err_free(hv_tasks_publish(in->all));
		return err;
	}
	hv_pidlist_deinit(&before);
	*list = (struct hv_pidlist){0};
	return NULL;
}

void hv_instance_set_muted(struct hv_instance *in, const uint8_t *muted)
{
	hv_instances_drain(in->all);
	memcpy(in->selection.muted, muted, in->all->nr_cpus);
	hv_tasks_publish_cpus(in->all);
}

static struct hv_err *follow_forks(struct hv_instance *in, unsigned on)
{
	struct hv_options before = in->options;
	struct hv_err *err;

	hv_tasks_learn(in);
	hv_instances_drain(in->all);
	hv_options_set(&in->options, HV_OPT_FUNCTION_FORK, on);
	err = publish_tasks(in);
	if (err) {
		in->options = before;
		hv_err_free(hv_tasks_publish(in->all));
	}
	return err;
}

/* What the guest has to be told, or the host to get ready, before OPTION can be ON. */
static struct hv_err *prepare_option(struct hv_instance *in, enum hv_option option, unsigned on)
{
	switch (option) {
	case HV_OPT_OVERWRITE: /* the guest's rings do nothing else */
		return on ? NULL : hv_instance_need_host(in);
	case HV_OPT_FUNCTION_FORK:
		return follow_forks(in, on);
	case HV_OPT_RECORD_CMD:
		hv_names_follow(in->all->session->names, on);
		return NULL;
	case HV_OPT_RECORD_TGID:
		in->all->shows_tgids |= on;
		return NULL;
	default:
		return NULL;
	}
}

/* Whether sites call something else with another value of OPTION. With sleep-time the functions in
 * which tasks leave the CPU and come back tell it, or need not. */
static bool changes_sites(const struct hv_instance *in, enum hv_option option)
{
	if (option == HV_OPT_FUNC_STACK_TRACE)
		return in->selection.tracer == HV_TRACER_FUNCTION;
	return option == HV_OPT_SLEEP_TIME && hv_instance_is_live(in);
}

struct hv_err *hv_instance_set_option(struct hv_instance *in, enum hv_option option, unsigned on)
{
	struct hv_options before = in->options;
	struct hv_err *err = prepare_option(in, option, on);

	if (err)
		return err;
	hv_options_set(&in->options, option, on);
	if (option == HV_OPT_OVERWRITE)
		hv_buffers_when_full(&in->buffers, on ? HV_FULL_OVERWRITES : HV_FULL_DROPS);
	hv_sites_publish_graph(in);
	if (changes_sites(in, option))
		err = hv_instance_retrace(in);
	if (err) {
		in->options = before;
		hv_sites_publish_graph(in);
	}
	return err;
}

struct hv_err *hv_instances_set_profile(struct hv_instances *all, unsigned on)
{
	struct hv_err *err;

	all->profiles = on;
	hv_call_counts_switch(all->session->counts, on);
	err = hv_instance_retrace(&all->top);
	if (err) {
		all->profiles = !on;
		hv_call_counts_switch(all->session->counts, !on);
	}
	return err;
}
