/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counters that `hvtrace top` reads of a domain, and their rates between two looks. domain.h
 * reads them. Pure. */
#pragma once

#include "cli/metrics/vcpu_time.h"
#include "cli/verbs/top/table.h"
#include "latency/wait_times.h"

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
	uint64_t nr_not_counted; /* calls for which a vCPU's profile had no room */
	double held_ms;		 /* time in which all vCPUs were stopped */
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
