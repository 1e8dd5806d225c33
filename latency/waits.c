/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a task waits for inside the kernel, between two events of its own: a lock that others have,
 * memory that it has to look for itself, a large page that must be made by moving others, memory
 * that a page fault reads from swap or a file.
 *
 * The kernel's events of page faults cannot be had. But a program that is in no system call, and
 * sleeps so that no signal wakes it, is in a page fault: the kernel does nothing else for it then.
 *
 * A task that needs more memory than there is looks for it again and again, for some pages each
 * time, and nothing but their number makes that long. So such waits are told as one *series*, as
 * long as they take a fifth of the task's time. */
#include "latency/finders.h"

#include <string.h>

#include "base/clock.h"

#define SERIES_PART 5		      /* one part of so many of the time */
#define LONG_NS	    (5 * HV_NS_PER_S) /* who waits for a stall does not wait for its end */

#define WORKER "kworker/" /* begins the names of the kernel's workers */

enum wait { WAIT_LOCK, WAIT_RECLAIM, WAIT_COMPACT, WAIT_FAULT, NR_WAITS };

static uint64_t *begin_of(struct hv_sched_task *task, enum wait wait)
{
	if (wait == WAIT_LOCK)
		return &task->lock_ns;
	if (wait == WAIT_FAULT)
		return &task->fault_ns;
	return wait == WAIT_RECLAIM ? &task->reclaim_ns : &task->compact_ns;
}

static struct hv_series *series_of(struct hv_sched_task *task, enum wait wait)
{
	if (wait == WAIT_FAULT)
		return &task->faults;
	return wait == WAIT_RECLAIM ? &task->reclaims : &task->compacts;
}

static void add_lock(struct hv_finders *f, const struct hv_sched_task *task, unsigned cpu,
		     uint64_t now_ns)
{
	hv_finders_add(f, &(struct hv_stall){
				  .kind = HV_STALL_LOCK,
				  .cpu = cpu,
				  .from_ns = task->lock_ns,
				  .to_ns = now_ns,
				  .number = task->lock,
				  .flags = task->lock_flags,
				  .task = hv_stall_task(task->pid, task->comm),
				  .stack = task->lock_stack,
			  });
}

static uint64_t flags_of(const struct hv_finders *f, const struct hv_sched_task *task,
			 const struct hv_series *s)
{
	uint64_t flags = f->searched_ns >= s->from_ns ? HV_SERIES_PRESSED : 0;

	if (strncmp(task->comm, WORKER, strlen(WORKER)) == 0)
		flags |= HV_SERIES_WORKERS;
	return flags;
}

/* Adds the series of TASK, which ends with that. */
static void add_series(struct hv_finders *f, struct hv_sched_task *task, enum wait wait)
{
	struct hv_series *s = series_of(task, wait);

	if (s->nr)
		hv_finders_add(
			f, &(struct hv_stall){
				   .kind = wait == WAIT_FAULT ? HV_STALL_FAULTS : HV_STALL_RECLAIM,
				   .cpu = task->cpu,
				   .from_ns = s->from_ns,
				   .to_ns = s->to_ns,
				   .length_ns = s->taken_ns,
				   .longest_ns = s->longest_ns,
				   .nr = s->nr,
				   .number = wait == WAIT_COMPACT,
				   .flags = flags_of(f, task, s),
				   .task = hv_stall_task(task->pid, task->comm),
				   .stack = s->stack,
			   });
	*s = (struct hv_series){0};
}

static bool goes_on(const struct hv_series *s, uint64_t now_ns)
{
	return s->nr && now_ns - s->from_ns <= SERIES_PART * s->taken_ns;
}

static void end_wait(struct hv_finders *f, struct hv_sched_task *task, enum wait wait, unsigned cpu,
		     uint64_t now_ns)
{
	uint64_t *begin = begin_of(task, wait);
	struct hv_series *s = series_of(task, wait);
	uint64_t ns = now_ns - *begin, on_cpu = hv_sched_on_cpu(task, now_ns);

	if (*begin && wait == WAIT_LOCK) {
		add_lock(f, task, cpu, now_ns);
	} else if (*begin && now_ns >= *begin) {
		if (!s->nr++)
			s->from_ns = *begin;
		s->to_ns = now_ns;
		s->taken_ns += ns;
		if (wait != WAIT_FAULT)
			f->searched_ns = now_ns;
		if (wait != WAIT_FAULT && on_cpu > task->search_on_cpu_ns)
			task->searching_on_cpu_ns += on_cpu - task->search_on_cpu_ns;
		if (ns > s->longest_ns) {
			s->longest_ns = ns;
			s->stack = wait == WAIT_FAULT ? task->left_stack : task->search_stack;
		}
	}
	*begin = 0;
}

/* A lock that is tried again and again has several begins, of which the first counts. But a task
 * that spins for a mutex first, and then sleeps, says so by another begin (__mutex_lock). */
static void begin(struct hv_finders *f, const struct hv_moment *m, enum wait wait)
{
	struct hv_sched_task *task = hv_sched_get(&f->tasks, m->pid, m->comm, m->time_ns);

	if (wait == WAIT_LOCK) {
		bool is_same = task->lock_ns && task->lock == m->number;

		task->lock = m->number;
		task->lock_flags = m->state;
		if (is_same)
			return;
	} else if (!goes_on(series_of(task, wait), m->time_ns)) {
		add_series(f, task, wait);
	}
	*begin_of(task, wait) = m->time_ns;
	if (wait != WAIT_FAULT)
		(wait == WAIT_LOCK ? &task->lock_stack : &task->search_stack)->callers[0] = 0;
	task->search_on_cpu_ns = hv_sched_on_cpu(task, m->time_ns);
}

/* A task leaves its vCPU: a series that does not go on, or whose task ends, is over. */
static void leave(struct hv_finders *f, const struct hv_moment *m)
{
	struct hv_sched_task *task = hv_sched_find(&f->tasks, m->pid);

	for (enum wait wait = WAIT_RECLAIM; task && wait < NR_WAITS; wait++)
		if (!*begin_of(task, wait) &&
		    ((m->state & HV_LEFT_ENDED) || !goes_on(series_of(task, wait), m->time_ns)))
			add_series(f, task, wait);
}

/* A task sleeps that a signal does not wake. */
static bool is_in_fault(const struct hv_finders *f, const struct hv_moment *m)
{
	const struct hv_sched_task *task = hv_sched_find(&f->tasks, m->pid);

	return task && task->is_in_program && !f->misses_syscalls &&
	       m->state == HV_LEFT_UNINTERRUPTIBLE && !task->lock_ns && !task->reclaim_ns &&
	       !task->compact_ns;
}

static bool is_long(const struct hv_finders *f, const struct hv_series *s, uint64_t now_ns)
{
	return s->nr && s->taken_ns >= f->threshold_ns && now_ns - s->from_ns >= LONG_NS;
}

bool hv_waits_have_long_series(const struct hv_finders *f, uint64_t now_ns)
{
	for (size_t i = 0; i < HV_TASKS_MAX; i++) {
		const struct hv_sched_task *task = &f->tasks.list[i];

		if (task->is_used &&
		    (is_long(f, &task->reclaims, now_ns) || is_long(f, &task->compacts, now_ns) ||
		     is_long(f, &task->faults, now_ns)))
			return true;
	}
	return false;
}

void hv_waits_see(struct hv_finders *f, const struct hv_moment *m)
{
	static const struct {
		enum hv_moment_kind begin, end;
	} moments[WAIT_FAULT] = {
		[WAIT_LOCK] = {HV_MOMENT_LOCK, HV_MOMENT_LOCK_END},
		[WAIT_RECLAIM] = {HV_MOMENT_RECLAIM, HV_MOMENT_RECLAIM_END},
		[WAIT_COMPACT] = {HV_MOMENT_COMPACT, HV_MOMENT_COMPACT_END},
	};
	struct hv_sched_task *task;

	if (m->kind == HV_MOMENT_SWITCH) {
		leave(f, m);
		if (is_in_fault(f, m))
			begin(f, m, WAIT_FAULT);
	} else if (m->kind == HV_MOMENT_WAKING) {
		task = hv_sched_find(&f->tasks, m->other);
		if (task)
			end_wait(f, task, WAIT_FAULT, m->cpu, m->time_ns);
	}
	for (enum wait wait = 0; m->pid && wait < WAIT_FAULT; wait++) {
		if (m->kind == moments[wait].begin)
			begin(f, m, wait);
		if (m->kind != moments[wait].end)
			continue;
		task = hv_sched_find(&f->tasks, m->pid);
		if (task)
			end_wait(f, task, wait, m->cpu, m->time_ns);
	}
}

void hv_waits_end(struct hv_finders *f, uint64_t now_ns)
{
	for (size_t i = 0; i < HV_TASKS_MAX; i++) {
		struct hv_sched_task *task = &f->tasks.list[i];

		for (enum wait wait = 0; task->is_used && wait < NR_WAITS; wait++) {
			end_wait(f, task, wait, task->cpu, now_ns);
			if (wait != WAIT_LOCK)
				add_series(f, task, wait);
		}
	}
}
