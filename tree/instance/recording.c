/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/recording.h"

static bool follows_guest(const struct hv_instance *in)
{
	return hv_instance_is_top(in) && !in->nr_pauses && !in->all->host_obeys &&
	       hv_instances_single(in->all) == in;
}

unsigned hv_instance_tracing_on(const struct hv_instance *in)
{
	return follows_guest(in) ? hv_scope_recording(in->all->session->scope) : in->recording;
}

bool hv_instance_records(const struct hv_instance *in)
{
	return !in->nr_pauses && hv_instance_tracing_on(in);
}

static bool has_left(const struct hv_probe_set *set)
{
	for (size_t i = 0; i < set->nr; i++)
		if (!set->counted || set->list[i].count > 0)
			return true;
	return false;
}

/* Returns whether the guest must record for the sake of commands and triggers that the host obeys:
 * one may switch recording on, or record stacks, and triggers act and count in any case. */
static bool commands_need_recording(const struct hv_instance *in)
{
	bool on = hv_instance_has_triggers(in);

	for (size_t i = 0; in->all->host_obeys && i < in->probes.nr; i++) {
		const struct hv_probe_set *set = &in->probes.sets[i];

		on |= set->command == HV_PROBE_TRACEON && has_left(set);
		on |= set->command == HV_PROBE_STACKTRACE && in->recording;
	}
	return on;
}

/* The guest's switch is tracing_on of the top while no other instance traces. */
void hv_recording_publish(struct hv_instances *all)
{
	const struct hv_instance *single = hv_instances_single(all);
	unsigned on = 0;

	for (const struct hv_instance *in = &all->top; in; in = in->next) {
		bool traces =
			in == single || in->selection.tracer != HV_TRACER_NOP || in->events.nr;

		on |= !in->nr_pauses && ((traces && in->recording) || commands_need_recording(in));
	}
	hv_scope_set_recording(all->session->scope, on);
}

void hv_instance_switch_recording(struct hv_instance *in, unsigned on)
{
	in->recording = on;
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
	in->recording = hv_instance_tracing_on(in);
	in->nr_pauses++;
	hv_recording_publish(in->all);
}

void hv_instance_go_on(struct hv_instance *in)
{
	hv_instances_drain(in->all);
	in->nr_pauses--;
	hv_recording_publish(in->all);
}
