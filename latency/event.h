/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One event as the analysers see it: what a trace event of the guest says of the causes that they
 * look for, without its format. Names and numbers are the guest's, and hostile.
 * Leaves to others: making it from a page (decode.h), what it means (sched.h and the analysers). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"

#define HV_STALL_COMM_LEN 16

enum hv_moment_kind {
	HV_MOMENT_SWITCH,  /* the vCPU goes from PID to OTHER */
	HV_MOMENT_WAKING,  /* OTHER is woken, by PID */
	HV_MOMENT_IRQ,	   /* a handler of the interrupt NUMBER begins, which TEXT names */
	HV_MOMENT_IRQ_END, /* and ends */
	HV_MOMENT_SOFTIRQ, /* likewise, of the softirq NUMBER */
	HV_MOMENT_SOFTIRQ_END,
	HV_MOMENT_SYSCALL, /* PID enters the system call NUMBER */
	HV_MOMENT_SYSCALL_END,
	HV_MOMENT_IO_QUEUED, /* the request for sector NUMBER of DEVICE */
	HV_MOMENT_IO_ISSUED,
	HV_MOMENT_IO_DONE,
	HV_MOMENT_LOCK, /* PID begins to wait for the lock at the address NUMBER */
	HV_MOMENT_LOCK_END,
	HV_MOMENT_RECLAIM, /* PID begins to look for memory itself */
	HV_MOMENT_RECLAIM_END,
	HV_MOMENT_COMPACT, /* PID begins to move pages to get a large one */
	HV_MOMENT_COMPACT_END,
	HV_MOMENT_TICK, /* the timer interrupts PID */
	/* The kernel takes the vCPU OTHER_CPU from the cgroup NUMBER, which has used up its limit;
	 * ADDRESS 0: not because PID ran. */
	HV_MOMENT_THROTTLE,
	HV_MOMENT_UNTHROTTLE,
	/* Of the host (docs/users/events.md): what thread PID does; CPU is the vCPU. */
	HV_MOMENT_HOST_EXIT,   /* the vCPU leaves the guest, at ADDRESS, for the reason NUMBER */
	HV_MOMENT_HOST_ENTRY,  /* and goes on in it */
	HV_MOMENT_HOST_SWITCH, /* the host's CPU goes from PID to OTHER */
	HV_MOMENT_HOST_WAKING, /* the host's thread OTHER is woken, by PID */
	HV_NR_MOMENTS,
};

/* States in which a task leaves the vCPU, as sched_switch has them. */
#define HV_LEFT_RUNNABLE	0x0
#define HV_LEFT_UNINTERRUPTIBLE 0x2
#define HV_LEFT_STOPPED		0x4
#define HV_LEFT_TRACED		0x8
#define HV_LEFT_ENDED		0x30  /* either bit: for ever */
#define HV_LEFT_PREEMPTED	0x100 /* this bit, or a larger one in older kernels */

/* Of a lock: it is waited for without sleeping. */
#define HV_LOCK_SPINS 0x1

static inline bool hv_moment_is_hosts(enum hv_moment_kind kind)
{
	return kind >= HV_MOMENT_HOST_EXIT && kind < HV_NR_MOMENTS;
}

struct hv_moment {
	enum hv_moment_kind kind;
	unsigned cpu;
	uint64_t time_ns; /* on the clock of the trace */
	uint32_t pid;	  /* of the task that runs */
	char comm[HV_STALL_COMM_LEN];
	uint32_t other;
	char other_comm[HV_STALL_COMM_LEN];
	int prio,
		other_prio; /* switch: below 100 is a real-time priority, the smaller the higher */
	unsigned other_cpu; /* waking: where it shall run */
	uint64_t state;	    /* switch: in which PID leaves. Lock: flags. Exit: whose reasons */
	uint64_t number;
	uint64_t address; /* of the guest */
	uint32_t device;
	char text[HV_STALL_COMM_LEN]; /* interrupt: its name; request: what it does, "WS" */
};
