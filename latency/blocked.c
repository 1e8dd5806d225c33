/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a task does not do by design: sleep so that no signal wakes it, and keep a vCPU busy in one
 * system call. A system call's time is divided: only what it was on the vCPU counts here. What it
 * waited for the vCPU is in the run queue's latency, what it looked for memory is a stall of its
 * own (waits.c), and a sleep that a signal ends is what the program asked for. */
#include "latency/finders.h"

#include <string.h>

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

/* The last piece lasts until now, if the task still runs. */
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

static void enter(struct hv_finders *f, const struct hv_moment *m)
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

static void leave(struct hv_finders *f, const struct hv_moment *m)
{
	struct hv_sched_task *task = hv_sched_find(&f->tasks, m->pid);

	if (!task)
		return;
	add_syscall(f, task, m->time_ns);
	task->syscall_ns = 0;
	task->is_in_program = true;
}

void hv_blocked_see(struct hv_finders *f, const struct hv_moment *m)
{
	const struct hv_sched_task *task;

	if (m->kind == HV_MOMENT_SYSCALL && m->pid)
		enter(f, m);
	else if (m->kind == HV_MOMENT_SYSCALL_END && m->pid)
		leave(f, m);
	else if (m->kind == HV_MOMENT_WAKING) {
		task = hv_sched_find(&f->tasks, m->other);
		if (task)
			add_sleep(f, task, m->time_ns);
	}
}

void hv_blocked_end(struct hv_finders *f, uint64_t now_ns)
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
