/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/top/look.h"

#include <math.h>

#include "base/clock.h"

#define NS_PER_US 1e3
#define CALL_NS	  26 /* of a profiled call and its return; bench/results/stubs.md */

/* A counter that is lower than before was reset. */
static uint64_t grown(uint64_t before, uint64_t now)
{
	return now >= before ? now - before : now;
}

/* Returns a part of a vCPU's time in percent. */
static double percent(double ns, double seconds)
{
	return ns / (seconds * HV_NS_PER_S) * 100;
}

static uint64_t calls_of(const struct top_look *l)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < l->counts.nr; i++)
		sum += l->counts.list[i].hits;
	return sum;
}

/* If no task waited, both values stay unknown. */
static void add_waits(const struct hv_wait_times *before, const struct hv_wait_times *now,
		      struct top_rates *ret)
{
	uint64_t nr[HV_WAIT_TIMES_BOUNDS + 1], all = 0, sum = 0;
	unsigned i = 0;

	for (unsigned k = 0; k <= HV_WAIT_TIMES_BOUNDS; k++)
		all += nr[k] = grown(before->nr[k], now->nr[k]);
	if (!all)
		return;
	ret->wait_us = (double)grown(before->sum_ns, now->sum_ns) / (double)all / NS_PER_US;
	for (sum = nr[0]; sum * 100 < all * 99; sum += nr[i])
		i++;
	ret->wait_99_us = i < HV_WAIT_TIMES_BOUNDS ? (double)hv_wait_times_bounds_ns[i] / NS_PER_US
						   : INFINITY;
}

void top_look_rates(const struct top_look *before, const struct top_look *now,
		    struct top_rates *ret)
{
	const struct top_look *b = before, *n = now;
	double seconds = (double)(n->at_ns - b->at_ns) / HV_NS_PER_S;

	*ret = (struct top_rates){
		.seconds = seconds,
		.events_per_s = (double)grown(b->nr_events, n->nr_events) / seconds,
		.nr_lost = grown(b->nr_lost, n->nr_lost),
		.nr_not_counted = grown(b->nr_not_counted, n->nr_not_counted),
		.held_ms = (double)grown(b->held_ns, n->held_ns) / HV_NS_PER_MS,
		.cost = -1,
		.run = -1,
		.steal = -1,
		.exits_per_s = -1,
		.wait_us = -1,
		.wait_99_us = -1,
	};
	if (n->has_load)
		ret->cost = (double)n->load_ppm / 1e4 +
			    percent((double)grown(calls_of(b), calls_of(n)) * CALL_NS, seconds);
	if (b->has_time && n->has_time) {
		ret->run = percent((double)grown(b->time.run_ns, n->time.run_ns), seconds);
		ret->steal = percent((double)grown(b->time.wait_ns, n->time.wait_ns), seconds);
	}
	if (b->has_exits && n->has_exits)
		ret->exits_per_s = (double)grown(b->nr_exits, n->nr_exits) / seconds;
	if (b->has_waits && n->has_waits)
		add_waits(&b->waits, &n->waits, ret);
}
