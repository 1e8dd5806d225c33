/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "latency/vcpu_threads.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/guard.h"

#define SHORT_NS  HV_NS_PER_MS	      /* shorter outages are combined */
#define PIECES_NS (10 * HV_NS_PER_MS) /* into spans of at most this length */

void hv_vcpu_threads_init(struct hv_vcpu_threads *t, unsigned nr_cpus, struct hv_outages *outages,
			  struct hv_stalls *stalls)
{
	*t = (struct hv_vcpu_threads){
		.nr = nr_cpus < HV_EXIT_CPUS_MAX ? nr_cpus : HV_EXIT_CPUS_MAX,
		.outages = outages,
	};
	t->list = hv_alloc((t->nr + 1) * sizeof(*t->list));
	hv_exits_init(&t->exits, t->nr, stalls);
}

void hv_vcpu_threads_deinit(struct hv_vcpu_threads *t)
{
	hv_exits_deinit(&t->exits);
	free(t->list);
}

/* -- outages ----------------------------------------------------------------------------------- */

static void give_pieces(struct hv_vcpu_threads *t, struct hv_vcpu_thread *v)
{
	hv_outages_add(t->outages, (unsigned)(v - t->list), &v->pieces);
	v->pieces = (struct hv_outage){0};
}

/* The threads of the longest outage stand for all of them. */
static void add_piece(struct hv_outage *pieces, const struct hv_outage *o)
{
	if (!pieces->taken_ns)
		*pieces = (struct hv_outage){.from_ns = o->from_ns, .why = o->why};
	if (o->taken_ns > pieces->longest_ns) {
		pieces->longest_ns = o->taken_ns;
		pieces->by = o->by;
		pieces->by_last = o->by_last;
	}
	pieces->taken_ns += o->taken_ns;
	pieces->to_ns = o->to_ns;
}

static void add_outage(struct hv_vcpu_threads *t, struct hv_vcpu_thread *v, struct hv_outage *o)
{
	o->taken_ns = o->longest_ns = o->to_ns - o->from_ns;
	v->exit_waited_ns += o->taken_ns;
	hv_takers_add(&t->takers, &o->by_last, o->taken_ns - o->taken_ns / 2);
	hv_takers_add(&t->takers, &o->by, o->taken_ns / 2);
	o->from_ns += (uint64_t)t->outages->offset_ns;
	o->to_ns += (uint64_t)t->outages->offset_ns;
	if (v->pieces.taken_ns &&
	    (o->taken_ns >= SHORT_NS || o->to_ns > v->pieces.from_ns + PIECES_NS))
		give_pieces(t, v);
	if (o->taken_ns >= SHORT_NS || o->why != HV_OUTAGE_WAITED)
		hv_outages_add(t->outages, (unsigned)(v - t->list), o);
	else if (o->taken_ns)
		add_piece(&v->pieces, o);
}

static void end_state(struct hv_vcpu_threads *t, struct hv_vcpu_thread *v, uint64_t now_ns,
		      const struct hv_stall_task *last)
{
	struct hv_outage o = {.from_ns = v->since_ns, .to_ns = now_ns};

	if (now_ns <= v->since_ns)
		return;
	if (v->state == HV_VCPU_STOPPED) {
		o.why = HV_OUTAGE_STOPPED;
		add_outage(t, v, &o);
		return;
	}
	if (v->state != HV_VCPU_WAITS)
		return;
	o.why = HV_OUTAGE_WAITED;
	o.by = v->was_woken ? *last : v->by;
	o.by_last = last->comm[0] ? *last : v->by;
	add_outage(t, v, &o);
	if (!v->was_woken)
		return;
	t->wakeups.nr++;
	t->wakeups.total_ns += o.taken_ns;
	if (o.taken_ns > t->wakeups.longest_ns)
		t->wakeups.longest_ns = o.taken_ns;
}

static void set_state(struct hv_vcpu_thread *v, enum hv_vcpu_state state, uint64_t now_ns)
{
	v->state = state;
	v->since_ns = now_ns;
	v->was_woken = false;
	v->by = (struct hv_stall_task){0};
}

/* -- events ------------------------------------------------------------------------------------ */

static void see_exit(struct hv_vcpu_thread *v, const struct hv_moment *m)
{
	v->tid = m->pid;
	v->state = HV_VCPU_ON_CPU;
	v->exit_ns = m->time_ns;
	v->exit_key = hv_exit_key(m->state, m->number);
	v->exit_address = m->address;
	v->exit_waited_ns = 0;
}

static void see_entry(struct hv_vcpu_threads *t, struct hv_vcpu_thread *v,
		      const struct hv_moment *m)
{
	uint64_t length_ns = m->time_ns - v->exit_ns;
	struct hv_exit exit = {
		.key = v->exit_key,
		.entry_ns = m->time_ns,
		.length_ns = length_ns > v->exit_waited_ns ? length_ns - v->exit_waited_ns : 0,
		.is_in_kernel = v->exit_address >> 63,
		.task = v->task,
	};

	v->tid = m->pid;
	v->state = HV_VCPU_ON_CPU;
	if (v->exit_ns && m->time_ns >= v->exit_ns)
		hv_exits_add(&t->exits, m->cpu, &exit);
	v->exit_ns = 0;
}

static void leave(struct hv_vcpu_thread *v, const struct hv_moment *m)
{
	if (m->state == HV_LEFT_RUNNABLE || m->state >= HV_LEFT_PREEMPTED) {
		set_state(v, HV_VCPU_WAITS, m->time_ns);
		v->by = hv_stall_task(m->other, m->other_comm);
	} else if (m->state & (HV_LEFT_STOPPED | HV_LEFT_TRACED)) {
		set_state(v, HV_VCPU_STOPPED, m->time_ns);
	} else {
		set_state(v, HV_VCPU_SLEEPS, m->time_ns);
	}
}

/* A switch between two vCPU threads is reported once for each. */
static void see_switch(struct hv_vcpu_threads *t, struct hv_vcpu_thread *v,
		       const struct hv_moment *m)
{
	struct hv_stall_task last = hv_stall_task(m->pid, m->comm);

	if (m->pid == v->tid) {
		leave(v, m);
	} else if (m->other == v->tid) {
		end_state(t, v, m->time_ns, &last);
		set_state(v, HV_VCPU_ON_CPU, m->time_ns);
	}
}

static void see_waking(struct hv_vcpu_threads *t, struct hv_vcpu_thread *v,
		       const struct hv_moment *m)
{
	static const struct hv_stall_task nobody;

	if (m->other != v->tid || (v->state != HV_VCPU_SLEEPS && v->state != HV_VCPU_STOPPED))
		return;
	end_state(t, v, m->time_ns, &nobody);
	set_state(v, HV_VCPU_WAITS, m->time_ns);
	v->was_woken = true;
}

void hv_vcpu_threads_see(struct hv_vcpu_threads *t, const struct hv_moment *m)
{
	struct hv_vcpu_thread *v = m->cpu < t->nr ? &t->list[m->cpu] : NULL;

	if (!v)
		return;
	t->sees_any = true;
	if (m->kind == HV_MOMENT_HOST_EXIT)
		see_exit(v, m);
	else if (m->kind == HV_MOMENT_HOST_ENTRY)
		see_entry(t, v, m);
	else if (m->kind == HV_MOMENT_HOST_SWITCH && v->tid)
		see_switch(t, v, m);
	else if (m->kind == HV_MOMENT_HOST_WAKING && v->tid)
		see_waking(t, v, m);
	if (!v->known_ns && v->state != HV_VCPU_UNKNOWN)
		v->known_ns = m->time_ns;
	hv_exits_pass(&t->exits, m->cpu, m->time_ns);
}

bool hv_vcpu_threads_know(const struct hv_vcpu_threads *t, unsigned cpu, uint64_t from_ns)
{
	return cpu < t->nr && t->list[cpu].known_ns && t->list[cpu].known_ns <= from_ns;
}

void hv_vcpu_threads_see_guest(struct hv_vcpu_threads *t, const struct hv_moment *m)
{
	if (m->cpu >= t->nr)
		return;
	if (m->kind == HV_MOMENT_SWITCH)
		t->list[m->cpu].task = hv_stall_task(m->other, m->other_comm);
	else if (t->list[m->cpu].task.pid != m->pid || !t->list[m->cpu].task.comm[0])
		t->list[m->cpu].task = hv_stall_task(m->pid, m->comm);
}

void hv_vcpu_threads_lose(struct hv_vcpu_threads *t, unsigned cpu, uint64_t now_ns)
{
	if (cpu >= t->nr)
		return;
	set_state(&t->list[cpu], HV_VCPU_UNKNOWN, now_ns);
	t->list[cpu].exit_ns = t->list[cpu].known_ns = 0;
	hv_exits_lose(&t->exits, cpu, now_ns);
}

void hv_vcpu_threads_end(struct hv_vcpu_threads *t, uint64_t now_ns)
{
	for (unsigned i = 0; i < t->nr; i++) {
		struct hv_vcpu_thread *v = &t->list[i];

		end_state(t, v, now_ns, &v->by);
		set_state(v, HV_VCPU_UNKNOWN, now_ns);
		give_pieces(t, v);
	}
	hv_exits_end(&t->exits);
}
