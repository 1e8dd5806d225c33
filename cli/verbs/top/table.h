/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The data that `hvtrace top` shows: the functions, with the changes of their counters in an
 * interval, in an order; and the rates of the domains' counters. cli/metrics/profile.h reads the
 * counters of functions; top/text.h formats all. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/metrics/host_counts.h"
#include "cli/metrics/profile.h"
#include "latency/wait_times.h"

#define TOP_COUNTS_MAX (1u << 16) /* a domain's functions beyond this number may be omitted */

struct top_count {
	char name[PROFILE_NAME_MAX + 1];
	uint64_t hits;
	double time_us;
};

/* Zero-initialised is empty and valid. */
struct top_counts {
	struct top_count *list; /* owned; sorted by name after top_counts_join() */
	size_t nr, room;
	bool is_full; /* no further functions are counted */
};
void top_counts_deinit(struct top_counts *c);
void top_counts_clear(struct top_counts *c); /* empties it and keeps the memory */
/* Adds the counters of a function on one vCPU. Truncates NAME to PROFILE_NAME_MAX bytes. */
void top_counts_add(struct top_counts *c, const char *name, uint64_t hits, double time_us);
/* Merges the counters of equal names. */
void top_counts_join(struct top_counts *c);

enum top_key { TOP_BY_TIME, TOP_BY_HITS, TOP_BY_AVERAGE, TOP_BY_NAME, TOP_BY_DOMAIN };
/* Parses "time", "hits", "average", "name" or "domain". Returns false for other names. */
bool top_key_parse(const char *name, enum top_key *ret);
const char *top_key_name(enum top_key key);

struct top_row {
	size_t domain; /* its index */
	const char *name;
	uint64_t hits; /* in the interval; at least 1, or time_us is above 0 */
	double time_us;
};
double top_row_average_us(const struct top_row *row);

/* Zero-initialised is empty and valid. */
struct top_table {
	struct top_row *rows; /* owned; the names belong to the counts NOW */
	size_t nr;
};
void top_table_deinit(struct top_table *t);
void top_table_clear(struct top_table *t);
/* Adds the functions of DOMAIN whose counters changed. Both counts must be joined; NOW must outlive
 * the rows. A counter that is lower than before was reset in between. */
void top_table_add(struct top_table *t, size_t domain, const struct top_counts *before,
		   const struct top_counts *now);
/* Sorts by KEY, largest first, but names and domains alphabetically. REVERSED (0 or 1) reverses the
 * order. Rows with equal KEY are sorted by domain and name. */
void top_table_sort(struct top_table *t, enum top_key key, unsigned reversed);

/* -- the counters of a domain ----------------------------------------------------------------- */

/* The counters that `hvtrace top` reads of a domain, and their rates between two looks. domain.h
 * reads them. */

/* The counters of a domain since its session began. */
struct top_look {
	uint64_t at_ns; /* monotonic; 0: no look yet */
	uint64_t nr_events, nr_lost, nr_not_counted, held_ns;
	uint64_t load_ppm; /* cost of records, of a vCPU's time */
	unsigned has_load, has_time, has_exits, has_waits;
	uint64_t nr_exits;	    /* if has_exits */
	struct hv_wait_times waits; /* if has_waits */
	struct vcpu_time time;	    /* if has_time */
	struct top_counts counts;
};

/* Rates between two looks. */
struct top_rates {
	double seconds;
	double events_per_s;
	uint64_t nr_lost;
	uint64_t nr_not_counted; /* calls that did not fit into a vCPU's profile */
	double held_ms;		 /* how long all vCPUs were stopped */
	/* Percentages of a vCPU's time; negative: unknown. */
	double cost;  /* estimate: records on the busiest vCPU, and profiled calls of all vCPUs */
	double run;   /* all vCPUs together, so it may exceed 100 */
	double steal; /* all vCPUs together; time in which they could have run */
	/* Negative: unknown. */
	double exits_per_s;
	double wait_us;	   /* average wait of a task for a vCPU */
	double wait_99_us; /* 99th percentile; infinite: above the largest bound */
};
void top_look_rates(const struct top_look *before, const struct top_look *now,
		    struct top_rates *ret);
