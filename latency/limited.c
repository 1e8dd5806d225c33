/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The times for which a cgroup had used up its limit of CPU time on a vCPU. Whether a task waited
 * because of that is seen in the verdict. */
#include "latency/finders.h"

/* The group's task that ran out of time is in the group, and waits. */
static void note_task(struct hv_finders *f, const struct hv_moment *m)
{
	struct hv_sched_task *task =
		m->pid && m->address ? hv_sched_get(&f->tasks, m->pid, m->comm, m->time_ns) : NULL;

	if (task)
		task->limit = m->number;
}

void hv_limited_see(struct hv_finders *f, const struct hv_moment *m)
{
	struct hv_stall stall;

	if (!f->limits->since_ns)
		f->limits->since_ns = m->time_ns;
	if (m->kind == HV_MOMENT_THROTTLE) {
		hv_limits_throttle(f->limits, m);
		note_task(f, m);
	} else if (m->kind == HV_MOMENT_UNTHROTTLE && hv_limits_unthrottle(f->limits, m, &stall)) {
		hv_finders_add(f, &stall);
	}
}

void hv_limited_end(struct hv_finders *f, uint64_t now_ns)
{
	struct hv_stall stall;

	for (size_t i = 0; i < f->limits->nr_throttled; i++)
		if (hv_limits_open(f->limits, i, now_ns, &stall))
			hv_finders_add(f, &stall);
}
