/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/core/recording.h"

#include "tree/instance/core/state.h"

/* Returns whether the guest's switch should be the top instance's tracing_on. `switch_shared`,
 * updated by hv_recording_publish(), is the current state. */
static bool follows_guest(struct hv_instances *all)
{
	return !all->host_commands && hv_instances_single(all) == &all->top;
}

unsigned hv_instance_tracing_on(const struct hv_instance *in)
{
	if (hv_instance_is_top(in) && !in->all->switch_shared)
		return hv_scope_recording(in->all->session->scope);
	return in->recording;
}

bool hv_instance_records(const struct hv_instance *in)
{
	return !in->nr_pauses && hv_instance_tracing_on(in);
}

bool hv_instance_is_on(const struct hv_instance *in)
{
	return in->recording;
}

bool hv_instance_takes(const struct hv_instance *in)
{
	return in->recording && !in->nr_pauses;
}

bool hv_instance_takes_on(const struct hv_instance *in, unsigned cpu)
{
	return in->recording && !in->nr_pauses && !in->selection.muted[cpu];
}

void hv_recording_learn(struct hv_instance *top)
{
	top->recording = hv_instance_tracing_on(top);
}

bool hv_recording_host_has_commands(const struct hv_instances *all)
{
	return all->host_commands;
}

void hv_recording_set_host_has_commands(struct hv_instances *all, unsigned on)
{
	all->host_commands = on;
}

static bool has_left(const struct hv_probe_set *set)
{
	for (size_t i = 0; i < set->nr; i++)
		if (!set->counted || set->list[i].count > 0)
			return true;
	return false;
}

/* Returns whether the guest must record for commands and triggers that the host executes: a command
 * may start recording or record stacks, and triggers act and count even in a pause. */
static bool commands_need_recording(const struct hv_instance *in)
{
	bool on = hv_instance_has_triggers(in);

	for (size_t i = 0; in->all->host_commands && i < in->probes.nr; i++) {
		const struct hv_probe_set *set = &in->probes.sets[i];

		on |= set->command == HV_PROBE_TRACEON && has_left(set);
		on |= set->command == HV_PROBE_STACKTRACE && in->recording;
	}
	return on;
}

/* Returns whether the guest must record when its switch is not the top instance's tracing_on. */
static unsigned any_records(struct hv_instances *all)
{
	const struct hv_instance *single = hv_instances_single(all);
	unsigned on = 0;

	for (const struct hv_instance *in = &all->top; in; in = in->next) {
		bool traces =
			in == single || in->selection.tracer != &hv_tracer_nop || in->events.nr;

		on |= (traces && in->recording && !in->nr_pauses) || commands_need_recording(in);
	}
	return on;
}

/* While the guest's switch is the top instance's tracing_on, commands in the guest may change it at
 * any time, so it is read and not written. The order of the changes ensures that no call is
 * recorded in between. */
void hv_recording_publish(struct hv_instances *all)
{
	struct hv_scope *scope = all->session->scope;
	unsigned shared = !follows_guest(all);

	if (!all->switch_shared)
		all->top.recording = hv_scope_recording(scope);
	if (!shared && all->top.nr_pauses)
		hv_scope_set_paused(scope, 1);
	if (shared)
		hv_scope_set_recording(scope, any_records(all));
	else if (all->switch_shared)
		hv_scope_set_recording(scope, all->top.recording);
	if (shared || !all->top.nr_pauses)
		hv_scope_set_paused(scope, 0);
	all->switch_shared = shared;
}

void hv_instance_switch_recording(struct hv_instance *in, unsigned on)
{
	in->recording = on;
	if (hv_instance_is_top(in) && !in->all->switch_shared)
		hv_scope_set_recording(in->all->session->scope, on);
	hv_recording_publish(in->all);
}

void hv_instance_set_recording(struct hv_instance *in, unsigned on)
{
	hv_instances_drain(in->all);
	hv_instance_switch_recording(in, on);
}

void hv_instance_pause(struct hv_instance *in)
{
	hv_instances_drain(in->all);
	in->nr_pauses++;
	hv_recording_publish(in->all);
}

void hv_instance_go_on(struct hv_instance *in)
{
	hv_instances_drain(in->all);
	in->nr_pauses--;
	hv_recording_publish(in->all);
}
