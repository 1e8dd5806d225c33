/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The analysers: each looks at every event, in the order of times, and adds the stalls that it
 * finds. They share the tasks, which they see as they are before the event.
 * Leaves to others: what of a stall the host took, and which stall caused which (verdict.h). Pure.
 */
#pragma once

#include "latency/limits.h"
#include "latency/sched.h"
#include "latency/stall.h"
#include "latency/ticks.h"

#define HV_FINDERS_CPUS_MAX 4096
#define HV_IO_REQUESTS_MAX  1024 /* at one time; a power of two */

/* An interrupt or softirq that a vCPU handles. */
struct hv_handler {
	uint64_t from_ns; /* 0: none */
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
	bool sees_switches;   /* without, nothing is said of what tasks do */
	bool misses_syscalls; /* it is not known any more who is in one */
	uint64_t searched_ns; /* when a task looked for memory last */
	struct hv_sched tasks;
	struct hv_handler *irqs, *softirqs; /* owned, one a vCPU */
	struct hv_request *requests;	    /* owned */
	struct hv_limits *limits;	    /* owned */
	struct hv_ticks ticks;
	struct hv_stalls *stalls; /* borrowed */
};

/* STALLS outlives F. */
void hv_finders_init(struct hv_finders *f, unsigned nr_cpus, uint64_t threshold_ns,
		     struct hv_stalls *stalls);
void hv_finders_deinit(struct hv_finders *f);
/* Events come in the order of their times. An event of no vCPU is ignored. */
void hv_finders_see(struct hv_finders *f, const struct hv_moment *m);
/* The stack of the event M, which was seen last of its task. */
void hv_finders_stack(struct hv_finders *f, const struct hv_moment *m,
		      const struct hv_stall_stack *stack);
/* System calls are not recorded any more. */
void hv_finders_miss_syscalls(struct hv_finders *f);
/* Events of CPU were lost just before the next one. */
void hv_finders_lose(struct hv_finders *f, unsigned cpu);
/* Adds what is a stall by NOW_NS and goes on still. */
void hv_finders_end(struct hv_finders *f, uint64_t now_ns);

/* Whether a task looks or waits for memory again and again for so long already that it is to be
 * told although it goes on. */
bool hv_finders_have_long_series(const struct hv_finders *f, uint64_t now_ns);
/* Adds STALL, whose interval is set, if it is long enough. LENGTH_NS 0: the whole interval. What
 * ran before it is added, too, if it is not there and the interval is exact. */
void hv_finders_add(struct hv_finders *f, struct hv_stall *stall);
