/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of counts are untrusted. */
#include "tracer/graph/call_counts.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/clock/clock.h"
#include "tracer/graph/graph_tracer.h"
#include "tracer/guest/tracee.h"

#define TWO_TO_64  18446744073709551616.0L
#define SPAN_TICKS (UINT64_C(1) << 30) /* enough to compute a clock's rate in whole ns */

struct hv_call_counts {
	struct hv_tracee *tracee; /* borrowed, like the next two */
	const struct hv_clock *clock;
	struct hv_graph_tracer *graph;
};

struct hv_call_counts *hv_call_counts_new(struct hv_tracee *t, const struct hv_clock *clock,
					  struct hv_graph_tracer *g)
{
	struct hv_call_counts *c = hv_alloc(sizeof(*c));

	*c = (struct hv_call_counts){t, clock, g};
	return c;
}

void hv_call_counts_free(struct hv_call_counts *c)
{
	free(c);
}

void hv_call_counts_switch(struct hv_call_counts *c, enum hv_switch to)
{
	hv_graph_tracer_count(c->graph, to);
}

static struct hv_count *table_of(const struct hv_tracee *t, unsigned cpu)
{
	return (struct hv_count *)(t->region.host + hv_plan_counts_off(&t->plan, cpu));
}

void hv_call_counts_clear(struct hv_call_counts *c)
{
	const struct hv_ring_plan *plan = &c->tracee->plan;

	memset(table_of(c->tracee, 0), 0,
	       sizeof(struct hv_count) * plan->nr_cpus * plan->nr_counts);
}

static uint64_t whole(long double value)
{
	if (!(value > 0))
		return 0;
	return value < TWO_TO_64 ? (uint64_t)value : UINT64_MAX;
}

/* The sample variance: s^2 = (sum of x^2 - (sum of x)^2 / n) / (n - 1). */
static uint64_t spread(const struct hv_count *c, long double ns_per_tick)
{
	long double squares = (long double)c->squares_high * TWO_TO_64 + (long double)c->squares;
	long double sum = (long double)c->ticks, n = (long double)c->hits;

	if (c->hits <= 1)
		return 0;
	return whole((squares - sum * sum / n) / (n - 1) * ns_per_tick * ns_per_tick / 1000);
}

/* Returns NULL if the function was not called. */
static const struct hv_count *find(const struct hv_tracee *t, const struct hv_count *table,
				   struct hv_gva site)
{
	const struct hv_kernel_core *core = &t->kernel->core;
	uint32_t function_low =
		(uint32_t)(site.v + core->as.arch->site_len_bytes - hv_reach_of(core).text_base.v);
	unsigned home = hv_count_home(function_low, t->plan.counts_shift);

	for (unsigned i = home; i < home + HV_COUNT_LOOKUPS; i++)
		if (__atomic_load_n(&table[i].function_low, __ATOMIC_RELAXED) == function_low)
			return &table[i];
	return NULL;
}

size_t hv_call_counts_read(const struct hv_call_counts *c, unsigned cpu,
			   struct hv_profile_count **ret)
{
	const struct hv_sites *sites = &c->tracee->kernel->sites;
	const struct hv_count *table = table_of(c->tracee, cpu);
	long double ns_per_tick =
		(long double)hv_clock_span_ns(c->clock, SPAN_TICKS) / (long double)SPAN_TICKS;
	struct hv_profile_count *list = hv_alloc((sites->nr + 1) * sizeof(*list));
	size_t nr = 0;

	for (size_t i = 0; i < sites->nr; i++) {
		const struct hv_site *site = &sites->list[i];
		const struct hv_count *at = site->invalid ? NULL : find(c->tracee, table, site->ip);
		struct hv_count count;

		if (!at)
			continue;
		memcpy(&count, at, sizeof(count));
		if (!count.hits)
			continue;
		list[nr++] = (struct hv_profile_count){
			.site = i,
			.hits = count.hits,
			.time_ns = whole((long double)count.ticks * ns_per_tick),
			.spread_ns2 = spread(&count, ns_per_tick),
			.host_ns = (uint64_t)count.host << HV_STEAL_SHIFT,
		};
	}
	*ret = list;
	return nr;
}
