/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "latency/finders.h"

#include <stdlib.h>
#include <string.h>

#include "base/guard.h"

void hv_finders_init(struct hv_finders *f, unsigned nr_cpus, uint64_t threshold_ns,
		     struct hv_stalls *stalls)
{
	if (nr_cpus > HV_FINDERS_CPUS_MAX)
		nr_cpus = HV_FINDERS_CPUS_MAX;
	*f = (struct hv_finders){.threshold_ns = threshold_ns, .stalls = stalls};
	hv_sched_init(&f->tasks, nr_cpus);
	f->irqs = hv_alloc((nr_cpus + 1) * sizeof(*f->irqs));
	f->softirqs = hv_alloc((nr_cpus + 1) * sizeof(*f->softirqs));
	f->requests = hv_alloc(HV_IO_REQUESTS_MAX * sizeof(*f->requests));
	f->limits = hv_alloc(sizeof(*f->limits));
	hv_ticks_init(&f->ticks, nr_cpus);
}

void hv_finders_deinit(struct hv_finders *f)
{
	hv_sched_deinit(&f->tasks);
	free(f->irqs);
	free(f->softirqs);
	free(f->requests);
	free(f->limits);
	hv_ticks_deinit(&f->ticks);
}

/* What keeps a vCPU busy in the kernel. */
static bool is_sampled(const struct hv_stall *s)
{
	return s->kind == HV_STALL_SYSCALL || s->kind == HV_STALL_SECTION ||
	       s->kind == HV_STALL_SOFTIRQ;
}

void hv_finders_add(struct hv_finders *f, struct hv_stall *stall)
{
	if (!stall->length_ns && stall->to_ns > stall->from_ns)
		stall->length_ns = stall->to_ns - stall->from_ns;
	if (stall->length_ns < f->threshold_ns)
		return;
	if (!stall->nr_before && !stall->slack_ns)
		stall->nr_before =
			hv_sched_before(&f->tasks, stall->cpu, stall->from_ns, stall->before);
	if (!stall->slack_ns && is_sampled(stall))
		hv_ticks_choose(&f->ticks, stall);
	hv_stalls_add(f->stalls, stall);
}

void hv_finders_see(struct hv_finders *f, const struct hv_moment *m)
{
	if (m->cpu >= f->tasks.nr_cpus)
		return;
	if (m->kind == HV_MOMENT_SWITCH)
		f->sees_switches = true;
	if (f->sees_switches) {
		hv_limited_see(f, m);
		hv_runqueue_see(f, m);
		hv_blocked_see(f, m);
	}
	hv_interrupts_see(f, m);
	hv_waits_see(f, m);
	hv_block_io_see(f, m);
	if (f->sees_switches)
		hv_sched_follow(&f->tasks, m);
}

/* A stack that comes when its task does something else already is of no use. */
void hv_finders_stack(struct hv_finders *f, const struct hv_moment *m,
		      const struct hv_stall_stack *stack)
{
	struct hv_sched_task *task = m->pid ? hv_sched_find(&f->tasks, m->pid) : NULL;

	if (m->kind == HV_MOMENT_TICK)
		hv_ticks_add(
			&f->ticks, m->cpu,
			&(struct hv_tick){.time_ns = m->time_ns, .pid = m->pid, .stack = *stack});
	if (!task)
		return;
	if (m->kind == HV_MOMENT_SWITCH && task->state != HV_TASK_RUNNING &&
	    task->since_ns == m->time_ns) {
		task->left_stack = *stack;
		if (task->state == HV_TASK_RUNNABLE && task->syscall_ns)
			task->syscall_stack = *stack;
	} else if (m->kind == HV_MOMENT_LOCK && task->lock_ns == m->time_ns) {
		task->lock_stack = *stack;
	} else if (m->kind == HV_MOMENT_RECLAIM && task->reclaim_ns == m->time_ns) {
		task->search_stack = *stack;
	} else if (m->kind == HV_MOMENT_COMPACT && task->compact_ns == m->time_ns) {
		task->search_stack = *stack;
	}
}

void hv_finders_miss_syscalls(struct hv_finders *f)
{
	f->misses_syscalls = true;
}

void hv_finders_lose(struct hv_finders *f, unsigned cpu)
{
	hv_sched_lose(&f->tasks, cpu);
	hv_limits_lose(f->limits);
	if (cpu < f->tasks.nr_cpus)
		f->irqs[cpu].from_ns = f->softirqs[cpu].from_ns = 0;
	memset(f->requests, 0, HV_IO_REQUESTS_MAX * sizeof(*f->requests));
}

void hv_finders_end(struct hv_finders *f, uint64_t now_ns)
{
	if (f->sees_switches) {
		hv_limited_end(f, now_ns);
		hv_runqueue_end(f, now_ns);
		hv_blocked_end(f, now_ns);
	}
	hv_waits_end(f, now_ns);
	hv_block_io_end(f, now_ns);
}
