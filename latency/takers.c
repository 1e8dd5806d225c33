/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "latency/takers.h"

#include <string.h>

/* Compares only pids, because execve() changes the name of a thread. */
static struct hv_taker *find(struct hv_takers *t, uint32_t pid)
{
	for (size_t i = 0; i < t->nr; i++)
		if (t->list[i].task.pid == pid)
			return &t->list[i];
	return NULL;
}

static struct hv_taker *place_for(struct hv_takers *t)
{
	struct hv_taker *least = t->list;

	if (t->nr < HV_TAKERS_MAX)
		return &t->list[t->nr++];
	for (size_t i = 1; i < t->nr; i++)
		if (t->list[i].taken_ns < least->taken_ns)
			least = &t->list[i];
	return least;
}

void hv_takers_add(struct hv_takers *t, const struct hv_stall_task *task, uint64_t ns)
{
	struct hv_taker *taker;

	if (!task->comm[0])
		return;
	taker = find(t, task->pid);
	if (!taker) {
		taker = place_for(t);
		*taker = (struct hv_taker){
			.task = *task,
			.was_looked_at = !task->pid,
			.kind = task->pid ? HV_TAKER_UNKNOWN : HV_TAKER_NOBODY,
		};
	}
	memcpy(taker->task.comm, task->comm, sizeof(taker->task.comm));
	taker->taken_ns += ns;
}

const struct hv_taker *hv_takers_find(const struct hv_takers *t, const struct hv_stall_task *task)
{
	for (size_t i = 0; task->comm[0] && i < t->nr; i++)
		if (t->list[i].task.pid == task->pid)
			return &t->list[i];
	return NULL;
}
