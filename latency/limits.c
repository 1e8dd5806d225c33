/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "latency/limits.h"

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
