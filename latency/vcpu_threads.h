/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows the host's threads that run the vCPUs, from the host's own events (docs/users/events.md).
 *
 * Finds when a thread was runnable but did not run, which thread had the CPU, how long it took to
 * run after a wakeup, and its exits. Unlike samples of schedstat, the results are exact and on the
 * clock of the guest's events. A thread is recognized as a vCPU by its exits.
 *
 * outages.h and exits.h decide which of these times are stalls. Pure. */
#pragma once

#include "latency/exits.h"
#include "latency/outages.h"
#include "latency/sched.h"

enum hv_vcpu_state {
	HV_VCPU_UNKNOWN,
	HV_VCPU_ON_CPU,
	HV_VCPU_WAITS,
	HV_VCPU_SLEEPS,
	HV_VCPU_STOPPED
};

struct hv_vcpu_thread {
	uint32_t tid; /* 0: not known yet */
	enum hv_vcpu_state state;
	uint64_t since_ns;	 /* when `state` began */
	uint64_t known_ns;	 /* no event after this time was lost; 0: unknown */
	bool was_woken;		 /* HV_VCPU_WAITS began with a wakeup */
	struct hv_stall_task by; /* HV_VCPU_WAITS: the thread that took the CPU */
	uint64_t exit_ns;	 /* when it left the guest; 0: it is in the guest, or unknown */
	uint64_t exit_key, exit_address;
	uint64_t exit_waited_ns;   /* part of the exit in which it waited or was stopped */
	struct hv_outage pieces;   /* short outages, reported as one */
	struct hv_stall_task task; /* the guest's task that ran last */
};

struct hv_wakeups {
	uint64_t nr, total_ns, longest_ns;
};

struct hv_vcpu_threads {
	struct hv_vcpu_thread *list; /* owned */
	unsigned nr;
	struct hv_exits exits;
	struct hv_takers takers;
	struct hv_wakeups wakeups;
	struct hv_outages *outages; /* borrowed */
	bool sees_any;		    /* an event of the host was seen */
};

/* OUTAGES and STALLS receive the results and must outlive T. */
void hv_vcpu_threads_init(struct hv_vcpu_threads *t, unsigned nr_cpus, struct hv_outages *outages,
			  struct hv_stalls *stalls);
void hv_vcpu_threads_deinit(struct hv_vcpu_threads *t);
/* Processes an event of the host. The reason of an exit must have a name already
 * (hv_exits_name()). */
void hv_vcpu_threads_see(struct hv_vcpu_threads *t, const struct hv_moment *m);
/* Processes an event of the guest, to attribute exits to tasks. */
void hv_vcpu_threads_see_guest(struct hv_vcpu_threads *t, const struct hv_moment *m);
/* Forgets the state of CPU's thread. Call it when events of CPU before NOW_NS were lost. */
void hv_vcpu_threads_lose(struct hv_vcpu_threads *t, unsigned cpu, uint64_t now_ns);
/* Returns whether all that the host did to CPU since FROM_NS is known. */
bool hv_vcpu_threads_know(const struct hv_vcpu_threads *t, unsigned cpu, uint64_t from_ns);
/* Adds outages and storms that are still in progress at NOW_NS. */
void hv_vcpu_threads_end(struct hv_vcpu_threads *t, uint64_t now_ns);
