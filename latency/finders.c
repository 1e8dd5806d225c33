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
}

void hv_finders_deinit(struct hv_finders *f)
{
	hv_sched_deinit(&f->tasks);
	free(f->irqs);
	free(f->softirqs);
	free(f->requests);
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
	hv_stalls_add(f->stalls, stall);
}

void hv_finders_see(struct hv_finders *f, const struct hv_moment *m)
{
	if (m->cpu >= f->tasks.nr_cpus)
		return;
	if (m->kind == HV_MOMENT_SWITCH)
		f->sees_switches = true;
	if (f->sees_switches) {
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
	if (cpu < f->tasks.nr_cpus)
		f->irqs[cpu].from_ns = f->softirqs[cpu].from_ns = 0;
	memset(f->requests, 0, HV_IO_REQUESTS_MAX * sizeof(*f->requests));
}

void hv_finders_end(struct hv_finders *f, uint64_t now_ns)
{
	if (f->sees_switches) {
		hv_runqueue_end(f, now_ns);
		hv_blocked_end(f, now_ns);
	}
	hv_waits_end(f, now_ns);
	hv_block_io_end(f, now_ns);
}
