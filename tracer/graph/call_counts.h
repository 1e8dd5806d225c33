/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The function profile: the guest counts and times calls per vCPU without recording them.
 *
 * site_trampolines.h selects the functions (HV_TRAMPOLINE_PROFILED); tree/ formats the text. One
 * thread. */
#pragma once

#include "base/switch.h"

#include <stddef.h>
#include <stdint.h>

struct hv_call_counts;
struct hv_clock;
struct hv_graph_tracer;
struct hv_tracee;

/* Borrows all arguments. CLOCK is the guest's clock; the frames of G time the calls. */
struct hv_call_counts *hv_call_counts_new(struct hv_tracee *t, const struct hv_clock *clock,
					  struct hv_graph_tracer *g);
void hv_call_counts_free(struct hv_call_counts *c);

/* Switches counting, which is off at first. hv_session_stat reports the number of calls that could
 * not be counted. */
void hv_call_counts_switch(struct hv_call_counts *c, enum hv_switch to);
void hv_call_counts_clear(struct hv_call_counts *c);

struct hv_profile_count {
	size_t site;	     /* index into kernel->sites */
	uint64_t hits;	     /* at least 1 */
	uint64_t time_ns;    /* total time of the calls that returned */
	uint64_t spread_ns2; /* variance of the call times, in units of 1000 ns^2 */
	/* Time in these calls during which the host did not run the vCPU, with HV_GRAPH_HOST
	 * (ringbuf/abi.h); at most 73 minutes. */
	uint64_t host_ns;
};
/* Reads the counts of CPU. *RET, owned by the caller, has an entry for each function that is still
 * a site and was called, in the order of sites. Returns the number of entries. */
size_t hv_call_counts_read(const struct hv_call_counts *c, unsigned cpu,
			   struct hv_profile_count **ret);
