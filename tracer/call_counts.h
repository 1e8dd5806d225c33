/* The function profile: calls that are counted and timed in the guest, for each vCPU, without
 * recording any.
 * Leaves to others: of which functions (HV_STUB_PROFILED, site_stubs.h), the text (tree/). One
 * thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hv_call_counts;
struct hv_clock;
struct hv_graph_tracer;
struct hv_tracee;

/* Borrows T, CLOCK, the guest's, and G, whose frames time the calls. */
struct hv_call_counts *hv_call_counts_new(struct hv_tracee *t, const struct hv_clock *clock,
					  struct hv_graph_tracer *g);
void hv_call_counts_free(struct hv_call_counts *c);

/* Whether calls are counted; at first they are not. Nothing is lost but what hv_session_stat tells.
 */
void hv_call_counts_switch(struct hv_call_counts *c, unsigned on);
void hv_call_counts_clear(struct hv_call_counts *c);

struct hv_profile_count {
	size_t site;	     /* of kernel->sites */
	uint64_t hits;	     /* at least 1 */
	uint64_t time_ns;    /* of the calls that returned */
	uint64_t spread_ns2; /* the variance of their times, in 1000 ns^2 */
};
/* What there is of CPU: *RET is the caller's, with one for each function that is a site now and was
 * called, in the order of sites. Returns their number. */
size_t hv_call_counts_read(const struct hv_call_counts *c, unsigned cpu,
			   struct hv_profile_count **ret);
