/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/tasks/task_line.h"

#include "kernel/core/fields.h"
#include "kernel/kernel.h"
#include "kernel/tasks/tasks.h"

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
		err = hv_err_new(ENOENT, "btf: not all of priorities and uid of a task");
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
