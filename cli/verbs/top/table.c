/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/top/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/guard.h"

/* -- functions -------------------------------------------------------------------------------- */

#define ROOM_FIRST 256

static const char *const key_names[] = {
	[TOP_BY_TIME] = "time", [TOP_BY_HITS] = "hits",	    [TOP_BY_AVERAGE] = "average",
	[TOP_BY_NAME] = "name", [TOP_BY_DOMAIN] = "domain",
};

void top_counts_deinit(struct top_counts *c)
{
	free(c->list);
}

void top_counts_clear(struct top_counts *c)
{
	c->nr = 0;
	c->is_full = false;
}

static int compare_names(const void *pa, const void *pb)
{
	const struct top_count *a = pa, *b = pb;

	return strcmp(a->name, b->name);
}

void top_counts_join(struct top_counts *c)
{
	size_t nr = 0;

	if (c->nr)
		qsort(c->list, c->nr, sizeof(*c->list), compare_names);
	for (size_t i = 0; i < c->nr; i++) {
		if (nr && strcmp(c->list[nr - 1].name, c->list[i].name) == 0) {
			c->list[nr - 1].hits += c->list[i].hits;
			c->list[nr - 1].time_us += c->list[i].time_us;
		} else {
			c->list[nr++] = c->list[i];
		}
	}
	c->nr = nr;
}

/* Makes room for one more entry. Most vCPUs have the same functions, so joining their counters
 * often frees enough entries. */
static void make_room(struct top_counts *c)
{
	if (c->nr < c->room)
		return;
	top_counts_join(c);
	if (c->room && c->nr < c->room / 2)
		return;
	c->is_full = c->room >= 2 * TOP_COUNTS_MAX;
	if (c->is_full)
		return;
	c->room = c->room ? 2 * c->room : ROOM_FIRST;
	c->list = hv_realloc_array(c->list, c->room, sizeof(*c->list));
}

void top_counts_add(struct top_counts *c, const char *name, uint64_t hits, double time_us)
{
	struct top_count *count;

	if (!c->is_full)
		make_room(c);
	if (c->is_full)
		return;
	count = &c->list[c->nr++];
	*count = (struct top_count){.hits = hits, .time_us = time_us};
	memcpy(count->name, name, strnlen(name, PROFILE_NAME_MAX));
}

bool top_key_parse(const char *name, enum top_key *ret)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(key_names); i++)
		if (strcmp(name, key_names[i]) == 0) {
			*ret = (enum top_key)i;
			return true;
		}
	return false;
}

const char *top_key_name(enum top_key key)
{
	return key_names[key];
}

double top_row_average_us(const struct top_row *row)
{
	return row->hits ? row->time_us / (double)row->hits : 0;
}

void top_table_deinit(struct top_table *t)
{
	free(t->rows);
}

void top_table_clear(struct top_table *t)
{
	t->nr = 0;
}

static void add_row(struct top_table *t, size_t domain, const struct top_count *before,
		    const struct top_count *now)
{
	bool goes_on = before && now->hits >= before->hits && now->time_us >= before->time_us;
	struct top_row row = {
		.domain = domain,
		.name = now->name,
		.hits = now->hits - (goes_on ? before->hits : 0),
		.time_us = now->time_us - (goes_on ? before->time_us : 0),
	};

	if (row.hits || row.time_us > 0)
		t->rows[t->nr++] = row;
}

void top_table_add(struct top_table *t, size_t domain, const struct top_counts *before,
		   const struct top_counts *now)
{
	size_t b = 0;

	t->rows = hv_realloc_array(t->rows, t->nr + now->nr + 1, sizeof(*t->rows));
	for (size_t i = 0; i < now->nr; i++) {
		const char *name = now->list[i].name;

		while (b < before->nr && strcmp(before->list[b].name, name) < 0)
			b++;
		add_row(t, domain,
			b < before->nr && strcmp(before->list[b].name, name) == 0 ? &before->list[b]
										  : NULL,
			&now->list[i]);
	}
}

static double value_of(const struct top_row *row, enum top_key key)
{
	switch (key) {
	case TOP_BY_TIME:
		return row->time_us;
	case TOP_BY_HITS:
		return (double)row->hits;
	case TOP_BY_AVERAGE:
		return top_row_average_us(row);
	default:
		return 0;
	}
}

struct order {
	enum top_key key;
	unsigned reversed;
};

static int compare_rows(const void *pa, const void *pb, void *ctx)
{
	const struct top_row *a = pa, *b = pb;
	const struct order *order = ctx;
	double va = value_of(a, order->key), vb = value_of(b, order->key);
	int domains = (a->domain > b->domain) - (a->domain < b->domain);
	int names = strcmp(a->name, b->name);
	int by_key = (va < vb) - (va > vb);

	if (order->key == TOP_BY_NAME)
		by_key = names;
	if (order->key == TOP_BY_DOMAIN)
		by_key = domains;
	if (by_key)
		return order->reversed ? -by_key : by_key;
	return domains ? domains : names;
}

void top_table_sort(struct top_table *t, enum top_key key, unsigned reversed)
{
	struct order order = {key, reversed};

	if (t->nr)
		qsort_r(t->rows, t->nr, sizeof(*t->rows), compare_rows, &order);
}

/* -- the counters of a domain ----------------------------------------------------------------- */

#define NS_PER_US 1e3
#define CALL_NS	  26 /* of a profiled call and its return; bench/results/trampolines.md */

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
