/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "latency/outages.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/guard.h"

/* -- outages ----------------------------------------------------------------------------------- */

#define GAP_NS	 (2 * HV_NS_PER_MS) /* maximum gap between samples of one outage */
#define SHARE_OF 5		    /* outages of 1/5 of a second in total are a stall */
#define TAKERS	 32		    /* distinct threads per interval */

void hv_outages_init(struct hv_outages *h, unsigned nr_cpus)
{
	*h = (struct hv_outages){.nr_cpus = nr_cpus < HV_OUTAGE_CPUS_MAX ? nr_cpus
									 : HV_OUTAGE_CPUS_MAX};
	h->cpus = hv_realloc_array(NULL, h->nr_cpus + 1, sizeof(*h->cpus));
	for (unsigned i = 0; i < h->nr_cpus; i++)
		h->cpus[i] = (struct hv_outage_cpu){0};
}

void hv_outages_deinit(struct hv_outages *h)
{
	for (unsigned i = 0; i < h->nr_cpus; i++)
		free(h->cpus[i].spans);
	free(h->cpus);
}

static struct hv_outage *span_at(const struct hv_outage_cpu *c, unsigned i)
{
	return &c->spans[(c->first + i) % HV_OUTAGE_SPANS_MAX];
}

void hv_outages_add(struct hv_outages *h, unsigned cpu, const struct hv_outage *span)
{
	struct hv_outage_cpu *c;

	if (cpu >= h->nr_cpus || span->to_ns <= span->from_ns || !span->taken_ns)
		return;
	c = &h->cpus[cpu];
	if (!c->spans)
		c->spans = hv_realloc_array(NULL, HV_OUTAGE_SPANS_MAX, sizeof(*c->spans));
	if (c->nr == HV_OUTAGE_SPANS_MAX) {
		c->first = (c->first + 1) % HV_OUTAGE_SPANS_MAX;
		c->nr--;
	}
	*span_at(c, c->nr++) = *span;
}

uint64_t hv_outages_ns(const struct hv_outages *h, unsigned cpu, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t taken = 0;

	if (cpu >= h->nr_cpus || to_ns <= from_ns)
		return 0;
	from_ns += (uint64_t)h->offset_ns;
	to_ns += (uint64_t)h->offset_ns;
	for (unsigned i = h->cpus[cpu].nr; i-- > 0;) {
		const struct hv_outage *s = span_at(&h->cpus[cpu], i);
		struct hv_stall whole = {.from_ns = s->from_ns, .to_ns = s->to_ns};
		uint64_t overlap = hv_stall_overlap(&whole, from_ns, to_ns);

		taken += overlap < s->taken_ns ? overlap : s->taken_ns;
	}
	return taken < to_ns - from_ns ? taken : to_ns - from_ns;
}

uint64_t hv_outages_before(const struct hv_outages *h, unsigned cpu, uint64_t from_ns,
			   uint64_t to_ns)
{
	uint64_t longest = 0;

	if (cpu >= h->nr_cpus || to_ns <= from_ns)
		return 0;
	from_ns += (uint64_t)h->offset_ns;
	to_ns += (uint64_t)h->offset_ns;
	for (unsigned i = h->cpus[cpu].nr; i-- > 0;) {
		const struct hv_outage *s = span_at(&h->cpus[cpu], i);

		if (s->from_ns <= to_ns && s->to_ns + GAP_NS >= to_ns && s->longest_ns > longest)
			longest = s->longest_ns;
	}
	return longest < to_ns - from_ns ? longest : to_ns - from_ns;
}

/* -- who took it ------------------------------------------------------------------------------- */

struct takers {
	struct hv_stall_task tasks[TAKERS];
	uint64_t ns[TAKERS];
	unsigned nr;
};

static void credit(struct takers *t, const struct hv_stall_task *task, uint64_t ns)
{
	unsigned i = 0;

	if (!task->comm[0])
		return;
	while (i < t->nr && t->tasks[i].pid != task->pid)
		i++;
	if (i == TAKERS)
		return;
	if (i == t->nr) {
		t->tasks[t->nr++] = *task;
		t->ns[i] = 0;
	}
	t->ns[i] += ns;
}

/* The last thread gets half of the time, because the first one may have passed the CPU on
 * immediately. */
struct hv_stall_task hv_outages_taker(const struct hv_outages *h, unsigned cpu, uint64_t from_ns,
				      uint64_t to_ns)
{
	struct takers t = {0};
	unsigned most = 0;

	if (cpu >= h->nr_cpus)
		return (struct hv_stall_task){0};
	from_ns += (uint64_t)h->offset_ns;
	to_ns += (uint64_t)h->offset_ns;
	for (unsigned i = h->cpus[cpu].nr; i-- > 0;) {
		const struct hv_outage *s = span_at(&h->cpus[cpu], i);

		if (s->from_ns >= to_ns || s->to_ns <= from_ns)
			continue;
		credit(&t, &s->by_last, s->taken_ns - s->taken_ns / 2);
		credit(&t, &s->by, s->taken_ns / 2);
	}
	for (unsigned i = 1; i < t.nr; i++)
		if (t.ns[i] > t.ns[most])
			most = i;
	return t.nr ? t.tasks[most] : (struct hv_stall_task){0};
}

/* -- stalls ------------------------------------------------------------------------------------ */

struct wanted {
	const struct hv_outages *host;
	unsigned cpu;
	uint64_t threshold_ns;
	struct hv_stalls *ret;
};

static void add_stall(const struct wanted *w, const struct hv_outage *span)
{
	uint64_t from_ns = span->from_ns - (uint64_t)w->host->offset_ns;
	uint64_t to_ns = span->to_ns - (uint64_t)w->host->offset_ns;

	hv_stalls_add(w->ret, &(struct hv_stall){
				      .kind = HV_STALL_HOST,
				      .cpu = w->cpu,
				      .from_ns = from_ns,
				      .to_ns = to_ns,
				      .length_ns = span->taken_ns,
				      .number = span->why,
				      .longest_ns = span->longest_ns,
				      .by = hv_outages_taker(w->host, w->cpu, from_ns, to_ns),
			      });
}

/* Collects short outages: WHOLE joins the spans within a second. S is NULL at the end. */
static void gather(const struct wanted *w, struct hv_outage *whole, const struct hv_outage *s)
{
	if (whole->taken_ns && (!s || s->to_ns > whole->from_ns + HV_NS_PER_S)) {
		if (whole->taken_ns >= w->threshold_ns && whole->taken_ns >= HV_NS_PER_S / SHARE_OF)
			add_stall(w, whole);
		whole->taken_ns = 0;
	}
	if (!s)
		return;
	if (!whole->taken_ns)
		*whole = (struct hv_outage){.from_ns = s->from_ns, .why = s->why};
	whole->to_ns = s->to_ns;
	whole->taken_ns += s->taken_ns;
	if (s->longest_ns > whole->longest_ns)
		whole->longest_ns = s->longest_ns;
}

/* Returns whether the outage fills the interval without a gap. */
static bool is_full(const struct hv_outage *s)
{
	return s->longest_ns == s->taken_ns && s->taken_ns + GAP_NS >= s->to_ns - s->from_ns;
}

static bool goes_on(const struct hv_outage *a, const struct hv_outage *b)
{
	return a->why == b->why && b->from_ns <= a->to_ns + GAP_NS && is_full(a) && is_full(b);
}

static void end_run(const struct wanted *w, struct hv_outage *whole, const struct hv_outage *run)
{
	if (run->longest_ns >= w->threshold_ns)
		add_stall(w, run);
	else if (run->taken_ns)
		gather(w, whole, run);
}

static void stalls_of(const struct wanted *w)
{
	const struct hv_outage_cpu *c = &w->host->cpus[w->cpu];
	struct hv_outage run = {0}, whole = {0};

	for (unsigned i = 0; i < c->nr; i++) {
		const struct hv_outage *s = span_at(c, i);

		if (run.taken_ns && goes_on(&run, s)) {
			run.to_ns = s->to_ns;
			run.taken_ns += s->taken_ns;
			run.longest_ns = run.taken_ns;
			continue;
		}
		end_run(w, &whole, &run);
		run = *s;
	}
	end_run(w, &whole, &run);
	gather(w, &whole, NULL);
}

void hv_outages_stalls(const struct hv_outages *h, uint64_t threshold_ns, struct hv_stalls *ret)
{
	struct wanted w = {.host = h, .threshold_ns = threshold_ns, .ret = ret};

	for (; w.cpu < h->nr_cpus; w.cpu++)
		stalls_of(&w);
}

/* -- shares ------------------------------------------------------------------------------------ */

void hv_shares_deinit(struct hv_shares *s)
{
	free(s->list);
	*s = (struct hv_shares){0};
}

uint64_t hv_share_taken_ns(const struct hv_share *s)
{
	uint64_t taken_ns = s->waited_ns + s->stopped_ns;

	return taken_ns < s->window_ns ? taken_ns : s->window_ns;
}

uint64_t hv_share_halted_ns(const struct hv_share *s)
{
	uint64_t used_ns = s->ran_ns + hv_share_taken_ns(s);

	return used_ns < s->window_ns ? s->window_ns - used_ns : 0;
}

bool hv_share_decides(const struct hv_share *s)
{
	return s->window_ns && hv_share_taken_ns(s) >= s->window_ns / HV_SHARE_PART;
}

const struct hv_share *hv_shares_deciding(const struct hv_shares *s, unsigned cpu)
{
	return s && cpu < s->nr && hv_share_decides(&s->list[cpu]) ? &s->list[cpu] : NULL;
}

const struct hv_share *hv_shares_worst(const struct hv_shares *s)
{
	const struct hv_share *worst = NULL;

	for (unsigned cpu = 0; s && cpu < s->nr; cpu++)
		if (hv_shares_deciding(s, cpu) &&
		    (!worst || hv_share_taken_ns(&s->list[cpu]) > hv_share_taken_ns(worst)))
			worst = &s->list[cpu];
	return worst;
}

/* -- takers ------------------------------------------------------------------------------------ */

/* Compares only pids, because execve() changes the name of a thread. */
static struct hv_taker *find(struct hv_takers *t, uint32_t pid)
{
	for (size_t i = 0; i < t->nr; i++)
		if (t->list[i].task.pid == pid)
			return &t->list[i];
	return NULL;
}

static struct hv_taker *entry_for(struct hv_takers *t)
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
		taker = entry_for(t);
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
