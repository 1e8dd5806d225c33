/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "latency/sched.h"

#include <stdlib.h>
#include <string.h>

#include "base/guard.h"

/* -- limits of cgroups ------------------------------------------------------------------------- */

#define PERIODS_MAX 2

static struct hv_limit_group *find_group(struct hv_limits *l, uint64_t key)
{
	for (size_t i = 0; i < l->nr_groups; i++)
		if (l->groups[i].key == key)
			return &l->groups[i];
	return NULL;
}

void hv_limits_set_group(struct hv_limits *l, const struct hv_limit_group *group)
{
	struct hv_limit_group *g = find_group(l, group->key);

	if (!g && l->nr_groups < HV_LIMIT_GROUPS_MAX)
		g = &l->groups[l->nr_groups++];
	if (g)
		*g = *group;
}

const struct hv_limit_group *hv_limits_group(const struct hv_limits *l, uint64_t key)
{
	for (size_t i = 0; i < l->nr_groups; i++)
		if (l->groups[i].key == key)
			return &l->groups[i];
	return NULL;
}

static struct hv_limit_throttled *find_throttled(struct hv_limits *l, uint64_t key, unsigned cpu)
{
	for (size_t i = 0; i < l->nr_throttled; i++)
		if (l->throttled[i].key == key && l->throttled[i].cpu == cpu)
			return &l->throttled[i];
	return NULL;
}

void hv_limits_throttle(struct hv_limits *l, const struct hv_moment *m)
{
	struct hv_limit_throttled *t = find_throttled(l, m->number, m->other_cpu);

	if (!t && l->nr_throttled < HV_LIMIT_THROTTLED_MAX)
		t = &l->throttled[l->nr_throttled++];
	if (!t)
		return;
	*t = (struct hv_limit_throttled){
		.key = m->number,
		.cpu = m->other_cpu,
		.from_ns = m->time_ns,
	};
	if (m->address)
		t->task = hv_stall_task(m->pid, m->comm);
}

static struct hv_stall stall_of(const struct hv_limit_throttled *t, uint64_t to_ns)
{
	return (struct hv_stall){
		.kind = HV_STALL_LIMIT,
		.cpu = t->cpu,
		.from_ns = t->from_ns,
		.to_ns = to_ns,
		.number = t->key,
		.task = t->task,
	};
}

bool hv_limits_unthrottle(struct hv_limits *l, const struct hv_moment *m, struct hv_stall *ret)
{
	struct hv_limit_throttled *t = find_throttled(l, m->number, m->other_cpu);

	if (!t && l->nr_throttled < HV_LIMIT_THROTTLED_MAX) {
		*ret = stall_of(&(struct hv_limit_throttled){.key = m->number,
							     .cpu = m->other_cpu,
							     .from_ns = l->since_ns},
				m->time_ns);
		return true;
	}
	if (!t)
		return false;
	*ret = stall_of(t, m->time_ns);
	*t = l->throttled[--l->nr_throttled];
	return true;
}

bool hv_limits_open(const struct hv_limits *l, size_t i, uint64_t now_ns, struct hv_stall *ret)
{
	const struct hv_limit_throttled *t = &l->throttled[i];
	const struct hv_limit_group *g = hv_limits_group(l, t->key);

	if (!g || now_ns < t->from_ns || now_ns - t->from_ns > PERIODS_MAX * g->period_ns)
		return false;
	*ret = stall_of(t, now_ns);
	return true;
}

void hv_limits_lose(struct hv_limits *l)
{
	l->nr_throttled = 0;
	l->since_ns = 0;
}

/* -- tasks and vCPUs --------------------------------------------------------------------------- */

#define RT_PRIO_END 100
#define LOOKUPS	    8  /* entries searched for a task */
#define RUNNERS	    32 /* distinct tasks per wait */

void hv_sched_init(struct hv_sched *t, unsigned nr_cpus)
{
	*t = (struct hv_sched){.nr_cpus = nr_cpus};
	t->list = hv_alloc(HV_TASKS_MAX * sizeof(*t->list));
	t->cpus = hv_alloc((nr_cpus + 1) * sizeof(*t->cpus));
}

void hv_sched_deinit(struct hv_sched *t)
{
	for (unsigned i = 0; i < t->nr_cpus; i++)
		free(t->cpus[i].slices);
	free(t->cpus);
	free(t->list);
}

static size_t bucket_of(uint32_t pid, unsigned i)
{
	return ((pid * UINT32_C(2654435761)) + i) & (HV_TASKS_MAX - 1);
}

struct hv_sched_task *hv_sched_find(const struct hv_sched *t, uint32_t pid)
{
	for (unsigned i = 0; i < LOOKUPS; i++) {
		struct hv_sched_task *task = &t->list[bucket_of(pid, i)];

		if (task->is_used && task->pid == pid)
			return task;
	}
	return NULL;
}

struct hv_sched_task *hv_sched_get(struct hv_sched *t, uint32_t pid, const char *comm,
				   uint64_t now_ns)
{
	struct hv_sched_task *task = hv_sched_find(t, pid);

	for (unsigned i = 0; !task && i < LOOKUPS; i++)
		if (!t->list[bucket_of(pid, i)].is_used)
			task = &t->list[bucket_of(pid, i)];
	if (!task) {
		task = &t->list[bucket_of(pid, 0)];
		for (unsigned i = 1; i < LOOKUPS; i++)
			if (t->list[bucket_of(pid, i)].seen_ns < task->seen_ns)
				task = &t->list[bucket_of(pid, i)];
		task->is_used = false;
	}
	if (!task->is_used)
		*task = (struct hv_sched_task){.is_used = true, .pid = pid};
	task->seen_ns = now_ns;
	if (comm[0])
		memcpy(task->comm, hv_stall_task(pid, comm).comm, sizeof(task->comm));
	return task;
}

uint64_t hv_sched_on_cpu(const struct hv_sched_task *task, uint64_t now_ns)
{
	if (task->state != HV_TASK_RUNNING || now_ns < task->since_ns)
		return task->on_cpu_ns;
	return task->on_cpu_ns + now_ns - task->since_ns;
}

/* Adds the time slice that ends now to the pieces of TASK's system call. */
static void add_ran(struct hv_sched_task *task, uint64_t now_ns)
{
	uint64_t from_ns = task->since_ns > task->syscall_ns ? task->since_ns : task->syscall_ns;

	if (!task->syscall_ns || task->state != HV_TASK_RUNNING || now_ns <= from_ns)
		return;
	if (task->nr_ran < HV_STALL_PIECES)
		task->ran[task->nr_ran] = (struct hv_stall_piece){task->cpu, from_ns, now_ns};
	if (task->nr_ran <= HV_STALL_PIECES)
		task->nr_ran++;
}

static void set_state(struct hv_sched_task *task, enum hv_task_state state, uint64_t now_ns)
{
	add_ran(task, now_ns);
	task->on_cpu_ns = hv_sched_on_cpu(task, now_ns);
	task->state = state;
	task->since_ns = now_ns;
}

static void end_slice(struct hv_sched_cpu *c, uint64_t now_ns)
{
	if (!c->has_current || now_ns <= c->since_ns)
		return;
	if (!c->slices)
		c->slices = hv_realloc_array(NULL, HV_SLICES_MAX, sizeof(*c->slices));
	if (c->nr == HV_SLICES_MAX) {
		c->first = (c->first + 1) % HV_SLICES_MAX;
		c->nr--;
	}
	c->slices[(c->first + c->nr++) % HV_SLICES_MAX] =
		(struct hv_slice){c->current, c->prio, c->since_ns, now_ns};
}

/* Returns whether a task that leaves the vCPU in STATE is still runnable. */
static bool is_runnable(uint64_t state)
{
	return state == HV_LEFT_RUNNABLE || state >= HV_LEFT_PREEMPTED;
}

/* The scheduler switches from a runnable task to a task of a lower class, or to idle, only if a
 * limit has stopped the runnable task. */
static uint64_t limited_by(const struct hv_moment *m)
{
	if (!is_runnable(m->state) || m->prio >= RT_PRIO_END ||
	    (m->other && m->other_prio < RT_PRIO_END))
		return 0;
	return m->prio < 0 ? HV_LIMIT_DEADLINE : HV_LIMIT_REALTIME;
}

static void follow_switch(struct hv_sched *t, const struct hv_moment *m)
{
	struct hv_sched_cpu *c = &t->cpus[m->cpu];

	if (c->has_current && c->current.pid == m->pid)
		end_slice(c, m->time_ns);
	if (m->pid) {
		struct hv_sched_task *task = hv_sched_get(t, m->pid, m->comm, m->time_ns);

		set_state(task, is_runnable(m->state) ? HV_TASK_RUNNABLE : HV_TASK_SLEEPING,
			  m->time_ns);
		task->left_in = m->state;
		task->limited_by = limited_by(m);
		task->left_stack.callers[0] = 0;
		task->cpu = m->cpu;
	}
	if (m->other) {
		struct hv_sched_task *task = hv_sched_get(t, m->other, m->other_comm, m->time_ns);

		set_state(task, HV_TASK_RUNNING, m->time_ns);
		task->cpu = m->cpu;
	}
	c->current = hv_stall_task(m->other, m->other_comm);
	c->has_current = true;
	c->prio = m->other_prio;
	c->since_ns = m->time_ns;
}

static void follow_waking(struct hv_sched *t, const struct hv_moment *m)
{
	unsigned cpu = m->other_cpu < t->nr_cpus ? m->other_cpu : m->cpu;
	const struct hv_sched_cpu *there = &t->cpus[cpu];
	struct hv_sched_task *task;

	if (!m->other)
		return;
	task = hv_sched_get(t, m->other, m->other_comm, m->time_ns);
	if (task->state == HV_TASK_RUNNING || task->state == HV_TASK_RUNNABLE)
		return; /* woken before it slept, or twice */
	/* A task in an unknown state may still be running on that vCPU. */
	if (task->state == HV_TASK_UNKNOWN &&
	    (!there->has_current || there->current.pid == m->other))
		return;
	set_state(task, HV_TASK_RUNNABLE, m->time_ns);
	task->limited_by = 0;
	task->cpu = cpu;
}

/* A busy vCPU may not switch for seconds. Until then, any of its events shows which task runs, and a
 * later one its name. */
static void follow_running(struct hv_sched_cpu *c, const struct hv_moment *m)
{
	if (c->has_current) {
		if (c->current.pid == m->pid && !c->current.comm[0])
			c->current = hv_stall_task(m->pid, m->comm);
		return;
	}
	c->current = hv_stall_task(m->pid, m->comm);
	c->has_current = true;
	c->prio = -1;
	c->since_ns = m->time_ns;
}

void hv_sched_follow(struct hv_sched *t, const struct hv_moment *m)
{
	if (m->cpu >= t->nr_cpus)
		return;
	follow_running(&t->cpus[m->cpu], m);
	if (m->kind == HV_MOMENT_SWITCH)
		follow_switch(t, m);
	else if (m->kind == HV_MOMENT_WAKING)
		follow_waking(t, m);
}

void hv_sched_lose(struct hv_sched *t, unsigned cpu)
{
	if (cpu < t->nr_cpus)
		t->cpus[cpu].has_current = false;
	for (size_t i = 0; i < HV_TASKS_MAX; i++) {
		struct hv_sched_task *task = &t->list[i];

		task->state = HV_TASK_UNKNOWN;
		task->syscall_ns = task->lock_ns = task->reclaim_ns = 0;
		task->compact_ns = task->fault_ns = 0;
		task->reclaims.nr = task->compacts.nr = task->faults.nr = 0;
		task->is_in_program = false;
	}
}

static const struct hv_slice *slice_at(const struct hv_sched_cpu *c, unsigned i)
{
	return &c->slices[(c->first + i) % HV_SLICES_MAX];
}

struct runner {
	struct hv_slice slice;
	uint64_t ns;
};

static void add_runner(struct runner *runners, unsigned *nr, const struct hv_slice *s,
		       uint64_t from_ns, uint64_t to_ns)
{
	uint64_t from = s->from_ns > from_ns ? s->from_ns : from_ns;
	uint64_t to = s->to_ns < to_ns ? s->to_ns : to_ns;
	unsigned i;

	if (to <= from)
		return;
	for (i = 0; i < *nr && runners[i].slice.task.pid != s->task.pid; i++)
		;
	if (i == RUNNERS)
		return;
	if (i == *nr)
		runners[(*nr)++] = (struct runner){.slice = *s};
	runners[i].ns += to - from;
}

bool hv_sched_ran_most(const struct hv_sched *t, unsigned cpu, uint32_t pid, uint64_t from_ns,
		       uint64_t to_ns, struct hv_slice *ret, uint64_t *ret_ns)
{
	struct runner runners[RUNNERS];
	const struct hv_sched_cpu *c;
	unsigned nr = 0, most = 0;

	if (cpu >= t->nr_cpus)
		return false;
	c = &t->cpus[cpu];
	if (c->has_current && c->current.pid != pid) {
		struct hv_slice now = {c->current, c->prio, c->since_ns, to_ns};

		add_runner(runners, &nr, &now, from_ns, to_ns);
	}
	for (unsigned i = c->nr; i-- > 0;) {
		const struct hv_slice *s = slice_at(c, i);

		if (s->to_ns <= from_ns)
			break;
		if (s->task.pid != pid)
			add_runner(runners, &nr, s, from_ns, to_ns);
	}
	for (unsigned i = 1; i < nr; i++)
		if (runners[i].ns > runners[most].ns)
			most = i;
	if (!nr)
		return false;
	*ret = runners[most].slice;
	*ret_ns = runners[most].ns;
	return true;
}

static void add_before(struct hv_stall_before *list, unsigned *nr, const struct hv_slice *s,
		       uint64_t from_ns)
{
	uint64_t to_ns = s->to_ns < from_ns ? s->to_ns : from_ns;

	if (s->from_ns < to_ns && *nr < HV_STALL_BEFORE)
		list[(*nr)++] = (struct hv_stall_before){s->task, to_ns - s->from_ns};
}

unsigned hv_sched_before(const struct hv_sched *t, unsigned cpu, uint64_t from_ns,
			 struct hv_stall_before *ret)
{
	const struct hv_sched_cpu *c;
	unsigned nr = 0;

	if (cpu >= t->nr_cpus)
		return 0;
	c = &t->cpus[cpu];
	if (c->has_current)
		add_before(ret, &nr, &(struct hv_slice){c->current, c->prio, c->since_ns, from_ns},
			   from_ns);
	for (unsigned i = c->nr; i-- > 0 && nr < HV_STALL_BEFORE;)
		add_before(ret, &nr, slice_at(c, i), from_ns);
	return nr;
}

bool hv_sched_ran_once(const struct hv_sched *t, unsigned cpu, uint32_t pid, uint64_t min_ns,
		       uint64_t end_ns, struct hv_slice *ret)
{
	const struct hv_slice *found = NULL;
	const struct hv_sched_cpu *c;

	if (cpu >= t->nr_cpus)
		return false;
	c = &t->cpus[cpu];
	if (c->has_current && c->current.pid == pid)
		return false;
	for (unsigned i = c->nr; i-- > 0 && slice_at(c, i)->to_ns >= end_ns;) {
		const struct hv_slice *s = slice_at(c, i);

		if (s->task.pid != pid || s->to_ns - s->from_ns < min_ns)
			continue;
		if (found)
			return false;
		found = s;
	}
	if (!found)
		return false;
	*ret = *found;
	return true;
}
