/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/events/event_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/guard.h"

#include "tracer/events/cursor.h"
#include "tree/instance/events/events.h"

bool hv_instance_wants_stacks(const struct hv_instance *in, struct hv_event_ref ref)
{
	const struct hv_triggers *s = &in->triggers;

	if (hv_options_on(&in->options, HV_OPT_STACKTRACE) && hv_instance_needs_event(in, ref))
		return true;
	for (size_t i = 0; i < s->nr; i++)
		if (s->list[i].trigger.command == HV_TRIGGER_STACKTRACE &&
		    s->list[i].ref.call == ref.call && s->list[i].ref.id == ref.id)
			return true;
	return hv_hists_want_stacks(&in->hists, ref);
}

void hv_kept_events_free(struct hv_kept_event *kept)
{
	while (kept) {
		struct hv_kept_event *next = kept->next;

		free(kept);
		kept = next;
	}
}

/* Forgets what DUE has from the one at FIRST on. */
static void forget_from(struct hv_stacks_due *due, unsigned first)
{
	for (unsigned i = first; i < due->nr; i++)
		hv_kept_events_free(due->list[i].kept);
	if (due->nr > first)
		due->nr = first;
}

void hv_event_stacks_deinit(struct hv_instance *in)
{
	for (unsigned cpu = 0; cpu < in->all->nr_cpus; cpu++)
		forget_from(&in->stacks_due[cpu], 0);
	hv_kept_events_free(in->kept);
	in->kept = NULL;
}

void hv_event_stacks_begin(struct hv_instance *in)
{
	in->nr_stacks = 0;
	hv_kept_events_free(in->kept);
	in->kept = NULL;
}

void hv_event_stacks_keep(struct hv_instance *in, const struct hv_event *event)
{
	struct hv_kept_event **at = &in->kept, *kept;

	kept = hv_alloc(sizeof(*kept) + event->entry.len_bytes);
	kept->event = *event;
	kept->event.callers = NULL;
	kept->event.nr_callers = 0;
	kept->event.results = NULL;
	kept->event.results_len = 0;
	kept->event.text = NULL;
	kept->event.text_len = 0;
	memcpy(kept->entry, event->entry.data, event->entry.len_bytes);
	kept->event.entry.data = kept->entry;
	while (*at)
		at = &(*at)->next;
	*at = kept;
}

void hv_event_stacks_want(struct hv_instance *in)
{
	in->nr_stacks++;
}

/* If there is no room, the oldest has waited too long: its stack was lost. */
void hv_event_stacks_end(struct hv_instance *in, const struct hv_cursor *cursor,
			 const struct hv_event *event)
{
	struct hv_stacks_due *due = &in->stacks_due[event->cpu];

	if (!hv_event_set_has_id(&in->all->stacked, event->id))
		return;
	if (due->nr == HV_STACKS_DUE_MAX) {
		hv_kept_events_free(due->list[0].kept);
		memmove(due->list, due->list + 1, --due->nr * sizeof(due->list[0]));
	}
	due->list[due->nr].pid = event->pid;
	due->list[due->nr].record = hv_cursor_last_record(cursor);
	due->list[due->nr].kept = in->kept;
	due->list[due->nr++].nr = in->nr_stacks;
	in->kept = NULL;
}

void hv_event_stacks_lose(struct hv_instance *in, unsigned cpu)
{
	forget_from(&in->stacks_due[cpu], 0);
}

/* Those of other tasks have not got theirs, and will not any more. */
bool hv_event_stacks_take(struct hv_instance *in, const struct hv_event *stack,
			  struct hv_stack_due *ret)
{
	struct hv_stacks_due *due = &in->stacks_due[stack->cpu];
	unsigned nr = due->nr;

	while (nr && due->list[nr - 1].pid != stack->pid)
		nr--;
	forget_from(due, nr);
	if (!due->nr)
		return false;
	*ret = due->list[--due->nr];
	return true;
}
