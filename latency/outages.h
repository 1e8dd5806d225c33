/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Outages: times in which the host did not run a vCPU that was ready to run.
 *
 * Spans come from samples of schedstat or from the host's own events. The analysers and the
 * verdict query how much of an interval the host took. cli/verbs/latency/host.h reads the host.
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "latency/stall.h"

enum hv_outage_why {
	HV_OUTAGE_WAITED,  /* its thread was runnable, and another thread had the CPU */
	HV_OUTAGE_STOPPED, /* its thread was stopped by a signal or a tracer */
	HV_NR_OUTAGE_WHY,
};

#define HV_OUTAGE_SPANS_MAX 4096 /* per vCPU; the last ones are kept */
#define HV_OUTAGE_CPUS_MAX  4096

/* An interval in which the vCPU was not run for TAKEN_NS. */
struct hv_outage {
	uint64_t from_ns, to_ns; /* on the host's monotonic clock */
	uint64_t taken_ns;	 /* at most the length of the interval */
	uint64_t longest_ns;	 /* the longest outage in the interval */
	enum hv_outage_why why;
	/* The threads that had the CPU first and last in the longest outage; no name: unknown. */
	struct hv_stall_task by, by_last;
};

struct hv_outage_cpu {
	struct hv_outage *spans; /* owned; a ring, in order of time */
	unsigned first, nr;
};

struct hv_outages {
	struct hv_outage_cpu *cpus; /* owned */
	unsigned nr_cpus;
	/* The host's clock minus the trace's clock. Spans are on the host's clock, the times of the
	 * functions below on the trace's. */
	int64_t offset_ns;
};

/* NR_CPUS is at most HV_OUTAGE_CPUS_MAX. */
void hv_outages_init(struct hv_outages *h, unsigned nr_cpus);
void hv_outages_deinit(struct hv_outages *h);
/* Adds SPAN. Spans must be added in order of their start. Ignores spans of unknown vCPUs. */
void hv_outages_add(struct hv_outages *h, unsigned cpu, const struct hv_outage *span);
/* Returns how long the vCPU was not run between the two times. If the interval covers only part of
 * a span, as much as possible of the span's outage is assumed to lie in that part, so that the
 * guest is not blamed for a fault of the host. */
uint64_t hv_outages_ns(const struct hv_outages *h, unsigned cpu, uint64_t from_ns, uint64_t to_ns);
/* Returns how long the vCPU was not run just before TO_NS, but not before FROM_NS. This is the
 * host's part of something that needs the vCPU only at its end, such as a request to a device. */
uint64_t hv_outages_before(const struct hv_outages *h, unsigned cpu, uint64_t from_ns,
			   uint64_t to_ns);
/* Returns the thread that took most of the vCPU's time between the two times. No name: unknown. */
struct hv_stall_task hv_outages_taker(const struct hv_outages *h, unsigned cpu, uint64_t from_ns,
				      uint64_t to_ns);
/* Adds the stalls to RET. Adjacent spans count as one. Shorter outages count together if they took
 * at least a fifth of a second within one second. */
void hv_outages_stalls(const struct hv_outages *h, uint64_t threshold_ns, struct hv_stalls *ret);
