/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verdict: which stalls caused which others, whose fault they are, and which were the worst.
 *
 *   - The time that the host took is subtracted from each stall. If the rest is shorter than the
 *     threshold, the host caused the stall.
 *   - If one stall led to another, the second counts as a victim of the first.
 *   - The remaining stalls are grouped by cause, and ranked by their longest stall. Sleeps without
 *     a reason come last.
 *   - Tasks that wait for each other's vCPUs are one cause.
 *   - If the host withheld a fifth of a vCPU's time or more, that is the first cause. Stalls of
 *     that vCPU without another fault belong to it.
 *   - If the VMM's own threads waited for a CPU during at least half of a request, the request is
 *     the fault of the host's scheduler.
 *   - If the clock error could make a stall the host's fault, the fault is unknown.
 *
 * cli/verbs/latency/report.h formats the verdict. Pure. */
#pragma once

#include "latency/outages.h"
#include "latency/stall.h"
#include "latency/vcpu_threads.h"

enum hv_fault {
	HV_FAULT_UNKNOWN,
	HV_FAULT_TENANTS_KERNEL,
	HV_FAULT_TENANTS_PROGRAM,
	HV_FAULT_TENANTS_LIMIT, /* on CPU time, set in the guest */
	HV_FAULT_HOSTS_SCHEDULER,
	HV_FAULT_HOSTS_IO,
	HV_FAULT_HOSTS_LIMIT,  /* on CPU time, of the VMM */
	HV_FAULT_OTHER_TENANT, /* another guest on this host */
	HV_FAULT_HOST,	       /* a deliberate action on the host */
	HV_NR_FAULTS,
};

/* Information about the host's side. */
enum hv_host_view {
	HV_HOST_UNSEEN, /* no information */
	HV_HOST_SEEN,
	HV_HOST_APART, /* the guest's clock stops while the host does not run the guest */
};

struct hv_cause {
	enum hv_fault fault;
	struct hv_stall longest; /* its length excludes HOST_NS */
	uint64_t host_ns;	 /* time of `longest` that the host took */
	bool is_doubtful;	 /* the host may be at fault */
	/* Request to a device: how long a thread of the VMM waited for a CPU during it. */
	uint64_t vmm_ns;
	struct hv_stall_task vmm; /* that thread of the host */
	uint64_t nr;
	uint64_t total_ns;
	uint64_t nr_victims;	/* stalls that this cause led to */
	struct hv_stall victim; /* the longest of them */
	/* Run queue: the tasks that wait for each other, and their vCPUs; crowd 0: not a
	 * crowd. */
	uint32_t crowd; /* names the crowd */
	uint64_t nr_crowd, nr_crowd_cpus;
	/* Host: it withheld a fifth or more of the vCPU's time, so this cause comes first. */
	bool decides;
	/* A softirq or interrupt that contained the section; length 0: none. */
	struct hv_stall inside;
};

#define HV_CAUSES_MAX 64

struct hv_verdict {
	struct hv_cause list[HV_CAUSES_MAX]; /* the worst first */
	size_t nr;
	uint64_t nr_skipped; /* causes that did not fit */
};

struct hv_vcpu_threads;

struct hv_verdict_input {
	const struct hv_stalls *stalls;
	const struct hv_outages *host;
	const struct hv_outages *vmm;	/* the VMM's other threads, as one vCPU; NULL: unknown */
	const struct hv_takers *takers; /* NULL: unknown */
	const struct hv_exits *exits;	/* with the storms in progress; NULL: unknown */
	const struct hv_vcpu_threads *threads; /* NULL: the host was sampled */
	const struct hv_shares *shares;	       /* NULL: unknown */
	enum hv_host_view view;
	uint64_t slack_ns; /* possible error of the host's times */
	uint64_t threshold_ns;
};

void hv_verdict_find(const struct hv_verdict_input *in, struct hv_verdict *ret);
