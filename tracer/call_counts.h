/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The function profile: calls that the guest counts and times for each vCPU, without recording
 * them.
 * Leaves to others: which functions are counted (HV_STUB_PROFILED, site_stubs.h), the text (tree/).
 * One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hv_call_counts;
struct hv_clock;
struct hv_graph_tracer;
struct hv_tracee;

/* Borrows T; CLOCK, the guest's; and G, whose frames time the calls. */
struct hv_call_counts *hv_call_counts_new(struct hv_tracee *t, const struct hv_clock *clock,
					  struct hv_graph_tracer *g);
void hv_call_counts_free(struct hv_call_counts *c);

/* Switches counting; it is off at first. hv_session_stat has the number of calls that could not be
 * counted. */
void hv_call_counts_switch(struct hv_call_counts *c, unsigned on);
void hv_call_counts_clear(struct hv_call_counts *c);

struct hv_profile_count {
	size_t site;	     /* of kernel->sites */
	uint64_t hits;	     /* at least 1 */
	uint64_t time_ns;    /* of the calls that returned */
	uint64_t spread_ns2; /* the variance of their times, in 1000 ns^2 */
	/* For how long of the calls the host did not run the vCPU, with HV_GRAPH_HOST
	 * (ringbuf/abi.h); 73 minutes at most. */
	uint64_t host_ns;
};
/* Reads the counts of CPU. *RET, owned by the caller, has an entry for each function that is a site
 * now and was called, in the order of sites. Returns their number. */
size_t hv_call_counts_read(const struct hv_call_counts *c, unsigned cpu,
			   struct hv_profile_count **ret);
