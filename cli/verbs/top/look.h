/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `hvtrace top` reads of a domain, and what became of it between two looks. Pure.
 * Leaves to others: looking (domain.h). */
#pragma once

#include "cli/vcpu_time.h"
#include "cli/verbs/top/table.h"
#include "latency/wait_times.h"

/* What a domain had counted since its session began. */
struct top_look {
	uint64_t at_ns; /* monotonic; 0: there was no look */
	uint64_t nr_events, nr_lost, nr_not_counted, held_ns;
	uint64_t load_ppm; /* of the records, of a vCPU's time */
	unsigned has_load, has_time, has_exits, has_waits;
	uint64_t nr_exits;	    /* if has_exits */
	struct hv_wait_times waits; /* if has_waits */
	struct vcpu_time time;	    /* if has_time */
	struct top_counts counts;
};

/* What became of the counts between two looks. */
struct top_rates {
	double seconds;
	double events_per_s;
	uint64_t nr_lost;
	uint64_t nr_not_counted; /* calls for which a vCPU's profile had no place */
	double held_ms;		 /* all vCPUs were stopped */
	/* Parts of a vCPU's time in percent; less than 0: not known. */
	double cost; /* estimated: records on the vCPU with most, and profiled calls of all vCPUs */
	double run;  /* all vCPUs together, so it may be above 100 */
	double steal; /* likewise; they could have run */
	/* Less than 0: not known. */
	double exits_per_s;
	double wait_us;	   /* of tasks for a vCPU, on average */
	double wait_99_us; /* 99 of 100 waited for no longer; infinite: longer than all bounds */
};
void top_look_rates(const struct top_look *before, const struct top_look *now,
		    struct top_rates *ret);
