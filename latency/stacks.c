/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "latency/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/guard.h"

/* -- stacks of events -------------------------------------------------------------------------- */

void hv_due_stacks_init(struct hv_due_stacks *d, unsigned nr_cpus)
{
	*d = (struct hv_due_stacks){.nr_cpus = nr_cpus};
	d->cpus = hv_alloc((nr_cpus + 1) * sizeof(*d->cpus));
}

void hv_due_stacks_deinit(struct hv_due_stacks *d)
{
	free(d->cpus);
}

/* Must match the triggers in hv_wanted_events. */
bool hv_moment_has_stack(const struct hv_moment *m)
{
	switch (m->kind) {
	case HV_MOMENT_SWITCH:
		return m->pid && (m->state == HV_LEFT_UNINTERRUPTIBLE ||
				  m->state == HV_LEFT_RUNNABLE || m->state >= HV_LEFT_PREEMPTED);
	case HV_MOMENT_LOCK:
	case HV_MOMENT_RECLAIM:
	case HV_MOMENT_COMPACT:
		return true;
	case HV_MOMENT_TICK:
		return m->pid;
	default:
		return false;
	}
}

void hv_due_stacks_see(struct hv_due_stacks *d, const struct hv_moment *m)
{
	struct hv_due_cpu *c = m->cpu < d->nr_cpus ? &d->cpus[m->cpu] : NULL;

	if (!c || !(d->kinds & UINT32_C(1) << m->kind) || !hv_moment_has_stack(m))
		return;
	if (c->nr == HV_DUE_STACKS_MAX)
		memmove(c->list, c->list + 1, --c->nr * sizeof(c->list[0]));
	c->list[c->nr++] = *m;
}

/* Events of other tasks that are still pending lost their stacks: drop them. */
const struct hv_moment *hv_due_stacks_take(struct hv_due_stacks *d, unsigned cpu, uint32_t pid,
					   uint64_t time_ns)
{
	struct hv_due_cpu *c = cpu < d->nr_cpus ? &d->cpus[cpu] : NULL;

	while (c && c->nr && c->list[c->nr - 1].pid != pid)
		c->nr--;
	if (!c || !c->nr)
		return NULL;
	c->nr--;
	return time_ns - c->list[c->nr].time_ns <= HV_DUE_STACK_NS ? &c->list[c->nr] : NULL;
}

void hv_due_stacks_lose(struct hv_due_stacks *d, unsigned cpu)
{
	if (cpu < d->nr_cpus)
		d->cpus[cpu].nr = 0;
}

/* -- samples ----------------------------------------------------------------------------------- */

#define FUNCTIONS_MAX 64 /* distinct functions per stall */

void hv_ticks_init(struct hv_ticks *t, unsigned nr_cpus)
{
	*t = (struct hv_ticks){.nr_cpus = nr_cpus};
	t->cpus = hv_alloc((nr_cpus + 1) * sizeof(*t->cpus));
}

void hv_ticks_deinit(struct hv_ticks *t)
{
	for (unsigned i = 0; i < t->nr_cpus; i++)
		free(t->cpus[i].list);
	free(t->cpus);
}

void hv_ticks_add(struct hv_ticks *t, unsigned cpu, const struct hv_tick *tick)
{
	struct hv_tick_cpu *c = cpu < t->nr_cpus ? &t->cpus[cpu] : NULL;

	if (!c || !tick->stack.callers[0])
		return;
	if (!c->list)
		c->list = hv_realloc_array(NULL, HV_TICKS_MAX, sizeof(*c->list));
	if (c->nr == HV_TICKS_MAX) {
		c->first = (c->first + 1) % HV_TICKS_MAX;
		c->nr--;
	}
	c->list[(c->first + c->nr++) % HV_TICKS_MAX] = *tick;
}

struct counts {
	struct {
		uint64_t function;
		unsigned nr;
		const struct hv_tick *last;
	} list[FUNCTIONS_MAX];
	unsigned nr, nr_samples;
};

/* Call it with the newest sample first. */
static void count(const struct hv_ticks *t, struct counts *c, const struct hv_tick *tick)
{
	uint64_t address = tick->stack.callers[0];
	uint64_t function = t->function_of ? t->function_of(t->data, address) : address;
	unsigned i = 0;

	c->nr_samples++;
	while (i < c->nr && c->list[i].function != function)
		i++;
	if (i == FUNCTIONS_MAX)
		return;
	if (i == c->nr) {
		c->list[i].function = function;
		c->list[i].nr = 0;
		c->list[i].last = tick;
		c->nr++;
	}
	c->list[i].nr++;
}

static void count_cpu(const struct hv_ticks *t, struct counts *c, unsigned cpu,
		      const struct hv_stall *s)
{
	const struct hv_tick_cpu *there = cpu < t->nr_cpus ? &t->cpus[cpu] : NULL;

	for (unsigned i = there ? there->nr : 0; i-- > 0;) {
		const struct hv_tick *tick = &there->list[(there->first + i) % HV_TICKS_MAX];

		if (tick->time_ns < s->from_ns)
			return;
		if (tick->time_ns <= s->to_ns && tick->pid == s->task.pid)
			count(t, c, tick);
	}
}

static bool was_counted(const struct hv_stall *s, unsigned piece)
{
	for (unsigned i = 0; i < piece; i++)
		if (s->pieces[i].cpu == s->pieces[piece].cpu)
			return true;
	return s->pieces[piece].cpu == s->cpu;
}

void hv_ticks_choose(const struct hv_ticks *t, struct hv_stall *s)
{
	struct counts c = {.nr = 0};
	unsigned most = 0;

	count_cpu(t, &c, s->cpu, s);
	for (unsigned i = 0; i < s->nr_pieces; i++)
		if (!was_counted(s, i))
			count_cpu(t, &c, s->pieces[i].cpu, s);
	if (!c.nr)
		return;
	for (unsigned i = 1; i < c.nr; i++)
		if (c.list[i].nr > c.list[most].nr)
			most = i;
	s->nr_samples = c.nr_samples;
	s->nr_most = c.list[most].nr;
	s->most = c.list[most].last->stack.callers[0];
	s->most_caller = c.list[most].last->stack.callers[1];
	if (s->kind == HV_STALL_SYSCALL)
		s->stack = c.list[most].last->stack;
}
