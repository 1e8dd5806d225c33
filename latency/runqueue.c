/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Run-queue latency: from when a task is woken, or loses the vCPU while it could go on, until it
 * runs, and who ran meanwhile. */
#include "latency/finders.h"

static void add(struct hv_finders *f, const struct hv_sched_task *task, unsigned cpu,
		uint64_t now_ns)
{
	struct hv_stall stall = {
		.kind = HV_STALL_RUNQUEUE,
		.cpu = cpu,
		.from_ns = task->since_ns,
		.to_ns = now_ns,
		.task = hv_stall_task(task->pid, task->comm),
		.by_prio = -1,
		.number = task->limit,
		.stack = task->left_stack,
	};
	struct hv_slice most;

	if (now_ns < task->since_ns + f->threshold_ns)
		return;
	if (hv_sched_ran_most(&f->tasks, cpu, task->pid, stall.from_ns, now_ns, &most,
			      &stall.by_ns)) {
		stall.by = most.task;
		stall.by_prio = most.prio;
	}
	if (task->limited_by) {
		stall.kind = HV_STALL_LIMIT;
		stall.flags = task->limited_by;
		stall.number = 0;
	}
	hv_finders_add(f, &stall);
}

void hv_runqueue_see(struct hv_finders *f, const struct hv_moment *m)
{
	const struct hv_sched_task *task;

	if (m->kind != HV_MOMENT_SWITCH || !m->other)
		return;
	task = hv_sched_find(&f->tasks, m->other);
	if (task && task->state == HV_TASK_RUNNABLE)
		add(f, task, m->cpu, m->time_ns);
}

void hv_runqueue_end(struct hv_finders *f, uint64_t now_ns)
{
	for (size_t i = 0; i < HV_TASKS_MAX; i++) {
		const struct hv_sched_task *task = &f->tasks.list[i];

		if (task->is_used && task->state == HV_TASK_RUNNABLE)
			add(f, task, task->cpu, now_ns);
	}
}
