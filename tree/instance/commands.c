/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/commands.h"

#include "kernel/kernel.h"
#include "tracer/guest/actions.h"
#include "tree/instance/core/sharing.h"
#include "tree/instance/dynamic/kprobes.h"
#include "tree/instance/latency/stack_tracer.h"

/* The guest's action for each command, without and with a count. */
static const enum hv_action actions[HV_NR_FUNC_COMMAND_KINDS][2] = {
	[HV_FUNC_COMMAND_TRACEON] = {HV_ACTION_ON, HV_ACTION_ON_COUNTED},
	[HV_FUNC_COMMAND_TRACEOFF] = {HV_ACTION_OFF, HV_ACTION_OFF_COUNTED},
	[HV_FUNC_COMMAND_STACKTRACE] = {HV_ACTION_STACK, HV_ACTION_STACK_COUNTED},
	[HV_FUNC_COMMAND_SNAPSHOT] = {HV_ACTION_REPORT, HV_ACTION_REPORT_COUNTED},
	[HV_FUNC_COMMAND_DUMP] = {HV_ACTION_REPORT, HV_ACTION_REPORT_COUNTED},
	[HV_FUNC_COMMAND_CPUDUMP] = {HV_ACTION_REPORT, HV_ACTION_REPORT_COUNTED},
	[HV_FUNC_COMMAND_ENABLE_EVENT] = {HV_ACTION_REPORT, HV_ACTION_REPORT_COUNTED},
	[HV_FUNC_COMMAND_DISABLE_EVENT] = {HV_ACTION_REPORT, HV_ACTION_REPORT_COUNTED},
};

static bool guest_counts(enum hv_func_command_kind command)
{
	return command == HV_FUNC_COMMAND_TRACEON || command == HV_FUNC_COMMAND_TRACEOFF ||
	       command == HV_FUNC_COMMAND_STACKTRACE;
}

#define PROBES	 (1u << HV_ACTION_REGS | 1u << HV_ACTION_ALL_REGS | 1u << HV_ACTION_RETURN)
#define ALL_REGS (1u << HV_ACTION_ALL_REGS)

/* -- publishing -------------------------------------------------------------------------------- */

static int compare_ips(const void *pa, const void *pb)
{
	const struct hv_site_actions *a = pa, *b = pb;

	return (a->ip > b->ip) - (a->ip < b->ip);
}

/* Merges the entries of each function, with all registers if one of them needs all. Returns the new
 * number of entries in LIST. */
static size_t join(struct hv_site_actions *list, size_t nr)
{
	size_t kept = 0;

	qsort(list, nr, sizeof(*list), compare_ips);
	for (size_t i = 0; i < nr; i++) {
		struct hv_site_actions *last = kept ? &list[kept - 1] : NULL;

		if (!last || last->ip != list[i].ip) {
			list[kept++] = list[i];
			continue;
		}
		last->bits |= list[i].bits;
		for (unsigned a = 0; a < HV_NR_ACTIONS; a++)
			if (list[i].bits >> a & 1)
				last->left[a] = list[i].left[a];
	}
	for (size_t i = 0; i < kept; i++)
		if (list[i].bits & ALL_REGS)
			list[i].bits &= ~(1u << HV_ACTION_REGS);
	return kept;
}

/* Adds the actions for the commands of SET. If the host executes commands, the guest only records
 * that the function was called. The host then counts, and a command with a used-up count needs no
 * action. */
static void add_set(const struct hv_func_command_set *set, unsigned host_runs_commands,
		    struct hv_site_actions *list, size_t *nr)
{
	enum hv_action action = actions[set->command][set->counted && !host_runs_commands];

	if (host_runs_commands && set->command != HV_FUNC_COMMAND_STACKTRACE)
		action = HV_ACTION_REPORT;
	for (size_t i = 0; i < set->nr; i++) {
		struct hv_site_actions *to;

		if (host_runs_commands && set->counted && set->list[i].count <= 0)
			continue;
		to = &list[(*nr)++];
		*to = (struct hv_site_actions){.ip = set->list[i].ip, .bits = 1u << action};
		to->left[action] = set->list[i].count;
	}
}

/* Adds the actions that record calls for the probes of IN. */
static void add_kprobes(const struct hv_instance *in, struct hv_site_actions *list, size_t *nr)
{
	struct hv_kprobe_site site;

	for (size_t n = 0; hv_kprobes_needed_site(in, &n, &site);)
		list[(*nr)++] = (struct hv_site_actions){
			.ip = site.at.v,
			.probe_site = site.probe_site,
			.bits = 1u << (site.is_return	     ? HV_ACTION_RETURN
				       : site.needs_all_regs ? HV_ACTION_ALL_REGS
							     : HV_ACTION_REGS) |
				(unsigned)site.needs_args << HV_ACTION_RETURN_ARGS,
		};
}

/* Adds the actions that measure stack depth for the stack tracer. */
static void add_depths(const struct hv_instances *all, struct hv_site_actions *list, size_t *nr)
{
	const struct hv_sites *sites = &hv_instances_session(all)->kernel->sites;

	for (size_t i = 0; hv_stack_tracer_of(all)->is_on && i < sites->nr; i++)
		if (!sites->list[i].invalid && hv_stack_tracer_has(all, sites->list[i].ip))
			list[(*nr)++] = (struct hv_site_actions){
				.ip = sites->list[i].ip.v,
				.bits = 1u << HV_ACTION_DEEPEST,
			};
}

/* Fetch programs of the functions in a list of actions. */
struct programs {
	struct hv_fetch_step (*list)[HV_FETCH_STEPS_MAX];
	size_t nr;
};

static void programs_deinit(struct programs *p)
{
	free(p->list);
}

/* Builds in STEPS, initially zeros, the program that reads memory for the probes of a function. A
 * step separates the part for the call from the part for the return, which follows. */
static struct hv_err *make_program(const struct hv_instances *all, struct hv_fetch_step *steps,
				   struct hv_site_actions *site)
{
	struct hv_err *err = hv_kprobes_call_program(all, hv_gva(site->ip), steps, &site->nr_steps);
	size_t nr;

	if (err)
		return err;
	site->bits |= site->nr_steps ? 1u << HV_ACTION_FETCH : 0;
	nr = site->return_step = site->nr_steps ? site->nr_steps + 1 : 0;
	err = hv_kprobes_return_program(all, hv_gva(site->ip), steps, &nr);
	if (nr == site->return_step) {
		site->return_step = 0;
		return err;
	}
	site->bits |= 1u << HV_ACTION_RETURN_FETCH;
	site->nr_steps = nr;
	return err;
}

/* Assigns programs to the functions of LIST with probes that read memory. */
static struct hv_err *add_programs(const struct hv_instances *all, struct programs *programs,
				   struct hv_site_actions *list, size_t nr)
{
	struct hv_err *err = NULL;

	programs->list = hv_alloc((hv_kprobes_nr(all) + 1) * sizeof(*programs->list));
	for (size_t i = 0; !err && i < nr; i++) {
		struct hv_fetch_step *steps = programs->list[programs->nr];

		if (!(list[i].bits & PROBES))
			continue;
		err = make_program(all, steps, &list[i]);
		list[i].program = list[i].nr_steps ? steps : NULL;
		programs->nr += list[i].nr_steps != 0;
	}
	return err;
}

static struct hv_err *tell(struct hv_instances *all)
{
	hv_cleanup(programs_deinit) struct programs programs = {0};
	HV_AUTO_FREE struct hv_site_actions *list = NULL;
	struct hv_err *err;
	size_t nr = 0;

	for (struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in))
		for (size_t i = 0; i < hv_instance_commands(in)->nr; i++)
			nr += hv_instance_commands(in)->sets[i].nr;
	for (const struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in))
		nr += hv_kprobes_nr(all);
	nr += hv_stack_tracer_of(all)->is_on ? hv_instances_session(all)->kernel->sites.nr : 0;
	list = hv_alloc(nr * sizeof(*list));
	nr = 0;
	for (struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in))
		for (size_t i = 0; i < hv_instance_commands(in)->nr; i++)
			add_set(&hv_instance_commands(in)->sets[i],
				hv_recording_host_has_commands(all), list, &nr);
	for (const struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in))
		add_kprobes(in, list, &nr);
	add_depths(all, list, &nr);
	nr = join(list, nr);
	err = add_programs(all, &programs, list, nr);
	return err ? err : hv_actions_set(hv_instances_session(all)->actions, list, nr);
}

/* -- guest or host ----------------------------------------------------------------------------- */

/* Counts a function with two counted commands twice, although the guest needs only one entry for
 * both counts. */
static bool guest_can_count(const struct hv_func_commands *p)
{
	size_t nr = 0;

	for (size_t i = 0; i < p->nr; i++)
		nr += p->sets[i].counted ? p->sets[i].nr : 0;
	return nr <= HV_ACTIONS_COUNTED_MAX;
}

static bool must_host_run_commands(struct hv_instances *all)
{
	const struct hv_func_commands *tops = hv_instance_commands(hv_instances_top(all));

	for (const struct hv_instance *in = hv_instance_next(hv_instances_top(all)); in;
	     in = hv_instance_next(in))
		if (hv_instance_commands(in)->nr)
			return true;
	for (const struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in))
		if (hv_instance_has_triggers(in))
			return true;
	if (tops->nr && hv_instances_single(all) != hv_instances_top(all))
		return true;
	/* Dumps stop recording and must not contain events after the call. */
	return hv_func_commands_have(tops, HV_FUNC_COMMAND_DUMP) ||
	       hv_func_commands_have(tops, HV_FUNC_COMMAND_CPUDUMP) ||
	       hv_func_commands_have_events(tops) || !guest_can_count(tops);
}

/* Takes over tracing_on and the counts from the guest, which has executed the commands so far. */
static void learn(struct hv_instance *top)
{
	struct hv_func_commands *p = hv_instance_commands(top);

	hv_recording_learn(top);
	for (size_t i = 0; i < p->nr; i++)
		for (size_t j = 0; p->sets[i].counted && j < p->sets[i].nr; j++)
			p->sets[i].list[j].count =
				hv_commands_left(top, p->sets[i].command, &p->sets[i].list[j]);
}

struct hv_err *hv_commands_publish(struct hv_instances *all)
{
	unsigned host_runs_commands = must_host_run_commands(all);
	struct hv_err *err =
		host_runs_commands ? hv_instance_need_host(hv_instances_top(all)) : NULL;

	if (err)
		return err;
	if (host_runs_commands && !hv_recording_host_has_commands(all))
		learn(hv_instances_top(all));
	hv_recording_set_host_has_commands(all, host_runs_commands);
	return tell(all);
}

int64_t hv_commands_left(const struct hv_instance *in, enum hv_func_command_kind command,
			 const struct hv_func_command *func_command)
{
	if (hv_recording_host_has_commands(hv_instance_all(in)) || !guest_counts(command))
		return func_command->count;
	return hv_actions_left(hv_instance_session(in)->actions, func_command->ip,
			       actions[command][1], func_command->count);
}
