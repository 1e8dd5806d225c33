/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A stall: an interval, not shorter than the threshold, in which something kept somebody waiting.
 * The analysers find stalls, the verdict (verdict.h) tells which of them caused the others. A
 * list of stalls is bounded, whatever the guest does: of too many, the longest are kept. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "latency/event.h"

/* In the order in which they explain each other: an earlier one can be the cause of a later one. */
enum hv_stall_kind {
	HV_STALL_HOST,	  /* the host did not run the vCPU */
	HV_STALL_EXITS,	  /* the vCPU was in exits of one reason most of the time */
	HV_STALL_LOCK,	  /* a task waited for a lock */
	HV_STALL_SECTION, /* interrupts or preemption were off */
	HV_STALL_IRQ,
	HV_STALL_SOFTIRQ,
	HV_STALL_LIMIT, /* the task, or its cgroup, has used up its CPU time (limits.h) */
	HV_STALL_RECLAIM,
	HV_STALL_IO_DEVICE, /* between the guest's driver and the device's answer */
	HV_STALL_IO_QUEUE,  /* in the guest's own queue */
	HV_STALL_FAULTS,    /* a task's page faults waited for memory to be read */
	HV_STALL_RUNQUEUE,  /* a task was runnable and did not run */
	HV_STALL_SYSCALL,   /* a system call kept the vCPU busy */
	HV_STALL_SLEEP,	    /* a task slept and could not be interrupted */
	HV_NR_STALLS,
};

#define HV_STALL_NAME_LEN 64
#define HV_STALL_CALLERS  8
#define HV_STALL_STACK	  16   /* some of which are the scheduler's own functions */
#define HV_STALLS_MAX	  2048 /* of a list */

struct hv_stall_task {
	uint32_t pid;
	char comm[HV_STALL_COMM_LEN]; /* hostile; empty: not known */
};

/* A stack of the guest's kernel, by return addresses, as its own unwinder shows it; 0: no more. */
struct hv_stall_stack {
	uint64_t callers[HV_STALL_STACK];
};

#define HV_STALL_PIECES 8
#define HV_STALL_BEFORE 8

/* Of a series of reclaims or faults. */
#define HV_SERIES_PRESSED 0x1 /* memory was looked for meanwhile */
#define HV_SERIES_WORKERS 0x2 /* it is a worker of the kernel, as the one of a balloon is */

/* A time for which a task was on a vCPU. */
struct hv_stall_piece {
	unsigned cpu;
	uint64_t from_ns, to_ns;
};

/* A task that ran on the vCPU before a stall, and for how long. */
struct hv_stall_before {
	struct hv_stall_task task;
	uint64_t ns;
};

struct hv_stall {
	enum hv_stall_kind kind;
	unsigned cpu;
	uint64_t from_ns, to_ns;
	uint64_t slack_ns;  /* its times can be wrong by so much: it was not seen when it was */
	uint64_t length_ns; /* of the interval, what counts */
	struct hv_stall_task task; /* who was kept waiting, or whose it was */
	/* Run queue: who ran most of the time; pid 0: nobody. Host: the host's thread that had the
	 * CPU; without a name: it is not known. */
	struct hv_stall_task by;
	int by_prio;	/* run queue: as in struct hv_moment */
	uint64_t by_ns; /* run queue: for how long */
	/* Interrupt, softirq, system call: its number. Lock: its address. Request: the sector.
	 * Reclaim: 1 for compaction. Limit, and run queue of a task that one has stopped: the
	 * cgroup; 0: none. Host: enum hv_outage_why. Exits: the key of their reason. */
	uint64_t number;
	uint32_t device; /* of a request: major << 20 | minor */
	/* Of a lock: HV_LOCK_*; of exits: HV_EXITS_*; of a series: HV_SERIES_*; of a limit:
	 * HV_LIMIT_* */
	uint64_t flags;
	uint64_t longest_ns; /* host: the longest piece; exits, reclaim, faults: the longest one */
	uint64_t nr;	     /* of exits, reclaims, or faults */
	/* System call: when it was on which vCPU. NR_PIECES 0: there were too many of them. */
	struct hv_stall_piece pieces[HV_STALL_PIECES];
	unsigned nr_pieces;
	/* Where the task sleeps or waits, or gave up the vCPU that it waits for or kept; if that
	 * was recorded. */
	struct hv_stall_stack stack;
	/* Samples in its interval (ticks.h), and those in the function that has most; where that
	 * was, and from where it was called. */
	unsigned nr_samples, nr_most;
	uint64_t most, most_caller;
	char most_name[HV_STALL_NAME_LEN], most_caller_name[HV_STALL_NAME_LEN];
	struct hv_stall_before before[HV_STALL_BEFORE]; /* the last one first */
	unsigned nr_before;
	char name[HV_STALL_NAME_LEN]; /* of an interrupt, of a reason; where a section begins */
	char end[HV_STALL_NAME_LEN];  /* where a section ends */
	char callers[HV_STALL_CALLERS][HV_STALL_NAME_LEN]; /* of the end; empty: no more */
};

/* Zero-initialised is empty. */
struct hv_stalls {
	struct hv_stall *list; /* owned */
	size_t nr;
	uint64_t nr_dropped; /* stalls that had no room */
};

/* Copies STALL. */
void hv_stalls_add(struct hv_stalls *s, const struct hv_stall *stall);
void hv_stalls_clear(struct hv_stalls *s);
void hv_stalls_deinit(struct hv_stalls *s);
/* Forgets stalls that ended before NS. */
void hv_stalls_forget(struct hv_stalls *s, uint64_t ns);

struct hv_stall_task hv_stall_task(uint32_t pid, const char *comm);

/* The part of A's interval that is in that of FROM_NS to TO_NS, too. */
uint64_t hv_stall_overlap(const struct hv_stall *a, uint64_t from_ns, uint64_t to_ns);
