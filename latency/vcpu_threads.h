/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The host's threads that run the vCPUs, by the host's own events (docs/users/events.md): when a
 * thread wanted to run and did not, and who had the CPU; how late it ran after it was woken; its
 * exits. Unlike samples of schedstat, these are exact, and on the clock of the guest's events. A
 * thread is known to be a vCPU's by its exits. Leaves to others: what is a stall (outages.h,
 * exits.h), what threads are (takers.h). Pure. */
#pragma once

#include "latency/exits.h"
#include "latency/outages.h"
#include "latency/sched.h"
#include "latency/takers.h"

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
	uint64_t since_ns;	 /* when STATE began */
	uint64_t known_ns;	 /* since when it is known without a gap; 0: it is not */
	bool was_woken;		 /* it waits since it was woken */
	struct hv_stall_task by; /* waits: who took the CPU from it */
	uint64_t exit_ns;	 /* when it left the guest; 0: it is in it, or it is not known */
	uint64_t exit_key, exit_address;
	uint64_t exit_waited_ns;   /* of the exit, in which it waited or was stopped */
	struct hv_outage pieces;   /* short outages, which are told together */
	struct hv_stall_task task; /* of the guest, that ran last */
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
	bool sees_any;		    /* there were events */
};

/* OUTAGES and STALLS get what is found, and outlive T. */
void hv_vcpu_threads_init(struct hv_vcpu_threads *t, unsigned nr_cpus, struct hv_outages *outages,
			  struct hv_stalls *stalls);
void hv_vcpu_threads_deinit(struct hv_vcpu_threads *t);
/* M is of the host. Exits' reasons have names before. */
void hv_vcpu_threads_see(struct hv_vcpu_threads *t, const struct hv_moment *m);
/* M is of the guest: tells whose exits the next ones are. */
void hv_vcpu_threads_see_guest(struct hv_vcpu_threads *t, const struct hv_moment *m);
/* Events of CPU were lost before NOW_NS. */
void hv_vcpu_threads_lose(struct hv_vcpu_threads *t, unsigned cpu, uint64_t now_ns);
/* Whether all is known of what the host did to the vCPU CPU from FROM_NS on. */
bool hv_vcpu_threads_know(const struct hv_vcpu_threads *t, unsigned cpu, uint64_t from_ns);
/* Adds what goes on still. */
void hv_vcpu_threads_end(struct hv_vcpu_threads *t, uint64_t now_ns);
