/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the host took from the vCPUs: outages, the shares of its scheduler, and the threads that had
 * the CPU. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "latency/stall.h"

/* -- outages ----------------------------------------------------------------------------------- */

/* Outages: times in which the host did not run a vCPU that was ready to run.
 *
 * Spans come from samples of schedstat or from the host's own events. The analysers and the verdict
 * query how much of an interval the host took. cli/verbs/latency/host.h reads the host. */

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
/* Returns the length of the outage that was in progress at TO_NS or had just ended, at most the
 * length of the interval. This is the host's part of an operation that needs the vCPU only at its
 * end, such as a request to a device. */
uint64_t hv_outages_before(const struct hv_outages *h, unsigned cpu, uint64_t from_ns,
			   uint64_t to_ns);
/* Returns the thread that took most of the vCPU's time between the two times. No name: unknown. */
struct hv_stall_task hv_outages_taker(const struct hv_outages *h, unsigned cpu, uint64_t from_ns,
				      uint64_t to_ns);
/* Adds the stalls to RET. Adjacent spans count as one. Outages below the threshold become one stall
 * if together they reach it and took at least a fifth of a second within one second. */
void hv_outages_stalls(const struct hv_outages *h, uint64_t threshold_ns, struct hv_stalls *ret);

/* -- shares ------------------------------------------------------------------------------------ */

/* How the host's scheduler treated each vCPU in the measured window: how long its thread ran,
 * waited for a CPU, was throttled by a limit, was stopped, or slept because the vCPU was halted.
 * These are differences of counters, so they need neither a common clock with the guest nor events
 * of the host.
 *
 * cli/verbs/latency/host.h reads the counters. */

#define HV_SHARE_PART 5 /* if the host took 1/5 of the window, it is the first cause */

struct hv_share {
	unsigned cpu;
	uint64_t window_ns; /* 0: unknown */
	uint64_t ran_ns;
	uint64_t waited_ns;  /* includes LIMITED_NS */
	uint64_t limited_ns; /* waited because of its cgroup's limit; 0 if unknown */
	uint64_t stopped_ns;
};

struct hv_shares {
	struct hv_share *list; /* owned, indexed by vCPU */
	unsigned nr;
	bool is_together; /* one thread runs all vCPUs in turn; all entries describe it */
};

void hv_shares_deinit(struct hv_shares *s);

/* Returns the rest of the window, in which the vCPU was halted. */
uint64_t hv_share_halted_ns(const struct hv_share *s);
/* Returns how long the vCPU was ready to run but the host did not run it. */
uint64_t hv_share_taken_ns(const struct hv_share *s);
/* Returns whether the host took so much of the window that it is the first cause. */
bool hv_share_decides(const struct hv_share *s);
/* Returns the vCPU from which the host took most if hv_share_decides(), else NULL. S may be
 * NULL. */
const struct hv_share *hv_shares_worst(const struct hv_shares *s);
/* Returns the share of CPU if hv_share_decides(), else NULL. S may be NULL. */
const struct hv_share *hv_shares_deciding(const struct hv_shares *s, unsigned cpu);

/* -- takers ------------------------------------------------------------------------------------ */

/* Takers: threads of the host that had a CPU while a vCPU of the guest waited for it, how long each
 * had it, and what kind of thread it is. The scheduler events of the host show this. The table is
 * bounded: when it is full, the thread with the least time is replaced.
 *
 * cli/verbs/latency/neighbours.h classifies the threads. */

#define HV_TAKERS_MAX	    64
#define HV_TAKER_DOMAIN_LEN 64

enum hv_taker_kind {
	HV_TAKER_UNKNOWN, /* not looked up yet, or it has exited */
	HV_TAKER_HOST,	  /* a program or kernel thread of the host */
	HV_TAKER_VM,	  /* a thread of another guest */
	HV_TAKER_OWN,	  /* a thread of this guest's VMM */
	HV_TAKER_NOBODY,  /* the CPU was idle: the host did not let the vCPU run */
	HV_NR_TAKERS,
};

struct hv_taker {
	struct hv_stall_task task; /* of the host; the name is untrusted */
	uint64_t taken_ns;
	bool was_looked_at;
	enum hv_taker_kind kind;
	char domain[HV_TAKER_DOMAIN_LEN]; /* HV_TAKER_VM: its guest; untrusted; empty: unknown */
};

/* Zero-initialised is empty. */
struct hv_takers {
	struct hv_taker list[HV_TAKERS_MAX];
	size_t nr;
};

/* Adds NS of CPU time to TASK. Its pid is 0 for an idle CPU. Ignores tasks without a name. */
void hv_takers_add(struct hv_takers *t, const struct hv_stall_task *task, uint64_t ns);
/* Returns NULL if TASK is unknown. */
const struct hv_taker *hv_takers_find(const struct hv_takers *t, const struct hv_stall_task *task);
