/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/demux/run_commands.h"

#include "kernel/kernel.h"
#include "tree/instance/events/event_commands.h"
#include "tree/instance/core/recording.h"

/* Returns the probe of SET for the function at IP, or NULL if there is none or its count is used
 * up. */
static struct hv_probe *find_left(const struct hv_probe_set *set, uint64_t ip)
{
	struct hv_probe *probe = hv_probes_find(set, ip);

	return probe && (!set->counted || probe->count > 0) ? probe : NULL;
}

static void reduce(struct hv_instance *in, const struct hv_probe_set *set, struct hv_probe *probe)
{
	if (set->counted && !--probe->count)
		in->all->commands_spent = 1;
}

/* Returns whether the function at IP has COMMAND and its count, if it has one, is not used up.
 * Decrements the count. */
static bool is_due(struct hv_instance *in, enum hv_probe_command command, uint64_t ip)
{
	bool due = false;

	for (size_t i = 0; i < in->probes.nr; i++) {
		const struct hv_probe_set *set = &in->probes.sets[i];
		struct hv_probe *probe = set->command == command ? find_left(set, ip) : NULL;

		if (!probe)
			continue;
		due = true;
		reduce(in, set, probe);
	}
	return due;
}

/* Executes the commands for the function at IP that switch events. */
static void switch_events(struct hv_instance *in, uint64_t ip)
{
	for (size_t i = 0; i < in->probes.nr; i++) {
		const struct hv_probe_set *set = &in->probes.sets[i];
		struct hv_probe *probe =
			hv_probe_command_has_event(set->command) ? find_left(set, ip) : NULL;

		if (probe && hv_event_command_obey(in, set->command, probe))
			reduce(in, set, probe);
	}
}

/* A command without effect is not executed and not counted. */
static bool would_change(const struct hv_instance *in, enum hv_probe_command command)
{
	switch (command) {
	case HV_PROBE_TRACEON:
		return in->all->host_obeys && !in->recording;
	case HV_PROBE_TRACEOFF:
		return in->all->host_obeys && in->recording;
	case HV_PROBE_STACKTRACE:   /* handled by hv_wants_command_stack() */
	case HV_PROBE_ENABLE_EVENT: /* handled by switch_events() */
	case HV_PROBE_DISABLE_EVENT:
		return false;
	default:
		return true;
	}
}

/* Starts a dump and stops recording at the call. */
static void dump(struct hv_instances *all, enum hv_probe_command command,
		 const struct hv_event *event)
{
	const struct hv_sites *sites = &all->session->kernel->sites;
	struct hv_instance *top = &all->top;

	hv_instance_switch_recording(top, 0);
	hv_dump_begin(&all->dump, sites, top->buffers.host, top->selection.tracer, command, event);
}

static void obey(struct hv_instance *in, enum hv_probe_command command,
		 const struct hv_event *event)
{
	switch (command) {
	case HV_PROBE_TRACEON:
		hv_instance_switch_recording(in, 1);
		return;
	case HV_PROBE_TRACEOFF:
		hv_instance_switch_recording(in, 0);
		return;
	case HV_PROBE_SNAPSHOT:
		hv_buffers_swap_snapshot(&in->buffers);
		return;
	case HV_PROBE_DUMP:
	case HV_PROBE_CPUDUMP:
		dump(in->all, command, event);
		return;
	default:
		return;
	}
}

void hv_run_commands(struct hv_instance *in, const struct hv_event *event)
{
	for (unsigned command = 0; command < HV_NR_PROBE_COMMANDS; command++)
		if (would_change(in, command) && is_due(in, command, event->ip.v))
			obey(in, command, event);
	switch_events(in, event->ip.v);
}

/* If the guest executes the commands, it has already decided that this stack is wanted. */
bool hv_wants_command_stack(struct hv_instance *in, const struct hv_event *event)
{
	if (!in->all->host_obeys)
		return hv_instance_is_top(in);
	return in->recording && !in->nr_pauses && !in->selection.muted[event->cpu] &&
	       is_due(in, HV_PROBE_STACKTRACE, event->ip.v);
}
