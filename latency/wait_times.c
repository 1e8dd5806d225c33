/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "latency/wait_times.h"

#include "base/clock.h"

#define US UINT64_C(1000)
#define MS (1000 * US)

const uint64_t hv_wait_times_bounds_ns[HV_WAIT_TIMES_BOUNDS] = {
	1 * US, 5 * US,	 10 * US, 50 * US,  100 * US, 500 * US,	   1 * MS,
	5 * MS, 10 * MS, 50 * MS, 100 * MS, 500 * MS, HV_NS_PER_S, 5 * HV_NS_PER_S,
};

static void add(struct hv_wait_times *w, uint64_t wait_ns)
{
	unsigned i = 0;

	while (i < HV_WAIT_TIMES_BOUNDS && wait_ns > hv_wait_times_bounds_ns[i])
		i++;
	w->nr[i]++;
	w->sum_ns += wait_ns;
}

/* A task that seems to be sleeping was woken by another vCPU just before it left its own vCPU, so
 * it has waited since then: a task cannot run again without a wakeup. */
static bool waited(const struct hv_sched_task *task)
{
	return task->state == HV_TASK_RUNNABLE || task->state == HV_TASK_SLEEPING;
}

void hv_wait_times_see(struct hv_wait_times *w, const struct hv_sched *tasks,
		       const struct hv_moment *m)
{
	const struct hv_sched_task *task;

	if (m->kind != HV_MOMENT_SWITCH || !m->other)
		return;
	task = hv_sched_find(tasks, m->other);
	if (task && waited(task) && m->time_ns >= task->since_ns)
		add(w, m->time_ns - task->since_ns);
}
