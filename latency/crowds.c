/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "latency/crowds.h"

#include <stdlib.h>

#include "base/grow.h"

struct hv_crowd_task {
	uint32_t pid;
	bool waits;
	size_t next; /* towards the task that names the crowd, which points to itself */
};

void hv_crowds_deinit(struct hv_crowds *c)
{
	free(c->list);
	free(c->waits);
	*c = (struct hv_crowds){0};
}

static void add_task(struct hv_crowds *c, uint32_t pid, bool waits)
{
	c->list = hv_grow(c->list, c->nr, &c->nr_max, 64, sizeof(*c->list));
	c->list[c->nr++] = (struct hv_crowd_task){.pid = pid, .waits = waits};
}

void hv_crowds_add(struct hv_crowds *c, uint32_t pid, uint32_t by)
{
	c->waits = hv_grow(c->waits, c->nr_waits, &c->nr_waits_max, 64, sizeof(*c->waits));
	c->waits[c->nr_waits][0] = pid;
	c->waits[c->nr_waits++][1] = by;
	add_task(c, pid, true);
	add_task(c, by, false);
}

static int by_pid(const void *a, const void *b)
{
	const struct hv_crowd_task *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* Keeps one entry per task. */
static void sort(struct hv_crowds *c)
{
	size_t kept = 0;

	if (c->nr)
		qsort(c->list, c->nr, sizeof(*c->list), by_pid);
	for (size_t i = 0; i < c->nr; i++) {
		if (kept && c->list[kept - 1].pid == c->list[i].pid)
			c->list[kept - 1].waits |= c->list[i].waits;
		else
			c->list[kept++] = c->list[i];
	}
	c->nr = kept;
	for (size_t i = 0; i < c->nr; i++)
		c->list[i].next = i;
}

static struct hv_crowd_task *find(const struct hv_crowds *c, uint32_t pid)
{
	struct hv_crowd_task key = {.pid = pid};

	return c->nr ? bsearch(&key, c->list, c->nr, sizeof(*c->list), by_pid) : NULL;
}

static size_t root_of(const struct hv_crowds *c, const struct hv_crowd_task *task)
{
	size_t i = (size_t)(task - c->list);

	while (c->list[i].next != i) {
		c->list[i].next = c->list[c->list[i].next].next;
		i = c->list[i].next;
	}
	return i;
}

void hv_crowds_join(struct hv_crowds *c)
{
	sort(c);
	for (size_t i = 0; i < c->nr_waits; i++) {
		struct hv_crowd_task *by = find(c, c->waits[i][1]);

		if (by->waits)
			c->list[root_of(c, find(c, c->waits[i][0]))].next = root_of(c, by);
	}
}

uint32_t hv_crowds_of(const struct hv_crowds *c, uint32_t pid, uint32_t by)
{
	const struct hv_crowd_task *task = find(c, pid), *other = find(c, by);

	return task && other && other->waits ? c->list[root_of(c, task)].pid : 0;
}

size_t hv_crowds_size(const struct hv_crowds *c, uint32_t crowd)
{
	size_t nr = 0;

	for (size_t i = 0; i < c->nr; i++)
		nr += c->list[root_of(c, &c->list[i])].pid == crowd;
	return nr;
}
