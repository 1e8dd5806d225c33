/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "latency/finders.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/guard.h"
#include "base/prefix.h"

/* -- stacks of events -------------------------------------------------------------------------- */

void hv_due_stacks_init(struct hv_due_stacks *d, unsigned nr_cpus)
{
	*d = (struct hv_due_stacks){.nr_cpus = nr_cpus};
	d->cpus = hv_alloc((nr_cpus + 1) * sizeof(*d->cpus));
}

void hv_due_stacks_deinit(struct hv_due_stacks *d)
{
	free(d->cpus);
}

/* Returns whether the guest records a stack with an event like M. Must match the triggers in
 * hv_wanted_events. */
static bool moment_has_stack(const struct hv_moment *m)
{
	switch (m->kind) {
	case HV_MOMENT_SWITCH:
		return m->pid && (m->state == HV_LEFT_UNINTERRUPTIBLE ||
				  m->state == HV_LEFT_RUNNABLE || m->state >= HV_LEFT_PREEMPTED);
	case HV_MOMENT_LOCK:
	case HV_MOMENT_RECLAIM:
	case HV_MOMENT_COMPACT:
		return true;
	case HV_MOMENT_TICK:
		return m->pid;
	default:
		return false;
	}
}

void hv_due_stacks_see(struct hv_due_stacks *d, const struct hv_moment *m)
{
	struct hv_due_cpu *c = m->cpu < d->nr_cpus ? &d->cpus[m->cpu] : NULL;

	if (!c || !(d->kinds & UINT32_C(1) << m->kind) || !moment_has_stack(m))
		return;
	if (c->nr == HV_DUE_STACKS_MAX)
		memmove(c->list, c->list + 1, --c->nr * sizeof(c->list[0]));
	c->list[c->nr++] = *m;
}

/* Events of other tasks that are still pending lost their stacks: drop them. */
const struct hv_moment *hv_due_stacks_take(struct hv_due_stacks *d, unsigned cpu, uint32_t pid,
					   uint64_t time_ns)
{
	struct hv_due_cpu *c = cpu < d->nr_cpus ? &d->cpus[cpu] : NULL;

	while (c && c->nr && c->list[c->nr - 1].pid != pid)
		c->nr--;
	if (!c || !c->nr)
		return NULL;
	c->nr--;
	return time_ns - c->list[c->nr].time_ns <= HV_DUE_STACK_NS ? &c->list[c->nr] : NULL;
}

void hv_due_stacks_lose(struct hv_due_stacks *d, unsigned cpu)
{
	if (cpu < d->nr_cpus)
		d->cpus[cpu].nr = 0;
}

/* -- samples ----------------------------------------------------------------------------------- */

#define FUNCTIONS_MAX 64 /* distinct functions per stall */

static void ticks_init(struct hv_ticks *t, unsigned nr_cpus)
{
	*t = (struct hv_ticks){.nr_cpus = nr_cpus};
	t->cpus = hv_alloc((nr_cpus + 1) * sizeof(*t->cpus));
}

static void ticks_deinit(struct hv_ticks *t)
{
	for (unsigned i = 0; i < t->nr_cpus; i++)
		free(t->cpus[i].list);
	free(t->cpus);
}

static void ticks_add(struct hv_ticks *t, unsigned cpu, const struct hv_tick *tick)
{
	struct hv_tick_cpu *c = cpu < t->nr_cpus ? &t->cpus[cpu] : NULL;

	if (!c || !tick->stack.callers[0])
		return;
	if (!c->list)
		c->list = hv_realloc_array(NULL, HV_TICKS_MAX, sizeof(*c->list));
	if (c->nr == HV_TICKS_MAX) {
		c->first = (c->first + 1) % HV_TICKS_MAX;
		c->nr--;
	}
	c->list[(c->first + c->nr++) % HV_TICKS_MAX] = *tick;
}

struct counts {
	struct {
		uint64_t function;
		unsigned nr;
		const struct hv_tick *last;
	} list[FUNCTIONS_MAX];
	unsigned nr, nr_samples;
};

/* Call it with the newest sample first. */
static void count(const struct hv_ticks *t, struct counts *c, const struct hv_tick *tick)
{
	uint64_t address = tick->stack.callers[0];
	uint64_t function = t->function_of ? t->function_of(t->data, address) : address;
	unsigned i = 0;

	c->nr_samples++;
	while (i < c->nr && c->list[i].function != function)
		i++;
	if (i == FUNCTIONS_MAX)
		return;
	if (i == c->nr) {
		c->list[i].function = function;
		c->list[i].nr = 0;
		c->list[i].last = tick;
		c->nr++;
	}
	c->list[i].nr++;
}

static void count_cpu(const struct hv_ticks *t, struct counts *c, unsigned cpu,
		      const struct hv_stall *s)
{
	const struct hv_tick_cpu *there = cpu < t->nr_cpus ? &t->cpus[cpu] : NULL;

	for (unsigned i = there ? there->nr : 0; i-- > 0;) {
		const struct hv_tick *tick = &there->list[(there->first + i) % HV_TICKS_MAX];

		if (tick->time_ns < s->from_ns)
			return;
		if (tick->time_ns <= s->to_ns && tick->pid == s->task.pid)
			count(t, c, tick);
	}
}

static bool was_counted(const struct hv_stall *s, unsigned piece)
{
	for (unsigned i = 0; i < piece; i++)
		if (s->pieces[i].cpu == s->pieces[piece].cpu)
			return true;
	return s->pieces[piece].cpu == s->cpu;
}

/* Counts the samples of S's task in its interval on its vCPUs, and the samples in the most frequent
 * function. The stack of a system call is replaced by the last of those samples. */
static void ticks_choose(const struct hv_ticks *t, struct hv_stall *s)
{
	struct counts c = {.nr = 0};
	unsigned most = 0;

	count_cpu(t, &c, s->cpu, s);
	for (unsigned i = 0; i < s->nr_pieces; i++)
		if (!was_counted(s, i))
			count_cpu(t, &c, s->pieces[i].cpu, s);
	if (!c.nr)
		return;
	for (unsigned i = 1; i < c.nr; i++)
		if (c.list[i].nr > c.list[most].nr)
			most = i;
	s->nr_samples = c.nr_samples;
	s->nr_most = c.list[most].nr;
	s->most = c.list[most].last->stack.callers[0];
	s->most_caller = c.list[most].last->stack.callers[1];
	if (s->kind == HV_STALL_SYSCALL)
		s->stack = c.list[most].last->stack;
}

/* -- analysers --------------------------------------------------------------------------------- */

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
	ticks_init(&f->ticks, nr_cpus);
	hv_program_ticks_init(&f->programs, nr_cpus);
}

void hv_finders_deinit(struct hv_finders *f)
{
	hv_sched_deinit(&f->tasks);
	free(f->irqs);
	free(f->softirqs);
	free(f->requests);
	free(f->limits);
	ticks_deinit(&f->ticks);
	hv_program_ticks_deinit(&f->programs);
}

/* Returns whether samples help to explain S: it kept a vCPU busy in the kernel. */
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
		ticks_choose(&f->ticks, stall);
	if (!stall->slack_ns)
		hv_program_ticks_choose(&f->programs, stall);
	hv_stalls_add(f->stalls, stall);
}

void hv_finders_stack(struct hv_finders *f, const struct hv_moment *m,
		      const struct hv_stall_stack *stack)
{
	struct hv_sched_task *task = m->pid ? hv_sched_find(&f->tasks, m->pid) : NULL;

	if (m->kind == HV_MOMENT_TICK)
		ticks_add(&f->ticks, m->cpu,
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

/* -- waits for a vCPU -------------------------------------------------------------------------- */

/* Run-queue latency: from a wakeup or preemption until the task runs, and which task ran in
 * between. */

static void add_runnable(struct hv_finders *f, const struct hv_sched_task *task, unsigned cpu,
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

static void see_runqueue(struct hv_finders *f, const struct hv_moment *m)
{
	const struct hv_sched_task *task;

	if (m->kind != HV_MOMENT_SWITCH || !m->other)
		return;
	task = hv_sched_find(&f->tasks, m->other);
	if (task && task->state == HV_TASK_RUNNABLE)
		add_runnable(f, task, m->cpu, m->time_ns);
}

static void end_runqueue(struct hv_finders *f, uint64_t now_ns)
{
	for (size_t i = 0; i < HV_TASKS_MAX; i++) {
		const struct hv_sched_task *task = &f->tasks.list[i];

		if (task->is_used && task->state == HV_TASK_RUNNABLE)
			add_runnable(f, task, task->cpu, now_ns);
	}
}

/* -- limits of CPU time ------------------------------------------------------------------------ */

/* Times in which a cgroup had used up its CPU time on a vCPU. The verdict finds the tasks that
 * waited because of this. */

/* The task that used up the time belongs to the group, and has to wait. */
static void note_task(struct hv_finders *f, const struct hv_moment *m)
{
	struct hv_sched_task *task =
		m->pid && m->address ? hv_sched_get(&f->tasks, m->pid, m->comm, m->time_ns) : NULL;

	if (task)
		task->limit = m->number;
}

static void see_limited(struct hv_finders *f, const struct hv_moment *m)
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

static void end_limited(struct hv_finders *f, uint64_t now_ns)
{
	struct hv_stall stall;

	for (size_t i = 0; i < f->limits->nr_throttled; i++)
		if (hv_limits_open(f->limits, i, now_ns, &stall))
			hv_finders_add(f, &stall);
}

/* -- sleeps, system calls ---------------------------------------------------------------------- */

/* Things that no task does by design: an uninterruptible sleep, and a system call that keeps a vCPU
 * busy.
 *
 * Only the time of a system call on the vCPU counts here. Its waits for the vCPU count as run-queue
 * latency, and its searches for memory are separate stalls (below). Interruptible sleeps are what
 * the program asked for. */

static void add_sleep(struct hv_finders *f, const struct hv_sched_task *task, uint64_t now_ns)
{
	if (task->state != HV_TASK_SLEEPING || task->left_in != HV_LEFT_UNINTERRUPTIBLE)
		return;
	hv_finders_add(f, &(struct hv_stall){
				  .kind = HV_STALL_SLEEP,
				  .cpu = task->cpu,
				  .from_ns = task->since_ns,
				  .to_ns = now_ns,
				  .task = hv_stall_task(task->pid, task->comm),
				  .stack = task->left_stack,
			  });
}

/* If the task is running, its last piece ends now. */
static void take_pieces(const struct hv_sched_task *task, uint64_t now_ns, struct hv_stall *ret)
{
	bool runs = task->state == HV_TASK_RUNNING;
	uint64_t from_ns = task->since_ns > task->syscall_ns ? task->since_ns : task->syscall_ns;

	if (task->nr_ran + runs > HV_STALL_PIECES)
		return;
	memcpy(ret->pieces, task->ran, sizeof(ret->pieces));
	ret->nr_pieces = task->nr_ran;
	if (runs)
		ret->pieces[ret->nr_pieces++] = (struct hv_stall_piece){task->cpu, from_ns, now_ns};
}

static void add_syscall(struct hv_finders *f, const struct hv_sched_task *task, uint64_t now_ns)
{
	uint64_t on_cpu = hv_sched_on_cpu(task, now_ns);
	uint64_t before =
		task->syscall_on_cpu_ns + task->searching_on_cpu_ns - task->syscall_searching_ns;

	struct hv_stall stall = {
		.kind = HV_STALL_SYSCALL,
		.cpu = task->cpu,
		.from_ns = task->syscall_ns,
		.to_ns = now_ns,
		.number = task->syscall,
		.task = hv_stall_task(task->pid, task->comm),
		.stack = task->syscall_stack,
	};

	if (!task->syscall_ns || on_cpu < before + f->threshold_ns)
		return;
	stall.length_ns = on_cpu - before;
	take_pieces(task, now_ns, &stall);
	hv_finders_add(f, &stall);
}

static void enter_syscall(struct hv_finders *f, const struct hv_moment *m)
{
	struct hv_sched_task *task = hv_sched_get(&f->tasks, m->pid, m->comm, m->time_ns);

	if (task->state == HV_TASK_UNKNOWN) {
		task->state = HV_TASK_RUNNING;
		task->since_ns = m->time_ns;
		task->cpu = m->cpu;
	}
	task->syscall_ns = m->time_ns;
	task->syscall = m->number;
	task->is_in_program = false;
	task->nr_ran = 0;
	task->syscall_stack.callers[0] = 0;
	task->syscall_on_cpu_ns = hv_sched_on_cpu(task, m->time_ns);
	task->syscall_searching_ns = task->searching_on_cpu_ns;
}

static void leave_syscall(struct hv_finders *f, const struct hv_moment *m)
{
	struct hv_sched_task *task = hv_sched_find(&f->tasks, m->pid);

	if (!task)
		return;
	add_syscall(f, task, m->time_ns);
	task->syscall_ns = 0;
	task->is_in_program = true;
}

static void see_blocked(struct hv_finders *f, const struct hv_moment *m)
{
	const struct hv_sched_task *task;

	if (m->kind == HV_MOMENT_SYSCALL && m->pid)
		enter_syscall(f, m);
	else if (m->kind == HV_MOMENT_SYSCALL_END && m->pid)
		leave_syscall(f, m);
	else if (m->kind == HV_MOMENT_WAKING) {
		task = hv_sched_find(&f->tasks, m->other);
		if (task)
			add_sleep(f, task, m->time_ns);
	}
}

static void end_blocked(struct hv_finders *f, uint64_t now_ns)
{
	for (size_t i = 0; i < HV_TASKS_MAX; i++) {
		const struct hv_sched_task *task = &f->tasks.list[i];

		if (!task->is_used)
			continue;
		add_sleep(f, task, now_ns);
		if (task->state == HV_TASK_RUNNING)
			add_syscall(f, task, now_ns);
	}
}

/* -- interrupts -------------------------------------------------------------------------------- */

/* How long handlers of interrupts and softirqs keep a vCPU. The time of a softirq includes
 * interrupts during it; the verdict separates them. */

static void begin_handler(struct hv_handler *h, const struct hv_moment *m)
{
	*h = (struct hv_handler){.from_ns = m->time_ns, .number = m->number};
	memcpy(h->name, m->text, sizeof(h->name));
}

static void end_handler(struct hv_finders *f, enum hv_stall_kind kind, struct hv_handler *h,
			const struct hv_moment *m)
{
	struct hv_stall stall = {
		.kind = kind,
		.cpu = m->cpu,
		.from_ns = h->from_ns,
		.to_ns = m->time_ns,
		.number = h->number,
		.task = hv_stall_task(m->pid, m->comm),
	};

	memcpy(stall.name, h->name, sizeof(h->name));
	if (h->from_ns && h->number == m->number)
		hv_finders_add(f, &stall);
	h->from_ns = 0;
}

static void see_interrupts(struct hv_finders *f, const struct hv_moment *m)
{
	if (m->kind == HV_MOMENT_IRQ)
		begin_handler(&f->irqs[m->cpu], m);
	else if (m->kind == HV_MOMENT_IRQ_END)
		end_handler(f, HV_STALL_IRQ, &f->irqs[m->cpu], m);
	else if (m->kind == HV_MOMENT_SOFTIRQ)
		begin_handler(&f->softirqs[m->cpu], m);
	else if (m->kind == HV_MOMENT_SOFTIRQ_END)
		end_handler(f, HV_STALL_SOFTIRQ, &f->softirqs[m->cpu], m);
}

/* -- locks, memory ----------------------------------------------------------------------------- */

/* Waits inside the kernel, between two events of the task: for a lock, for memory in direct
 * reclaim, for compaction to make a large page, and for a page fault to read from swap or a file.
 *
 * The kernel's page-fault events are not available. But if a task is in no system call and sleeps
 * uninterruptibly, it is in a page fault: there is no other reason for such a sleep.
 *
 * A task short of memory reclaims a few pages at a time, over and over; each search is short, but
 * their sum is long. Such waits are reported as one *series*, for as long as they take a fifth of
 * the task's time. */

#define SERIES_PART 5		      /* a series takes at least 1/5 of the time */
#define LONG_NS	    (5 * HV_NS_PER_S) /* longer series are reported before they end */

#define WORKER "kworker/" /* prefix of kernel workers' names */

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

	if (hv_starts_with(task->comm, WORKER))
		flags |= HV_SERIES_WORKERS;
	return flags;
}

/* Adds TASK's series of waits and ends it. */
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

/* A task that retries a lock emits several begin events; the first one counts. A task that first
 * spins for a mutex and then sleeps also emits another begin event, with new flags
 * (__mutex_lock). */
static void begin_wait(struct hv_finders *f, const struct hv_moment *m, enum wait wait)
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

/* When a task leaves its vCPU, ends its series that have paused for too long. Ends all of them if
 * the task exits. */
static void leave_wait(struct hv_finders *f, const struct hv_moment *m)
{
	struct hv_sched_task *task = hv_sched_find(&f->tasks, m->pid);

	for (enum wait wait = WAIT_RECLAIM; task && wait < NR_WAITS; wait++)
		if (!*begin_of(task, wait) &&
		    ((m->state & HV_LEFT_ENDED) || !goes_on(series_of(task, wait), m->time_ns)))
			add_series(f, task, wait);
}

/* Returns whether the task begins an uninterruptible sleep in a page fault. */
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

bool hv_finders_have_long_series(const struct hv_finders *f, uint64_t now_ns)
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

static void see_waits(struct hv_finders *f, const struct hv_moment *m)
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
		leave_wait(f, m);
		if (is_in_fault(f, m))
			begin_wait(f, m, WAIT_FAULT);
	} else if (m->kind == HV_MOMENT_WAKING) {
		task = hv_sched_find(&f->tasks, m->other);
		if (task)
			end_wait(f, task, WAIT_FAULT, m->cpu, m->time_ns);
	}
	for (enum wait wait = 0; m->pid && wait < WAIT_FAULT; wait++) {
		if (m->kind == moments[wait].begin)
			begin_wait(f, m, wait);
		if (m->kind != moments[wait].end)
			continue;
		task = hv_sched_find(&f->tasks, m->pid);
		if (task)
			end_wait(f, task, wait, m->cpu, m->time_ns);
	}
}

static void end_waits(struct hv_finders *f, uint64_t now_ns)
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

/* -- block devices ----------------------------------------------------------------------------- */

/* Requests to block devices: the time in the guest's queue, and the time of the device. The host
 * provides the device: image, storage, limits. */

#define LOOKUPS	  8
#define NO_SECTOR UINT64_MAX

/* A request without a sector, such as a flush or a command, has sector 0 when issued and -1 when
 * completed (blk_rq_trace_sector(), blk_rq_pos()). */
static uint64_t sector_of(const struct hv_moment *m)
{
	return m->number == NO_SECTOR ? 0 : m->number;
}

static size_t bucket_of(uint32_t device, uint64_t sector, unsigned i)
{
	uint64_t hash = (sector ^ (uint64_t)device << 40) * UINT64_C(0x9e3779b97f4a7c15);

	return ((hash >> 32) + i) & (HV_IO_REQUESTS_MAX - 1);
}

static struct hv_request *find_request(struct hv_finders *f, const struct hv_moment *m)
{
	for (unsigned i = 0; i < LOOKUPS; i++) {
		struct hv_request *r = &f->requests[bucket_of(m->device, sector_of(m), i)];

		if (r->is_used && r->device == m->device && r->sector == sector_of(m))
			return r;
	}
	return NULL;
}

/* If there is no room, the new request replaces another one. */
static struct hv_request *make_request(struct hv_finders *f, const struct hv_moment *m)
{
	struct hv_request *r = find_request(f, m);

	for (unsigned i = 0; !r && i < LOOKUPS; i++)
		if (!f->requests[bucket_of(m->device, sector_of(m), i)].is_used)
			r = &f->requests[bucket_of(m->device, sector_of(m), i)];
	if (!r)
		r = &f->requests[bucket_of(m->device, sector_of(m), 0)];
	*r = (struct hv_request){
		.is_used = true,
		.device = m->device,
		.sector = sector_of(m),
		.task = hv_stall_task(m->pid, m->comm),
	};
	memcpy(r->what, m->text, sizeof(r->what));
	return r;
}

static void add_request(struct hv_finders *f, const struct hv_request *r, enum hv_stall_kind kind,
			unsigned cpu, uint64_t from_ns, uint64_t to_ns)
{
	struct hv_stall stall = {
		.kind = kind,
		.cpu = cpu,
		.from_ns = from_ns,
		.to_ns = to_ns,
		.number = r->sector,
		.device = r->device,
		.task = r->task,
	};

	memcpy(stall.name, r->what, sizeof(r->what));
	if (from_ns)
		hv_finders_add(f, &stall);
}

static void issue_request(struct hv_finders *f, const struct hv_moment *m)
{
	struct hv_request *r = find_request(f, m);

	if (!r || r->issued_ns)
		r = make_request(f, m);
	add_request(f, r, HV_STALL_IO_QUEUE, m->cpu, r->queued_ns, m->time_ns);
	r->issued_ns = m->time_ns;
}

static void see_block_io(struct hv_finders *f, const struct hv_moment *m)
{
	struct hv_request *r;

	if (m->kind == HV_MOMENT_IO_QUEUED) {
		make_request(f, m)->queued_ns = m->time_ns;
	} else if (m->kind == HV_MOMENT_IO_ISSUED) {
		issue_request(f, m);
	} else if (m->kind == HV_MOMENT_IO_DONE) {
		r = find_request(f, m);
		if (!r)
			return;
		add_request(f, r, HV_STALL_IO_DEVICE, m->cpu, r->issued_ns, m->time_ns);
		r->is_used = false;
	}
}

static void end_block_io(struct hv_finders *f, uint64_t now_ns)
{
	for (size_t i = 0; i < HV_IO_REQUESTS_MAX; i++) {
		const struct hv_request *r = &f->requests[i];

		if (!r->is_used)
			continue;
		add_request(f, r, r->issued_ns ? HV_STALL_IO_DEVICE : HV_STALL_IO_QUEUE, 0,
			    r->issued_ns ? r->issued_ns : r->queued_ns, now_ns);
	}
}

/* -- all of them ------------------------------------------------------------------------------- */

void hv_finders_see(struct hv_finders *f, const struct hv_moment *m)
{
	if (m->cpu >= f->tasks.nr_cpus)
		return;
	if (m->kind == HV_MOMENT_SWITCH)
		f->sees_switches = true;
	if (f->sees_switches) {
		see_limited(f, m);
		see_runqueue(f, m);
		see_blocked(f, m);
	}
	see_interrupts(f, m);
	see_waits(f, m);
	see_block_io(f, m);
	if (m->kind == HV_MOMENT_SAMPLE)
		hv_program_ticks_add(&f->programs, m);
	if (f->sees_switches)
		hv_sched_follow(&f->tasks, m);
}

void hv_finders_end(struct hv_finders *f, uint64_t now_ns)
{
	if (f->sees_switches) {
		end_limited(f, now_ns);
		end_runqueue(f, now_ns);
		end_blocked(f, now_ns);
	}
	end_waits(f, now_ns);
	end_block_io(f, now_ns);
}
