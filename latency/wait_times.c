/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "latency/wait_times.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/prefix.h"
#include "export/page_decode.h"
#include "latency/decode.h"

/* -- the histogram ----------------------------------------------------------------------------- */

#define US UINT64_C(1000)
#define MS (1000 * US)

const uint64_t hv_wait_times_bounds_ns[HV_WAIT_TIMES_BOUNDS] = {
	1 * US, 5 * US,	 10 * US, 50 * US,  100 * US, 500 * US,	   1 * MS,
	5 * MS, 10 * MS, 50 * MS, 100 * MS, 500 * MS, HV_NS_PER_S, 5 * HV_NS_PER_S,
};

static void add(struct hv_wait_times *w, uint64_t wait_ns)
{
	unsigned i = 0;

	while (i < HV_WAIT_TIMES_BOUNDS && wait_ns > hv_wait_times_bounds_ns[i])
		i++;
	w->nr[i]++;
	w->sum_ns += wait_ns;
}

/* A task cannot run again without a wakeup. If its state is still "sleeping" when it runs, another
 * vCPU woke it just before it left its own vCPU, so it has waited since it left. */
static bool waited(const struct hv_sched_task *task)
{
	return task->state == HV_TASK_RUNNABLE || task->state == HV_TASK_SLEEPING;
}

void hv_wait_times_see(struct hv_wait_times *w, const struct hv_sched *tasks,
		       const struct hv_moment *m)
{
	const struct hv_sched_task *task;

	if (m->kind != HV_MOMENT_SWITCH || !m->other)
		return;
	task = hv_sched_find(tasks, m->other);
	if (task && waited(task) && m->time_ns >= task->since_ns)
		add(w, m->time_ns - task->since_ns);
}

/* -- the export format ------------------------------------------------------------------------- */

#define VCPU	      "CPU "
#define WAITING_BYTES (16u << 20) /* of pages waiting to be sorted */

struct wait_export {
	struct hv_export base;
	struct hv_page_decode decode;
	struct hv_page_merge merge;
	struct hv_moments moments;
	struct hv_sched tasks;
	struct hv_sched *threads; /* of the host; owned; NULL if there were none */
	struct hv_wait_export_times times;
};

static struct wait_export *of(struct hv_export *x)
{
	return (struct wait_export *)x;
}

struct hv_wait_export_times *hv_wait_export_times(struct hv_export *x)
{
	return &of(x)->times;
}

static struct hv_err *wait_open(const struct hv_export_config *config hv_unused,
				const struct hv_export_head *head, struct hv_export **ret)
{
	struct wait_export *w = hv_alloc(sizeof(*w));

	hv_page_decode_init(&w->decode, head);
	hv_page_merge_init(&w->merge, head->nr_cpus, head->page_bytes);
	w->merge.max_bytes = WAITING_BYTES;
	hv_moments_init(&w->moments, &w->decode);
	hv_sched_init(&w->tasks, head->nr_cpus);
	*ret = &w->base;
	return NULL;
}

static void wait_free(struct hv_export *x)
{
	struct wait_export *w = of(x);

	hv_sched_deinit(&w->tasks);
	if (w->threads)
		hv_sched_deinit(w->threads);
	free(w->threads);
	hv_moments_deinit(&w->moments);
	hv_page_merge_deinit(&w->merge);
	hv_page_decode_deinit(&w->decode);
	free(w);
}

static struct hv_err *wait_add(struct hv_export *x, unsigned cpu, struct hv_span page)
{
	hv_page_merge_add(&of(x)->merge, cpu, page);
	return NULL;
}

static void lose(struct wait_export *w, const struct hv_merged *m)
{
	uint64_t lost = m->lost ? m->lost : 1;

	hv_sched_lose(&w->tasks, m->cpu);
	if (w->threads)
		hv_sched_lose(w->threads, m->cpu);
	w->times.tasks.nr_lost += lost;
	w->times.vcpus.nr_lost += lost;
}

/* Treats a switch or waking of host threads like one of the guest's tasks. */
static void see_host(struct wait_export *w, struct hv_moment *m)
{
	if (m->kind != HV_MOMENT_HOST_SWITCH && m->kind != HV_MOMENT_HOST_WAKING)
		return;
	m->kind = m->kind == HV_MOMENT_HOST_SWITCH ? HV_MOMENT_SWITCH : HV_MOMENT_WAKING;
	m->other_cpu = m->cpu;
	if (!w->threads) {
		w->threads = hv_alloc(sizeof(*w->threads));
		hv_sched_init(w->threads, w->tasks.nr_cpus);
	}
	if (hv_starts_with(m->other_comm, VCPU))
		hv_wait_times_see(&w->times.vcpus, w->threads, m);
	hv_sched_follow(w->threads, m);
}

static void see(struct wait_export *w, const struct hv_merged *m)
{
	struct hv_moment moment;
	struct hv_event e;

	if (m->has_lost)
		lose(w, m);
	if (!hv_page_decode_event(&w->decode, m, &e) ||
	    !hv_moments_decode(&w->moments, &e, &moment))
		return;
	if (hv_moment_is_hosts(moment.kind)) {
		see_host(w, &moment);
		return;
	}
	hv_wait_times_see(&w->times.tasks, &w->tasks, &moment);
	hv_sched_follow(&w->tasks, &moment);
}

static void take(struct wait_export *w)
{
	struct hv_merged m;

	while (hv_page_merge_next(&w->merge, &m))
		see(w, &m);
}

static struct hv_err *wait_turn(struct hv_export *x)
{
	take(of(x));
	hv_page_merge_turn(&of(x)->merge);
	return NULL;
}

static struct hv_err *wait_end(struct hv_export *x)
{
	hv_page_merge_end(&of(x)->merge);
	take(of(x));
	return NULL;
}

const struct hv_export_format hv_wait_format = {
	.name = "wait-times",
	.input = HV_EXPORT_PAGES,
	.needs_no_symbols = 1,
	.open = wait_open,
	.add = wait_add,
	.turn = wait_turn,
	.end = wait_end,
	.free = wait_free,
};
