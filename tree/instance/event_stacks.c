/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/event_stacks.h"

#include <string.h>

#include "tree/instance/events.h"

bool hv_instance_wants_stacks(const struct hv_instance *in, struct hv_event_ref ref)
{
	const struct hv_triggers *s = &in->triggers;

	if (hv_options_on(&in->options, HV_OPT_STACKTRACE) && hv_instance_needs_event(in, ref))
		return true;
	for (size_t i = 0; i < s->nr; i++)
		if (s->list[i].trigger.command == HV_TRIGGER_STACKTRACE &&
		    s->list[i].ref.call == ref.call && s->list[i].ref.id == ref.id)
			return true;
	return false;
}

void hv_event_stacks_begin(struct hv_instance *in)
{
	in->nr_stacks = 0;
}

void hv_event_stacks_want(struct hv_instance *in)
{
	in->nr_stacks++;
}

/* If there is no room, the oldest has waited too long: its stack was lost. */
void hv_event_stacks_end(struct hv_instance *in, const struct hv_event *event)
{
	struct hv_stacks_due *due = &in->stacks_due[event->cpu];

	if (!hv_event_set_has_id(&in->all->stacked, event->id))
		return;
	if (due->nr == HV_STACKS_DUE_MAX)
		memmove(due->list, due->list + 1, --due->nr * sizeof(due->list[0]));
	due->list[due->nr].pid = event->pid;
	due->list[due->nr++].nr = in->nr_stacks;
}

void hv_event_stacks_lose(struct hv_instance *in, unsigned cpu)
{
	in->stacks_due[cpu].nr = 0;
}

/* Those of other tasks have not got theirs, and will not any more. */
unsigned hv_event_stacks_take(struct hv_instance *in, const struct hv_event *stack)
{
	struct hv_stacks_due *due = &in->stacks_due[stack->cpu];

	while (due->nr && due->list[due->nr - 1].pid != stack->pid)
		due->nr--;
	return due->nr ? due->list[--due->nr].nr : 0;
}
