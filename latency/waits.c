/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a task waits for inside the kernel, between two events of its own: a lock that others have,
 * memory that it has to look for itself, a large page that must be made by moving others. */
#include "latency/finders.h"

enum wait { WAIT_LOCK, WAIT_RECLAIM, WAIT_COMPACT, NR_WAITS };

static uint64_t *begin_of(struct hv_sched_task *task, enum wait wait)
{
	if (wait == WAIT_LOCK)
		return &task->lock_ns;
	return wait == WAIT_RECLAIM ? &task->reclaim_ns : &task->compact_ns;
}

static void end(struct hv_finders *f, struct hv_sched_task *task, enum wait wait, unsigned cpu,
		uint64_t now_ns)
{
	uint64_t *begin = begin_of(task, wait);

	if (*begin)
		hv_finders_add(
			f, &(struct hv_stall){
				   .kind = wait == WAIT_LOCK ? HV_STALL_LOCK : HV_STALL_RECLAIM,
				   .cpu = cpu,
				   .from_ns = *begin,
				   .to_ns = now_ns,
				   .number = wait == WAIT_LOCK ? task->lock : wait == WAIT_COMPACT,
				   .flags = wait == WAIT_LOCK ? task->lock_flags : 0,
				   .task = hv_stall_task(task->pid, task->comm),
			   });
	*begin = 0;
}

/* A lock that is tried again and again has several begins, of which the first counts. But a task
 * that spins for a mutex first, and then sleeps, says so by another begin (__mutex_lock). */
static void begin(struct hv_finders *f, const struct hv_moment *m, enum wait wait)
{
	struct hv_sched_task *task = hv_sched_get(&f->tasks, m->pid, m->comm, m->time_ns);

	if (wait == WAIT_LOCK) {
		bool goes_on = task->lock_ns && task->lock == m->number;

		task->lock = m->number;
		task->lock_flags = m->state;
		if (goes_on)
			return;
	}
	*begin_of(task, wait) = m->time_ns;
}

void hv_waits_see(struct hv_finders *f, const struct hv_moment *m)
{
	static const struct {
		enum hv_moment_kind begin, end;
	} moments[NR_WAITS] = {
		[WAIT_LOCK] = {HV_MOMENT_LOCK, HV_MOMENT_LOCK_END},
		[WAIT_RECLAIM] = {HV_MOMENT_RECLAIM, HV_MOMENT_RECLAIM_END},
		[WAIT_COMPACT] = {HV_MOMENT_COMPACT, HV_MOMENT_COMPACT_END},
	};
	struct hv_sched_task *task;

	for (enum wait wait = 0; m->pid && wait < NR_WAITS; wait++) {
		if (m->kind == moments[wait].begin)
			begin(f, m, wait);
		if (m->kind != moments[wait].end)
			continue;
		task = hv_sched_find(&f->tasks, m->pid);
		if (task)
			end(f, task, wait, m->cpu, m->time_ns);
	}
}

void hv_waits_end(struct hv_finders *f, uint64_t now_ns)
{
	for (size_t i = 0; i < HV_TASKS_MAX; i++)
		for (enum wait wait = 0; wait < NR_WAITS; wait++)
			if (f->tasks.list[i].is_used)
				end(f, &f->tasks.list[i], wait, f->tasks.list[i].cpu, now_ns);
}
