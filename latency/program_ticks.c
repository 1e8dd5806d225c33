/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "latency/program_ticks.h"

#include <stdlib.h>

#include "base/guard.h"

void hv_program_ticks_init(struct hv_program_ticks *t, unsigned nr_cpus)
{
	*t = (struct hv_program_ticks){.nr_cpus = nr_cpus};
	t->cpus = hv_alloc((nr_cpus + 1) * sizeof(*t->cpus));
}

void hv_program_ticks_deinit(struct hv_program_ticks *t)
{
	for (unsigned i = 0; i < t->nr_cpus; i++)
		free(t->cpus[i].list);
	free(t->cpus);
}

/* A kernel thread has no program, and its sample no address. */
void hv_program_ticks_add(struct hv_program_ticks *t, const struct hv_moment *m)
{
	struct hv_program_tick_cpu *c = m->cpu < t->nr_cpus ? &t->cpus[m->cpu] : NULL;
	struct hv_program_tick tick = {.time_ns = m->time_ns, .pid = m->pid, .off = m->address};

	if (!c || !m->pid || !m->address)
		return;
	if (t->find && !t->find(t->ctx, m->pid, m->comm, m->address, &tick.file, &tick.off)) {
		tick.file = 0;
		tick.off = m->address;
	}
	if (!c->list)
		c->list = hv_realloc_array(NULL, HV_PROGRAM_TICKS_MAX, sizeof(*c->list));
	if (c->nr == HV_PROGRAM_TICKS_MAX) {
		c->first = (c->first + 1) % HV_PROGRAM_TICKS_MAX;
		c->nr--;
	}
	c->list[(c->first + c->nr++) % HV_PROGRAM_TICKS_MAX] = tick;
}

/* Returns false if S has no room for the place of TICK. */
static bool count(struct hv_stall *s, const struct hv_program_tick *tick)
{
	unsigned i = 0;

	while (i < s->nr_places &&
	       (s->places[i].file != tick->file || s->places[i].off != tick->off))
		i++;
	if (i == HV_STALL_PLACES)
		return false;
	if (i == s->nr_places)
		s->places[s->nr_places++] =
			(struct hv_stall_place){.file = tick->file, .off = tick->off};
	s->places[i].nr++;
	return true;
}

/* Counts the newest samples first. */
static void count_cpu(const struct hv_program_tick_cpu *c, uint32_t pid, struct hv_stall *s)
{
	bool has_room = true;

	for (unsigned i = c->nr; has_room && i-- > 0;) {
		const struct hv_program_tick *tick =
			&c->list[(c->first + i) % HV_PROGRAM_TICKS_MAX];

		if (tick->time_ns < s->from_ns)
			return;
		if (tick->time_ns <= s->to_ns && tick->pid == pid)
			has_room = count(s, tick);
	}
}

void hv_program_ticks_choose(const struct hv_program_ticks *t, struct hv_stall *s)
{
	const struct hv_stall_task *task = hv_stall_program(s);

	s->nr_places = 0;
	if (!task || !task->pid || s->cpu >= t->nr_cpus)
		return;
	count_cpu(&t->cpus[s->cpu], task->pid, s);
	/* A series of searches for memory is not bound to a vCPU. */
	for (unsigned cpu = 0; s->kind == HV_STALL_RECLAIM && cpu < t->nr_cpus; cpu++)
		if (cpu != s->cpu)
			count_cpu(&t->cpus[cpu], task->pid, s);
}
