/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verdict: which stalls have caused which others, whose fault they are, and which were the
 * worst. Tasks that wait for each other's vCPUs are one cause. If the host withheld a fifth of a
 * vCPU's time or more, it comes first, and each stall of that vCPU for which nothing else is at
 * fault belongs to it. Of each stall, what the host took of it is subtracted first; what is then
 * shorter than the threshold is the host's. Then a stall for which a deeper one is the reason
 * counts as one of its victims. What remains is put together by what causes it, and ranked by the
 * longest; sleeps without a reason come last. Where the clocks' error could make a stall the
 * host's, nobody is blamed. A request of which the VMM's own threads waited half for a CPU is the
 * fault of the host's scheduler. Leaves to others: words (cli/verbs/latency_text.h). Pure. */
#pragma once

#include "latency/exits.h"
#include "latency/outages.h"
#include "latency/shares.h"
#include "latency/stall.h"
#include "latency/takers.h"

enum hv_fault {
	HV_FAULT_UNKNOWN,
	HV_FAULT_TENANTS_KERNEL,
	HV_FAULT_TENANTS_PROGRAM,
	HV_FAULT_TENANTS_LIMIT, /* of CPU time, set in the guest */
	HV_FAULT_HOSTS_SCHEDULER,
	HV_FAULT_HOSTS_IO,
	HV_FAULT_HOSTS_LIMIT,  /* of CPU time, for the VMM */
	HV_FAULT_OTHER_TENANT, /* another guest on this host */
	HV_FAULT_HOST,	       /* somebody on the host, on purpose */
	HV_NR_FAULTS,
};

/* What is known of the host's side. */
enum hv_host_view {
	HV_HOST_UNSEEN, /* nothing */
	HV_HOST_SEEN,
	HV_HOST_APART, /* the guest's clock does not go on while the host does not run it */
};

struct hv_cause {
	enum hv_fault fault;
	struct hv_stall longest; /* its length is without what the host took */
	uint64_t host_ns;	 /* what the host took of it besides */
	bool is_doubtful;	 /* it may be the host's */
	/* A request to a device: for how long of it a thread of the VMM waited for a CPU. */
	uint64_t vmm_ns;
	struct hv_stall_task vmm; /* that thread, of the host */
	uint64_t nr;
	uint64_t total_ns;
	uint64_t nr_victims;	/* stalls that it has caused */
	struct hv_stall victim; /* the longest of these */
	/* Run queue: the tasks that wait for each other (crowds.h), and their vCPUs; 0: it is not
	 * a crowd. */
	uint32_t crowd; /* its name */
	uint64_t nr_crowd, nr_crowd_cpus;
	/* Host: it withheld so much of the vCPU's time that the cause comes first. */
	bool decides;
	/* A softirq or interrupt that the section was in; its length is 0 if there was none. */
	struct hv_stall inside;
};

#define HV_CAUSES_MAX 64

struct hv_verdict {
	struct hv_cause list[HV_CAUSES_MAX]; /* the worst first */
	size_t nr;
	uint64_t nr_left_out; /* causes that had no room */
};

struct hv_vcpu_threads;

struct hv_verdict_input {
	const struct hv_stalls *stalls;
	const struct hv_outages *host;
	const struct hv_outages *vmm;	/* of one vCPU: the VMM's other threads; NULL: not known */
	const struct hv_takers *takers; /* NULL: nobody knows who had the host's CPUs */
	const struct hv_exits *exits;	/* NULL: nobody sees them; else, their storms that go on */
	const struct hv_vcpu_threads *threads; /* NULL: what is known of the host are samples */
	const struct hv_shares *shares;	       /* NULL: not known */
	enum hv_host_view view;
	uint64_t slack_ns; /* times of the host can be wrong by so much */
	uint64_t threshold_ns;
};

void hv_verdict_find(const struct hv_verdict_input *in, struct hv_verdict *ret);
