/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/events/event_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/guard.h"

#include "tracer/events/cursor.h"
#include "tree/instance/core/instance.h"

/* Exceeds the possible nesting of interrupts and NMIs. */
#define DUE_MAX 8

/* The events of one vCPU that wait for their stacks, oldest first. */
struct stacks_due {
	struct hv_stack_due list[DUE_MAX];
	unsigned nr;
};

struct hv_event_stacks {
	unsigned nr_wanted;	     /* number of stacks wanted for the current event */
	struct hv_kept_event *kept;  /* owned; the current event, if it waits for its stack */
	struct hv_kept_event *after; /* owned; as in struct hv_stack_due, of the current event */
	struct stacks_due *due;	     /* owned, one per vCPU */
};

static struct hv_event_stacks *state_of(const struct hv_instance *in)
{
	return hv_instance_state(in, HV_PART_EVENT_STACKS);
}

/* The events that the guest records with stacks. */
static struct hv_event_set *recorded_of(const struct hv_instances *all)
{
	return hv_instances_state(all, HV_PART_EVENT_STACKS);
}

void hv_kept_events_free(struct hv_kept_event *kept)
{
	while (kept) {
		struct hv_kept_event *next = kept->next;

		free(kept);
		kept = next;
	}
}

/* Drops the entries of DUE from FIRST on. */
static void forget_from(struct stacks_due *due, unsigned first)
{
	for (unsigned i = first; i < due->nr; i++) {
		hv_kept_events_free(due->list[i].kept);
		hv_kept_events_free(due->list[i].after);
	}
	if (due->nr > first)
		due->nr = first;
}

static void init(struct hv_instance *in)
{
	struct hv_event_stacks *s = state_of(in);

	s->due = hv_alloc(hv_instances_nr_cpus(hv_instance_all(in)) * sizeof(*s->due));
}

static void deinit(struct hv_instance *in)
{
	struct hv_event_stacks *s = state_of(in);

	for (unsigned cpu = 0; cpu < hv_instances_nr_cpus(hv_instance_all(in)); cpu++)
		forget_from(&s->due[cpu], 0);
	hv_kept_events_free(s->kept);
	hv_kept_events_free(s->after);
	free(s->due);
}

static void deinit_all(struct hv_instances *all)
{
	hv_event_set_deinit(recorded_of(all));
}

void hv_event_stacks_set_recorded(struct hv_instances *all, struct hv_event_set recorded)
{
	struct hv_event_set *s = recorded_of(all);

	hv_event_set_deinit(s);
	*s = recorded;
}

void hv_event_stacks_begin(struct hv_instance *in)
{
	struct hv_event_stacks *s = state_of(in);

	s->nr_wanted = 0;
	hv_kept_events_free(s->kept);
	hv_kept_events_free(s->after);
	s->kept = s->after = NULL;
}

unsigned hv_event_stacks_nr_wanted(const struct hv_instance *in)
{
	return state_of(in)->nr_wanted;
}

void hv_event_stacks_restore(struct hv_instance *in, unsigned nr_wanted)
{
	state_of(in)->nr_wanted = nr_wanted;
}

/* Appends a copy of EVENT to the list at AT. */
static void keep(struct hv_kept_event **at, const struct hv_event *event)
{
	struct hv_kept_event *kept;

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

void hv_event_stacks_keep(struct hv_instance *in, const struct hv_event *event)
{
	keep(&state_of(in)->kept, event);
}

void hv_event_stacks_put_after(struct hv_instance *in, const struct hv_event *event)
{
	keep(&state_of(in)->after, event);
}

bool hv_event_stacks_are_recorded(const struct hv_instance *in, uint16_t id)
{
	return hv_event_set_has_id(recorded_of(hv_instance_all(in)), id);
}

void hv_event_stacks_want(struct hv_instance *in)
{
	state_of(in)->nr_wanted++;
}

/* If there is no room, the oldest event's stack must have been lost. */
void hv_event_stacks_end(struct hv_instance *in, const struct hv_cursor *cursor,
			 const struct hv_event *event)
{
	struct hv_event_stacks *s = state_of(in);
	struct stacks_due *due = &s->due[event->cpu];

	if (!hv_event_stacks_are_recorded(in, event->id))
		return;
	if (due->nr == DUE_MAX) {
		hv_kept_events_free(due->list[0].kept);
		hv_kept_events_free(due->list[0].after);
		memmove(due->list, due->list + 1, --due->nr * sizeof(due->list[0]));
	}
	due->list[due->nr].pid = event->pid;
	due->list[due->nr].record = hv_cursor_last_record(cursor);
	due->list[due->nr].kept = s->kept;
	due->list[due->nr].after = s->after;
	due->list[due->nr++].nr = s->nr_wanted;
	s->kept = s->after = NULL;
}

/* Missing stacks may be among the lost records. */
static void lose(struct hv_instance *in, const struct hv_event *event)
{
	forget_from(&state_of(in)->due[event->cpu], 0);
}

/* Newer events of other tasks have lost their stacks and are dropped. */
bool hv_event_stacks_take(struct hv_instance *in, const struct hv_event *stack,
			  struct hv_stack_due *ret)
{
	struct stacks_due *due = &state_of(in)->due[stack->cpu];
	unsigned nr = due->nr;

	while (nr && due->list[nr - 1].pid != stack->pid)
		nr--;
	forget_from(due, nr);
	if (!due->nr)
		return false;
	*ret = due->list[--due->nr];
	return true;
}

const struct hv_part hv_event_stacks_part = {
	.state_bytes = sizeof(struct hv_event_stacks),
	.all_bytes = sizeof(struct hv_event_set),
	.deinit_all = deinit_all,
	.init = init,
	.deinit = deinit,
	.lose = lose,
};
