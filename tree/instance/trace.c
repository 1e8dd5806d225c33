/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/trace.h"

#include <string.h>

#include "kernel/kernel.h"
#include "tracer/events/callers.h"
#include "tracer/events/names.h"
#include "tracer/graph/call_counts.h"
#include "tree/instance/budget.h"
#include "tree/instance/commands.h"
#include "tree/instance/core/sharing.h"
#include "tree/instance/dynamic/kprobes.h"
#include "tree/instance/events/event_pids.h"
#include "tree/instance/events/match.h"
#include "tree/instance/events/user_stacks.h"
#include "tree/instance/functions.h"
#include "tree/instance/latency/sections.h"
#include "tree/instance/latency/wakeups.h"
#include "tree/instance/publish.h"
#include "tree/instance/triggers/triggers.h"

/* -- publishing -------------------------------------------------------------------------------- */

/* Prepares a change after which IN uses TRACER. Reads the state that the guest has changed itself,
 * and drains, so that earlier events are matched with the old settings. */
static struct hv_err *prepare(struct hv_instance *in, const struct hv_tracer_ops *tracer)
{
	struct hv_err *err = tracer->check ? tracer->check(in) : NULL;

	hv_tasks_learn(in);
	if (!err && !hv_instance_is_top(in) && tracer != &hv_tracer_nop)
		err = hv_instances_begin_sharing(hv_instance_all(in));
	if (!err)
		hv_instances_drain(hv_instance_all(in));
	return err;
}

/* Publishes the needs of the instances after a change of IN. If IN traces now, publishes the tasks
 * before the sites, so that no call of another task is recorded; otherwise after the sites. If this
 * changes whether forks are followed, publishes the sites again. *RET_SITES: the sites were
 * changed, even if a later step failed. */
static struct hv_err *publish(struct hv_instance *in, bool *ret_sites)
{
	struct hv_instances *all = hv_instance_all(in);
	bool traces = hv_instance_tracer(in) != &hv_tracer_nop;
	enum hv_forks forks = hv_tasks_forks(all);
	struct hv_err *err = hv_commands_publish(all);

	if (!err && hv_instances_share(all) && traces)
		err = hv_tasks_publish(all);
	if (!err)
		err = hv_sites_publish(in);
	*ret_sites = !err;
	if (!err && hv_instances_share(all) && !traces)
		err = hv_tasks_publish(all);
	if (!err && !traces && hv_tasks_forks(all) != forks)
		err = hv_sites_publish(in);
	if (!err && hv_instances_share(all))
		hv_recording_publish(all);
	return err;
}

/* After publish() failed and IN has its old settings, publishes these again, including SITES if
 * they were changed. This cannot be interrupted. */
static void take_back(struct hv_instance *in, bool sites)
{
	hv_session_set_stops(hv_instance_session(in), NULL, NULL);
	if (sites)
		hv_err_free(hv_sites_publish(in));
	hv_sites_publish_graph(in);
	if (hv_instances_share(hv_instance_all(in)))
		hv_err_free(hv_tasks_publish(hv_instance_all(in)));
	hv_err_free(hv_commands_publish(hv_instance_all(in)));
}

/* -- changes ----------------------------------------------------------------------------------- */

/* Sets the tracer and the commands of IN, after prepare(). On success IN owns FUNC_COMMANDS, and
 * the caller owns IN's previous commands. */
static struct hv_err *change(struct hv_instance *in, const struct hv_tracer_ops *tracer,
			     struct hv_func_commands func_commands)
{
	const struct hv_func_commands before_change = *hv_instance_commands(in);
	const struct hv_tracer_ops *before = hv_instance_tracer(in);
	struct hv_err *err;
	bool sites_changed = false;

	hv_instance_selection(in)->tracer = tracer;
	*hv_instance_commands(in) = func_commands;
	err = publish(in, &sites_changed);
	if (!err) {
		if (!tracer->is_graph)
			hv_match_end_graph(in);
		return NULL;
	}
	hv_instance_selection(in)->tracer = before;
	*hv_instance_commands(in) = before_change;
	take_back(in, sites_changed);
	return err;
}

/* Sets the commands of IN, and publishes the events of commands that switch events. Ownership as
 * for change(). */
static struct hv_err *change_commands(struct hv_instance *in, const struct hv_tracer_ops *tracer,
				      struct hv_func_commands func_commands)
{
	const struct hv_func_commands before = *hv_instance_commands(in);
	struct hv_err *err = change(in, tracer, func_commands);

	if (err || !(hv_func_commands_have_events(&before) ||
		     hv_func_commands_have_events(&func_commands)))
		return err;
	err = hv_instance_publish_events(in);
	if (!err)
		return NULL;
	hv_err_free(change(in, tracer, before));
	hv_err_free(hv_instance_publish_events(in));
	return err;
}

struct hv_err *hv_instance_set_tracer(struct hv_instance *in, const struct hv_tracer_ops *tracer)
{
	bool is_same = tracer == hv_instance_tracer(in);
	struct hv_err *err = NULL;

	if (!is_same)
		hv_budget_forget(hv_instance_all(in));
	if (!is_same && hv_instance_tracer(in)->end)
		err = hv_instance_tracer(in)->end(in);
	if (!err)
		err = prepare(in, tracer);
	if (!err && tracer->begin && !is_same)
		return tracer->begin(in, tracer);
	return err ? err : change(in, tracer, *hv_instance_commands(in));
}

struct hv_err *hv_trace_again(struct hv_instance *in)
{
	return hv_instance_set_tracer(in, hv_instance_tracer(in));
}

struct hv_err *hv_instance_stop(struct hv_instance *in)
{
	struct hv_func_commands before = *hv_instance_commands(in);
	struct hv_err *err;

	err = hv_instance_end_triggers(in);
	if (!err)
		err = hv_instance_set_option(in, HV_OPT_EVENT_FORK, HV_OFF);
	if (!err)
		err = hv_instance_end_events(in);
	if (!err && hv_instance_profiles(in))
		err = hv_instance_set_profile(in, HV_OFF);
	if (err || (hv_instance_tracer(in) == &hv_tracer_nop && !hv_instance_commands(in)->nr))
		return err;
	hv_budget_forget(hv_instance_all(in));
	if (hv_instance_tracer(in)->end)
		err = hv_instance_tracer(in)->end(in);
	if (!err)
		err = prepare(in, &hv_tracer_nop);
	if (!err)
		err = change_commands(in, &hv_tracer_nop, (struct hv_func_commands){0});
	if (!err)
		hv_func_commands_deinit(&before);
	return err;
}

/* Prepares everything that COMMAND needs to run. */
static struct hv_err *prepare_command(struct hv_instance *in, enum hv_func_command_kind command)
{
	struct hv_err *err;

	if (command == HV_FUNC_COMMAND_STACKTRACE)
		return hv_callers_prepare(hv_instance_session(in)->callers);
	if (command != HV_FUNC_COMMAND_SNAPSHOT)
		return NULL;
	err = hv_instance_need_host(in);
	return err ? err : hv_buffers_need_snapshot(hv_instance_buffers(in));
}

struct hv_err *hv_instance_set_command(struct hv_instance *in, const char *func,
				       enum hv_func_command_kind command, char *param)
{
	const struct hv_sites *sites = &hv_instance_session(in)->kernel->sites;
	struct hv_err *err = func[0] == '!' ? NULL : prepare_command(in, command);
	struct hv_event_ref event = {0};
	struct hv_func_commands func_commands, before;
	const char *count = param;

	if (!err && hv_func_command_has_event(command))
		err = hv_event_command_prepare(in, param, &event, &count);
	if (!err)
		err = prepare(in, hv_instance_tracer(in));
	if (err)
		return err;
	/* After the drain in prepare(), which decrements counts. */
	before = *hv_instance_commands(in);
	func_commands = hv_func_commands_dup(&before);
	err = hv_func_commands_apply(&func_commands, sites, func, command, event, count);
	if (!err)
		err = change_commands(in, hv_instance_tracer(in), func_commands);
	hv_func_commands_deinit(err ? &func_commands : &before);
	return err;
}

struct hv_err *hv_instance_set_list(struct hv_instance *in, enum hv_filter_list which,
				    struct hv_filter *list)
{
	struct hv_filter *now = &hv_instance_selection(in)->lists[which], before = *now;
	bool is_live = hv_instance_is_live(in);
	struct hv_err *err = is_live ? prepare(in, hv_instance_tracer(in)) : NULL;
	bool sites_changed = false;

	if (err)
		return err;
	hv_budget_forget(hv_instance_all(in));
	*now = *list;
	if (is_live)
		err = publish(in, &sites_changed);
	if (err) {
		*now = before;
		take_back(in, sites_changed);
		return err;
	}
	hv_filter_deinit(&before);
	*list = (struct hv_filter){0};
	return NULL;
}

/* Publishes a change of the tasks that IN records. The caller has drained before the change. */
static struct hv_err *publish_tasks(struct hv_instance *in)
{
	enum hv_forks forks = hv_tasks_forks(hv_instance_all(in));
	struct hv_err *err = hv_tasks_publish(hv_instance_all(in));

	return err || hv_tasks_forks(hv_instance_all(in)) == forks ? err : hv_sites_publish(in);
}

struct hv_err *hv_instance_set_pids(struct hv_instance *in, enum hv_filter_list which,
				    struct hv_pidlist *list)
{
	struct hv_pidlist *now = &hv_instance_selection(in)->pids[which], before = *now;
	struct hv_err *err = NULL;

	hv_instances_drain(hv_instance_all(in));
	*now = *list;
	if (hv_instances_single(hv_instance_all(in)) != hv_instances_top(hv_instance_all(in)))
		err = hv_instances_begin_sharing(hv_instance_all(in));
	if (!err && hv_instance_has_events(in))
		err = hv_instance_retrace(in);
	if (!err)
		err = publish_tasks(in);
	if (err) {
		*now = before;
		hv_err_free(hv_tasks_publish(hv_instance_all(in)));
		return err;
	}
	hv_pidlist_deinit(&before);
	*list = (struct hv_pidlist){0};
	return NULL;
}

void hv_instance_set_muted(struct hv_instance *in, const uint8_t *muted)
{
	hv_instances_drain(hv_instance_all(in));
	memcpy(hv_instance_selection(in)->muted, muted, hv_instances_nr_cpus(hv_instance_all(in)));
	hv_tasks_publish_cpus(hv_instance_all(in));
}

static struct hv_err *follow_event_forks(struct hv_instance *in, enum hv_switch to)
{
	struct hv_options before = *hv_instance_options(in);
	bool followed = hv_instance_follows_forks(in);
	struct hv_err *err;

	hv_options_set(hv_instance_options(in), HV_OPT_EVENT_FORK, to);
	if (followed == hv_instance_follows_forks(in))
		return NULL;
	err = hv_event_forks_publish(in);
	if (err) {
		*hv_instance_options(in) = before;
		hv_err_free(hv_event_forks_publish(in));
	}
	return err;
}

static struct hv_err *follow_forks(struct hv_instance *in, enum hv_switch to)
{
	struct hv_options before = *hv_instance_options(in);
	struct hv_err *err;

	hv_tasks_learn(in);
	hv_instances_drain(hv_instance_all(in));
	hv_options_set(hv_instance_options(in), HV_OPT_FUNCTION_FORK, to);
	err = publish_tasks(in);
	if (err) {
		*hv_instance_options(in) = before;
		hv_err_free(hv_tasks_publish(hv_instance_all(in)));
	}
	return err;
}

static struct hv_err *prepare_user_stacks(struct hv_instance *in)
{
	struct hv_err *err = hv_user_stacks_prepare(hv_instance_all(in));

	return err ? err : hv_instances_begin_sharing(hv_instance_all(in));
}

/* Prepares the guest or the host for setting OPTION to TO. */
static struct hv_err *prepare_option(struct hv_instance *in, enum hv_option option,
				     enum hv_switch to)
{
	switch (option) {
	case HV_OPT_OVERWRITE: /* the guest's rings always overwrite */
		return to ? NULL : hv_instance_need_host(in);
	case HV_OPT_DISPLAY_GRAPH: /* the guest also records returns after the end of a section */
		return to ? hv_instance_need_host(in) : NULL;
	case HV_OPT_FUNC_STACK_TRACE:
	case HV_OPT_STACKTRACE:
		return to ? hv_callers_prepare(hv_instance_session(in)->callers) : NULL;
	case HV_OPT_USERSTACKTRACE:
		return to ? prepare_user_stacks(in) : NULL;
	case HV_OPT_FUNCTION_FORK:
		return follow_forks(in, to);
	case HV_OPT_EVENT_FORK:
		return follow_event_forks(in, to);
	case HV_OPT_RECORD_CMD:
		hv_names_follow(hv_instance_session(in)->names, to);
		return NULL;
	case HV_OPT_FUNCGRAPH_HOST:
		return to ? hv_kernel_need_steal_time(hv_instance_session(in)->kernel) : NULL;
	case HV_OPT_RECORD_TGID:
		hv_instances_top_settings(hv_instance_all(in))->shows_tgids |= to;
		return NULL;
	default:
		return NULL;
	}
}

/* Returns whether a change of OPTION changes the trampolines of sites. With sleep-time off or
 * funcgraph-host on, the functions in which tasks leave and re-enter the CPU call trampolines. */
static bool changes_sites(const struct hv_instance *in, enum hv_option option)
{
	if (option == HV_OPT_FUNCTION_TRACE && hv_wakeups_are_on(in))
		return true;
	if (option == HV_OPT_FUNCTION_TRACE || option == HV_OPT_DISPLAY_GRAPH)
		return hv_sections_are_on(in);
	if (option == HV_OPT_USERSTACKTRACE)
		return hv_kprobes_nr(hv_instance_all(in)) != 0;
	if (option == HV_OPT_FUNC_STACK_TRACE)
		return hv_instance_tracer(in)->id == HV_TRACER_FUNCTION;
	return (option == HV_OPT_SLEEP_TIME || option == HV_OPT_FUNCGRAPH_HOST) &&
	       hv_instance_is_live(in);
}

/* Returns whether a change of OPTION changes what the guest records with an event. */
static bool changes_events(const struct hv_instance *in, enum hv_option option)
{
	return (option == HV_OPT_STACKTRACE || option == HV_OPT_USERSTACKTRACE) &&
	       hv_instance_has_events(in);
}

struct hv_err *hv_instance_set_option(struct hv_instance *in, enum hv_option option,
				      enum hv_switch to)
{
	struct hv_options before = *hv_instance_options(in);
	struct hv_err *err;

	hv_instances_drain(hv_instance_all(in));
	err = prepare_option(in, option, to);
	if (err)
		return err;
	hv_options_set(hv_instance_options(in), option, to);
	if (option == HV_OPT_OVERWRITE)
		hv_buffers_when_full(hv_instance_buffers(in),
				     to ? HV_FULL_OVERWRITES : HV_FULL_DROPS);
	hv_sites_publish_graph(in);
	if (changes_sites(in, option))
		err = hv_instance_retrace(in);
	if (changes_events(in, option))
		err = hv_instance_publish_events(in);
	if (err) {
		*hv_instance_options(in) = before;
		hv_sites_publish_graph(in);
	}
	/* Other events may have been changed before one was refused. */
	if (err && changes_events(in, option))
		hv_err_free(hv_instance_publish_events(in));
	if (option == HV_OPT_FUNCTION_TRACE)
		hv_sections_use_functions(in);
	return err;
}

static void switch_counts(const struct hv_instances *all)
{
	hv_call_counts_switch(hv_instances_session(all)->counts, hv_instances_profile(all));
}

struct hv_err *hv_instance_set_profile(struct hv_instance *in, enum hv_switch to)
{
	struct hv_err *err;

	hv_instance_note_profile(in, to);
	switch_counts(hv_instance_all(in));
	err = hv_instance_retrace(in);
	if (err) {
		hv_instance_note_profile(in, !to);
		switch_counts(hv_instance_all(in));
		return err;
	}
	if (to && !hv_instance_is_top(in))
		hv_instances_top_settings(hv_instance_all(in))->profile_shared = 1;
	return NULL;
}
