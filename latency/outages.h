/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The host's side: when it did not run a vCPU that wanted to run. Whoever knows that (samples of
 * the threads' schedstat, the host's own events) adds spans; the analysers and the verdict ask how
 * much of an interval was taken.
 * Leaves to others: reading the host (cli/verbs/latency/host.h). Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "latency/stall.h"

enum hv_outage_why {
	HV_OUTAGE_WAITED,  /* its thread was runnable, and another thread had the CPU */
	HV_OUTAGE_STOPPED, /* its thread was stopped by a signal or a tracer */
	HV_NR_OUTAGE_WHY,
};

#define HV_OUTAGE_SPANS_MAX 4096 /* of a vCPU: the last ones are kept */
#define HV_OUTAGE_CPUS_MAX  4096

/* In the interval the vCPU was not run for TAKEN_NS. */
struct hv_outage {
	uint64_t from_ns, to_ns; /* on the host's monotonic clock */
	uint64_t taken_ns;	 /* not more than the interval's length */
	uint64_t longest_ns;	 /* the longest piece of it */
	enum hv_outage_why why;
	/* Who had its CPU first and last in the longest piece; without a name: it is not known. */
	struct hv_stall_task by, by_last;
};

struct hv_outage_cpu {
	struct hv_outage *spans; /* owned; a ring, ascending */
	unsigned first, nr;
};

struct hv_outages {
	struct hv_outage_cpu *cpus; /* owned */
	unsigned nr_cpus;
	/* The host's clock less that of the trace. All other times here are on the latter. */
	int64_t offset_ns;
};

/* NR_CPUS is at most HV_OUTAGE_CPUS_MAX. */
void hv_outages_init(struct hv_outages *h, unsigned nr_cpus);
void hv_outages_deinit(struct hv_outages *h);
/* A span begins no earlier than the one before it; one of no vCPU is ignored. */
void hv_outages_add(struct hv_outages *h, unsigned cpu, const struct hv_outage *span);
/* For how long the vCPU was not run between the two times. Where only a part of a span is asked
 * for, all that was taken is supposed to be in that part, as far as it has room: so the guest is
 * not blamed for what may be the host's. */
uint64_t hv_outages_ns(const struct hv_outages *h, unsigned cpu, uint64_t from_ns, uint64_t to_ns);
/* For how long the vCPU was not run just before TO_NS, at most since FROM_NS. It is what the host
 * took of something that does not need the vCPU until its end, as a request to a device. */
uint64_t hv_outages_before(const struct hv_outages *h, unsigned cpu, uint64_t from_ns,
			   uint64_t to_ns);
/* Who took most of the vCPU's time between the two times. Without a name: it is not known. */
struct hv_stall_task hv_outages_taker(const struct hv_outages *h, unsigned cpu, uint64_t from_ns,
				      uint64_t to_ns);
/* Adds to RET the stalls: spans that follow each other without a gap are one. Also those that are
 * long only together: when pieces that are shorter took at least a fifth of a second. */
void hv_outages_stalls(const struct hv_outages *h, uint64_t threshold_ns, struct hv_stalls *ret);
