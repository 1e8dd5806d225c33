/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The analysers. Each processes every event in order of time and adds the stalls that it finds.
 *
 * They share the state of the tasks (sched.h), which is updated after they have processed the
 * event. Stacks that the guest recorded with events, and samples of kernel positions, show where a
 * task waited or what it did. verdict.h finds which stalls caused others, and subtracts the time
 * that the host took. Pure. */
#pragma once

#include <stdint.h>

#include "latency/program_ticks.h"
#include "latency/sched.h"
#include "latency/stall.h"

/* -- stacks of events -------------------------------------------------------------------------- */

/* Matches stack records with the events they belong to.
 *
 * The guest records an event first and its stack later, on the same vCPU and for the same task. An
 * interrupt between the two can record events with their own stacks, so pending events form a stack
 * per vCPU. Stacks recorded at the end of a section (docs/users/latency-tracers.md) match no
 * event. */

#define HV_DUE_STACKS_MAX 4	   /* per vCPU, nested */
#define HV_DUE_STACK_NS	  10000000 /* later stacks count as lost */

struct hv_due_cpu {
	struct hv_moment list[HV_DUE_STACKS_MAX]; /* the oldest first */
	unsigned nr;
};

struct hv_due_stacks {
	struct hv_due_cpu *cpus; /* owned */
	unsigned nr_cpus;
	uint32_t kinds; /* events with stacks: 1 << enum hv_moment_kind */
};

void hv_due_stacks_init(struct hv_due_stacks *d, unsigned nr_cpus);
void hv_due_stacks_deinit(struct hv_due_stacks *d);
/* Adds M if its stack will follow. */
void hv_due_stacks_see(struct hv_due_stacks *d, const struct hv_moment *m);
/* Returns the event that a stack of PID on CPU belongs to, or NULL. Valid until the next call. */
const struct hv_moment *hv_due_stacks_take(struct hv_due_stacks *d, unsigned cpu, uint32_t pid,
					   uint64_t time_ns);
/* Forgets the pending events of CPU. Call it when events of CPU were lost. */
void hv_due_stacks_lose(struct hv_due_stacks *d, unsigned cpu);

/* -- samples ----------------------------------------------------------------------------------- */

/* Samples of kernel positions, taken when the timer interrupts a vCPU.
 *
 * They show where a long system call or section spent its time if no other event does. The last
 * samples of each vCPU are kept. The caller removes the frames of the interrupt itself and resolves
 * names. */

#define HV_TICKS_MAX 1024 /* per vCPU: four seconds at 250 Hz */

struct hv_tick {
	uint64_t time_ns;
	uint32_t pid;
	struct hv_stall_stack stack; /* the interrupted address, then its callers */
};

struct hv_tick_cpu {
	struct hv_tick *list; /* owned; a ring, in order of time */
	unsigned first, nr;
};

struct hv_ticks {
	struct hv_tick_cpu *cpus; /* owned */
	unsigned nr_cpus;
	/* Returns the start of the function that contains the address. If NULL, each address counts
	 * as a function. */
	uint64_t (*function_of)(const void *data, uint64_t address);
	const void *data;
};

/* -- analysers --------------------------------------------------------------------------------- */

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
	struct hv_program_ticks programs;
	struct hv_stalls *stalls; /* borrowed */
};

/* STALLS must outlive F. */
void hv_finders_init(struct hv_finders *f, unsigned nr_cpus, uint64_t threshold_ns,
		     struct hv_stalls *stalls);
void hv_finders_deinit(struct hv_finders *f);
/* Call it in order of time. Ignores events of unknown vCPUs. */
void hv_finders_see(struct hv_finders *f, const struct hv_moment *m);
/* Adds STACK, which the guest recorded with M. Ignored if M began a wait that has already ended. */
void hv_finders_stack(struct hv_finders *f, const struct hv_moment *m,
		      const struct hv_stall_stack *stack);
/* Call it when system calls are no longer recorded. Page faults are then not detected either,
 * because a task is only assumed to be in a page fault if it is in no system call. */
void hv_finders_miss_syscalls(struct hv_finders *f);
/* Forgets what is in progress. Call it when events of CPU were lost, before the next event. */
void hv_finders_lose(struct hv_finders *f, unsigned cpu);
/* Adds the stalls that are still in progress at NOW_NS. */
void hv_finders_end(struct hv_finders *f, uint64_t now_ns);

/* Returns whether a series of memory waits has lasted so long that it should be reported before it
 * ends. */
bool hv_finders_have_long_series(const struct hv_finders *f, uint64_t now_ns);
/* Adds STALL if its length reaches the threshold. The caller sets the interval; LENGTH_NS 0: the
 * length is the whole interval. If SLACK_NS is 0, also fills in the samples, and the tasks that ran
 * before the stall unless the caller did. */
void hv_finders_add(struct hv_finders *f, struct hv_stall *stall);
