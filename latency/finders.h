/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The analysers. Each processes every event in order of time and adds the stalls that it finds.
 *
 * They share the state of the tasks, which is updated after they have processed the event.
 * verdict.h finds which stalls caused others, and subtracts the time that the host took. Pure. */
#pragma once

#include "latency/limits.h"
#include "latency/sched.h"
#include "latency/stacks.h"
#include "latency/stall.h"

#define HV_FINDERS_CPUS_MAX 4096
#define HV_IO_REQUESTS_MAX  1024 /* in flight; a power of two */

/* The handler of an interrupt or softirq that a vCPU executes. */
struct hv_handler {
	uint64_t from_ns; /* 0: no handler */
	uint64_t number;
	char name[HV_STALL_COMM_LEN];
};

struct hv_request {
	bool is_used;
	uint32_t device;
	uint64_t sector;
	uint64_t queued_ns, issued_ns; /* 0: not seen */
	struct hv_stall_task task;
	char what[HV_STALL_COMM_LEN];
};

struct hv_finders {
	uint64_t threshold_ns;
	bool sees_switches;   /* if false, tasks are not analysed */
	bool misses_syscalls; /* system calls are no longer recorded */
	uint64_t searched_ns; /* when a task last searched for memory */
	struct hv_sched tasks;
	struct hv_handler *irqs, *softirqs; /* owned, one per vCPU */
	struct hv_request *requests;	    /* owned */
	struct hv_limits *limits;	    /* owned */
	struct hv_ticks ticks;
	struct hv_stalls *stalls; /* borrowed */
};

/* STALLS must outlive F. */
void hv_finders_init(struct hv_finders *f, unsigned nr_cpus, uint64_t threshold_ns,
		     struct hv_stalls *stalls);
void hv_finders_deinit(struct hv_finders *f);
/* Call it in order of time. Ignores events of unknown vCPUs. */
void hv_finders_see(struct hv_finders *f, const struct hv_moment *m);
/* Adds STACK, which the guest recorded with M. Ignored if M's task no longer does what M began. */
void hv_finders_stack(struct hv_finders *f, const struct hv_moment *m,
		      const struct hv_stall_stack *stack);
/* Call it when system calls are no longer recorded: page faults are then unknown, too. */
void hv_finders_miss_syscalls(struct hv_finders *f);
/* Forgets what is in progress. Call it when events of CPU were lost, before the next event. */
void hv_finders_lose(struct hv_finders *f, unsigned cpu);
/* Adds the stalls that are still in progress at NOW_NS. */
void hv_finders_end(struct hv_finders *f, uint64_t now_ns);

/* Returns whether a series of memory waits has lasted so long that it should be reported before it
 * ends. */
bool hv_finders_have_long_series(const struct hv_finders *f, uint64_t now_ns);
/* Adds STALL if it reaches the threshold. The caller sets the interval; LENGTH_NS 0 means the whole
 * interval. Also fills in the tasks that ran before it, unless the caller did or SLACK_NS is set.
 */
void hv_finders_add(struct hv_finders *f, struct hv_stall *stall);
