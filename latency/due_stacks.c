/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "latency/due_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/guard.h"

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
