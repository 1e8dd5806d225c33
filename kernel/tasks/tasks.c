/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's tasks: the list of processes that starts at init_task, the threads of each, and the
 * idle tasks, which are in no list. The lists change while the guest runs: a walk that finds
 * invalid data is repeated. Source: include/linux/sched/signal.h (for_each_process_thread),
 * kernel/smpboot.c. */
#include "kernel/tasks/tasks.h"

#include <string.h>

#include "base/grow.h"
#include "kernel/arch/kernel_arch.h"
#include "kernel/core/fields.h"
#include "kernel/kernel.h"

/* Limits on guest data */
#define TASKS_MAX	500000u
#define TASK_STRUCT_MAX (64u << 10)
#define PID_MAX		(1u << 22) /* PID_MAX_LIMIT */
#define WALKS_MAX	3

struct hv_err *hv_task_layout_find(const struct hv_kernel *k, struct hv_task_layout *ret)
{
	struct hv_task_layout l = {0};
	const struct hv_field task[] = {
		{"tasks.next", 8, &l.tasks}, {"thread_node.next", 8, &l.thread_node},
		{"signal", 8, &l.signal},    {"pid", 4, &l.pid},
		{"tgid", 4, &l.tgid},	     {"comm", 16, &l.comm},
		{"stack", 8, &l.stack},	     {hv_kernel_arch_of(&k->core)->saved_sp, 8, &l.sp},
	};
	const struct hv_field signal[] = {{"thread_head.next", 8, &l.thread_head}};
	struct hv_err *err = hv_fields_find(&k->core, "task_struct", task, HV_ARRAY_LEN(task));
	uint64_t end = 0;

	if (!err)
		err = hv_fields_find(&k->core, "signal_struct", signal, HV_ARRAY_LEN(signal));
	if (err)
		return err;
	for (size_t i = 0; i < HV_ARRAY_LEN(task); i++)
		if ((uint64_t)*task[i].off + task[i].len_bytes > end)
			end = (uint64_t)*task[i].off + task[i].len_bytes;
	if (end > TASK_STRUCT_MAX)
		return hv_err_new(EINVAL, "BTF: struct task_struct has members up to %llu",
				  (unsigned long long)end);
	l.len_bytes = (uint32_t)end;
	*ret = l;
	return NULL;
}

/* A copy of a task and the links of its lists. */
struct task_copy {
	struct hv_task task;
	uint64_t next;	      /* next process: address of its member `tasks` */
	uint64_t next_thread; /* next thread: address of its member `thread_node` */
	uint64_t signal;
};

static struct hv_err *read_task(const struct hv_kernel *k, const struct hv_task_layout *l,
				struct hv_gva at, uint8_t *bytes, struct task_copy *ret)
{
	struct hv_span copy = {bytes, l->len_bytes};
	struct hv_err *err = hv_read(&k->core.as, at, bytes, l->len_bytes);
	uint64_t stack = hv_copy_u64(copy, l->stack), stack_bytes = k->layout.stack_bytes;
	struct task_copy c = {
		.task = {.task = at,
			 .pid = hv_copy_u32(copy, l->pid),
			 .tgid = hv_copy_u32(copy, l->tgid),
			 .sp = hv_gva(hv_copy_u64(copy, l->sp))},
		.next = hv_copy_u64(copy, l->tasks),
		.next_thread = hv_copy_u64(copy, l->thread_node),
		.signal = hv_copy_u64(copy, l->signal),
	};

	if (err)
		return err;
	if (c.task.pid > PID_MAX || c.task.tgid > PID_MAX)
		return hv_err_new(EINVAL, "task 0x%llx: %u is not a pid", (unsigned long long)at.v,
				  c.task.pid > PID_MAX ? c.task.pid : c.task.tgid);
	hv_span_copy(copy, l->comm, c.task.comm, sizeof(c.task.comm) - 1);
	if (stack && stack + stack_bytes > stack)
		c.task.stack = (struct hv_gva_range){hv_gva(stack), hv_gva(stack + stack_bytes)};
	*ret = c;
	return NULL;
}

struct hv_err *hv_task_read_one(const struct hv_kernel *k, const struct hv_task_layout *l,
				struct hv_gva at, struct hv_task *ret)
{
	HV_AUTO_FREE uint8_t *bytes = hv_alloc(l->len_bytes);
	struct task_copy copy;
	struct hv_err *err = read_task(k, l, at, bytes, &copy);

	if (!err)
		*ret = copy.task;
	return err;
}

struct building {
	const struct hv_kernel *k;
	const struct hv_task_layout *l;
	uint8_t *bytes; /* room for one task */
	struct hv_tasks tasks;
	size_t cap;
};

static struct hv_err *add(struct building *b, const struct hv_task *task)
{
	if (b->tasks.nr == TASKS_MAX)
		return hv_err_new(EINVAL, "the list does not end after %u entries", TASKS_MAX);
	b->tasks.list = hv_grow(b->tasks.list, b->tasks.nr, &b->cap, 256, sizeof(*b->tasks.list));
	b->tasks.list[b->tasks.nr++] = *task;
	return NULL;
}

/* Adds the threads of one process, including its leader. */
static struct hv_err *add_threads(struct building *b, uint64_t signal)
{
	uint64_t head = signal + b->l->thread_head, at;
	struct hv_err *err = hv_read_u64(&b->k->core.as, hv_gva(head), &at);
	struct task_copy copy = {0};
	struct hv_circle circle = {0};

	for (; !err && at != head; at = copy.next_thread) {
		if (hv_circle_step(&circle, at))
			return hv_err_new(EINVAL, "threads: the list has a loop at 0x%llx",
					  (unsigned long long)at);
		err = read_task(b->k, b->l, hv_gva(at - b->l->thread_node), b->bytes, &copy);
		if (!err)
			err = add(b, &copy.task);
	}
	return err;
}

static struct hv_err *add_processes(struct building *b, struct hv_gva init_task)
{
	uint64_t head = init_task.v + b->l->tasks, at;
	struct task_copy leader = {0};
	struct hv_err *err = hv_read_u64(&b->k->core.as, hv_gva(head), &at);
	struct hv_circle circle = {0};

	for (; !err && at != head; at = leader.next) {
		size_t before = b->tasks.nr;

		if (hv_circle_step(&circle, at))
			return hv_err_new(EINVAL, "the list has a loop at 0x%llx",
					  (unsigned long long)at);
		err = read_task(b->k, b->l, hv_gva(at - b->l->tasks), b->bytes, &leader);
		if (!err)
			err = add_threads(b, leader.signal);
		/* The last thread of the process has just left the list of threads. */
		if (!err && b->tasks.nr == before)
			err = add(b, &leader.task);
	}
	return err;
}

/* Adds each CPU's idle task, including init_task, the boot CPU's. CPUs that were never online have
 * no idle task. */
static struct hv_err *add_idle(struct building *b, struct hv_gva init_task)
{
	struct hv_gva percpu, at;
	uint32_t rq_idle = 0;
	const struct hv_field rq = {"idle", 8, &rq_idle};
	uint64_t idle;
	struct hv_task task;
	struct hv_err *err = hv_task_read_one(b->k, b->l, init_task, &task);

	if (!err)
		err = add(b, &task);
	if (!err && !hv_kernel_symbol(b->k, "idle_threads", &percpu)) {
		err = hv_core_need(&b->k->core, "runqueues", &percpu);
		if (!err)
			err = hv_fields_find(&b->k->core, "rq", &rq, 1);
	}
	for (unsigned cpu = 0; !err && cpu < b->k->layout.nr_cpus; cpu++) {
		if (!hv_cpu_in(&b->k->core, "__cpu_possible_mask", cpu))
			continue;
		err = hv_kernel_percpu(b->k, percpu.v + rq_idle, cpu, &at);
		if (!err)
			err = hv_read_u64(&b->k->core.as, at, &idle);
		if (err || !idle || idle == init_task.v)
			continue;
		err = hv_task_read_one(b->k, b->l, hv_gva(idle), &task);
		if (!err)
			err = add(b, &task);
	}
	return err;
}

static struct hv_err *walk(const struct hv_kernel *k, const struct hv_task_layout *l,
			   struct hv_gva init_task, struct hv_tasks *ret)
{
	HV_AUTO_FREE uint8_t *bytes = hv_alloc(l->len_bytes);
	struct building b = {.k = k, .l = l, .bytes = bytes};
	struct hv_err *err = add_idle(&b, init_task);

	if (!err)
		err = add_processes(&b, init_task);
	*ret = b.tasks;
	return err;
}

struct hv_err *hv_tasks_read(struct hv_kernel *k, struct hv_tasks *ret)
{
	struct hv_task_layout l;
	struct hv_gva init_task;
	struct hv_err *err = hv_core_need(&k->core, "init_task", &init_task);

	if (!err)
		err = hv_task_layout_find(k, &l);
	if (err)
		return hv_err_in(err, "tasks");
	for (unsigned i = 0; i < WALKS_MAX; i++) {
		struct hv_tasks tasks = {0};

		hv_err_free(err);
		err = walk(k, &l, init_task, &tasks);
		if (!err) {
			*ret = tasks;
			return NULL;
		}
		hv_tasks_deinit(&tasks);
	}
	return hv_err_in(err, "tasks");
}

void hv_tasks_deinit(struct hv_tasks *t)
{
	free(t->list);
	*t = (struct hv_tasks){0};
}

struct hv_err *hv_task_current(const struct hv_kernel *k, unsigned cpu, struct hv_gva *ret)
{
	uint64_t percpu = k->layout.current_percpu, task = 0;
	uint32_t off;
	const struct hv_field curr = {"curr", 8, &off};
	struct hv_gva queues, at;
	struct hv_err *err = NULL;

	if (k->layout.in_task) {
		err = hv_core_need(&k->core, "runqueues", &queues);
		if (!err)
			err = hv_fields_find(&k->core, "rq", &curr, 1);
		if (err)
			return err;
		percpu = queues.v + off;
	}
	err = hv_kernel_percpu(k, percpu, cpu, &at);
	if (!err)
		err = hv_read_u64(&k->core.as, at, &task);
	if (!err)
		*ret = hv_gva(task);
	return err;
}

#define PRIO_OF_NICE_0 120

static struct hv_err *read_u32(const struct hv_kernel *k, struct hv_gva of, uint32_t off,
			       uint32_t *ret)
{
	return hv_read_u32(&k->core.as, hv_gva_add(of, off), ret);
}

static struct hv_err *read_line(const struct hv_kernel *k, struct hv_gva task,
				struct hv_task_line *ret)
{
	const struct hv_layout *l = &k->layout;
	uint32_t prio_off, prio = 0, static_prio = 0;
	const struct hv_field field = {"prio", sizeof(prio), &prio_off};
	struct hv_task_line line = {0};
	struct hv_err *err = hv_fields_find(&k->core, "task_struct", &field, 1);
	uint64_t cred = 0;

	if (!err && !l->has_task_line)
		err = hv_err_new(
			ENOENT, "BTF: struct task_struct lacks static_prio, policy, rt_priority or "
				"cred, or struct cred lacks uid");
	if (!err)
		err = read_u32(k, task, prio_off, &prio);
	if (!err)
		err = read_u32(k, task, l->task_pid_off, &line.pid);
	if (!err)
		err = read_u32(k, task, l->task_prio_off, &static_prio);
	if (!err)
		err = read_u32(k, task, l->task_policy_off, &line.policy);
	if (!err)
		err = read_u32(k, task, l->task_rt_prio_off, &line.rt_priority);
	if (!err)
		err = hv_read_u64(&k->core.as, hv_gva_add(task, l->task_cred_off), &cred);
	if (!err)
		err = read_u32(k, hv_gva(cred), l->cred_uid_off, &line.uid);
	if (err)
		return err;
	line.prio = (int32_t)prio;
	line.nice = (int32_t)(static_prio - PRIO_OF_NICE_0);
	*ret = line;
	return NULL;
}

struct hv_err *hv_task_line_of_cpu(const struct hv_kernel *k, unsigned cpu,
				   struct hv_task_line *ret)
{
	struct hv_gva task;
	struct hv_err *err;

	if (!hv_cpu_in(&k->core, "__cpu_possible_mask", cpu))
		return hv_err_new(ENOENT, "cpu %u is not possible", cpu);
	err = hv_task_current(k, cpu, &task);
	if (!err && !task.v)
		err = hv_err_new(ENOENT, "cpu %u executes no task yet", cpu);
	return err ? err : read_line(k, task, ret);
}

struct hv_err *hv_task_line_of(struct hv_kernel *k, uint32_t pid, struct hv_task_line *ret)
{
	struct hv_tasks tasks;
	struct hv_gva task = {0};
	struct hv_err *err = hv_tasks_read(k, &tasks);

	if (err)
		return err;
	for (size_t i = 0; i < tasks.nr; i++)
		if (tasks.list[i].pid == pid)
			task = tasks.list[i].task;
	hv_tasks_deinit(&tasks);
	return task.v ? read_line(k, task, ret) : hv_err_new(ENOENT, "there is no task %u", pid);
}
