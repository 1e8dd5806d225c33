/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An event as the analysers see it, independent of the format of the guest's trace event. Names and
 * numbers come from the guest and are untrusted.
 *
 * decode.h creates it from a page; sched.h and the analysers interpret it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"

#define HV_STALL_COMM_LEN 16

enum hv_moment_kind {
	HV_MOMENT_SWITCH, /* the vCPU switches from PID to OTHER */
	HV_MOMENT_WAKING, /* PID wakes OTHER */
	HV_MOMENT_IRQ,	  /* a handler of interrupt NUMBER begins; TEXT is its name */
	HV_MOMENT_IRQ_END,
	HV_MOMENT_SOFTIRQ, /* a handler of softirq NUMBER begins */
	HV_MOMENT_SOFTIRQ_END,
	HV_MOMENT_SYSCALL, /* PID enters system call NUMBER */
	HV_MOMENT_SYSCALL_END,
	HV_MOMENT_IO_QUEUED, /* request for sector NUMBER of DEVICE */
	HV_MOMENT_IO_ISSUED,
	HV_MOMENT_IO_DONE,
	HV_MOMENT_LOCK, /* PID begins to wait for the lock at address NUMBER */
	HV_MOMENT_LOCK_END,
	HV_MOMENT_RECLAIM, /* PID begins direct reclaim */
	HV_MOMENT_RECLAIM_END,
	HV_MOMENT_COMPACT, /* PID begins compaction to get a large page */
	HV_MOMENT_COMPACT_END,
	HV_MOMENT_TICK, /* the timer interrupts PID */
	/* The kernel throttles cgroup NUMBER on vCPU OTHER_CPU because its CPU time is used up.
	 * ADDRESS is 0 if PID is not the task that used it up. */
	HV_MOMENT_THROTTLE,
	HV_MOMENT_UNTHROTTLE,
	/* Events of the host (docs/users/events.md). PID is a host thread, and CPU is the vCPU. */
	HV_MOMENT_HOST_EXIT,   /* the vCPU leaves the guest at ADDRESS; NUMBER is the reason */
	HV_MOMENT_HOST_ENTRY,  /* the vCPU enters the guest again */
	HV_MOMENT_HOST_SWITCH, /* the host's CPU switches from PID to OTHER */
	HV_MOMENT_HOST_WAKING, /* PID wakes the host's thread OTHER */
	HV_NR_MOMENTS,
};

/* States in which a task leaves the vCPU, as in sched_switch. */
#define HV_LEFT_RUNNABLE	0x0
#define HV_LEFT_UNINTERRUPTIBLE 0x2
#define HV_LEFT_STOPPED		0x4
#define HV_LEFT_TRACED		0x8
#define HV_LEFT_ENDED		0x30  /* either bit: the task ended */
#define HV_LEFT_PREEMPTED	0x100 /* this bit, or a higher one in older kernels */

/* Lock flag: the waiter spins and does not sleep. */
#define HV_LOCK_SPINS 0x1

static inline bool hv_moment_is_hosts(enum hv_moment_kind kind)
{
	return kind >= HV_MOMENT_HOST_EXIT && kind < HV_NR_MOMENTS;
}

struct hv_moment {
	enum hv_moment_kind kind;
	unsigned cpu;
	uint64_t time_ns; /* trace clock */
	uint32_t pid;	  /* the running task */
	char comm[HV_STALL_COMM_LEN];
	uint32_t other;
	char other_comm[HV_STALL_COMM_LEN];
	int prio, other_prio; /* switch: below 100 is real-time; lower values are higher priority */
	unsigned other_cpu;   /* waking: the vCPU chosen for the task */
	uint64_t state;	      /* switch: how PID leaves; lock: flags; exit: isa, VMX or SVM */
	uint64_t number;
	uint64_t address; /* guest address */
	uint32_t device;
	char text[HV_STALL_COMM_LEN]; /* interrupt: name; request: operation, such as "WS" */
};
