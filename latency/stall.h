/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the analysers share: the events that they see and the stalls that they find. Also parses the
 * text of a section tracer. Names and numbers come from the guest and are untrusted. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

/* -- events ------------------------------------------------------------------------------------ */

/* An event as the analysers see it, independent of the format of the guest's trace event. decode.h
 * creates it from a page; sched.h and the analysers interpret it. */

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
	HV_MOMENT_TICK,	  /* the timer interrupts PID */
	HV_MOMENT_SAMPLE, /* the timer interrupts PID, whose program is at ADDRESS; 0: no program */
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

/* -- stalls ------------------------------------------------------------------------------------ */

/* A stall: an interval of at least the threshold in which a task or a vCPU had to wait.
 *
 * The analysers find stalls; the verdict (verdict.h) finds which stalls caused others. A list of
 * stalls is bounded: when it is full, the longest are kept. */

/* Ordered by cause: a stall can be caused by a stall of an earlier kind. */
enum hv_stall_kind {
	HV_STALL_HOST,	  /* the host did not run the vCPU */
	HV_STALL_EXITS,	  /* the vCPU spent most of its time in exits of one reason */
	HV_STALL_LOCK,	  /* a task waited for a lock */
	HV_STALL_SECTION, /* interrupts or preemption were off */
	HV_STALL_IRQ,
	HV_STALL_SOFTIRQ,
	HV_STALL_LIMIT, /* the task or its cgroup used up its CPU time (sched.h) */
	HV_STALL_RECLAIM,
	HV_STALL_IO_DEVICE, /* from the guest's driver to the device's answer */
	HV_STALL_IO_QUEUE,  /* in the guest's own queue */
	HV_STALL_FAULTS,    /* page faults of a task waited for reads */
	HV_STALL_RUNQUEUE,  /* a task was runnable and did not run */
	HV_STALL_SYSCALL,   /* a system call kept the vCPU busy */
	HV_STALL_SLEEP,	    /* a task slept uninterruptibly */
	HV_NR_STALLS,
};

#define HV_STALL_NAME_LEN 64
#define HV_STALL_CALLERS  8
#define HV_STALL_STACK	  16   /* includes the scheduler's own functions */
#define HV_STALLS_MAX	  2048 /* per list */

struct hv_stall_task {
	uint32_t pid;
	char comm[HV_STALL_COMM_LEN]; /* untrusted; empty: unknown */
};

/* Return addresses from the guest kernel's own unwinder; 0 ends the list. */
struct hv_stall_stack {
	uint64_t callers[HV_STALL_STACK];
};

#define HV_STALL_PIECES 8
#define HV_STALL_BEFORE 8
#define HV_STALL_PLACES 32

/* Flags of a series of reclaims or faults. */
#define HV_SERIES_PRESSED 0x1 /* a task searched for memory during the series */
#define HV_SERIES_WORKERS 0x2 /* the task is a kernel worker, such as the balloon's */

/* A time during which a task was on a vCPU. */
struct hv_stall_piece {
	unsigned cpu;
	uint64_t from_ns, to_ns;
};

/* An address of a program: the offset OFF in FILE, a number of the caller's; or the address OFF, if
 * FILE is 0. */
struct hv_stall_place {
	uint32_t file;
	unsigned nr; /* samples there */
	uint64_t off;
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
	uint64_t slack_ns;	   /* possible error of the times, which were reconstructed later */
	uint64_t length_ns;	   /* the part of the interval that counts */
	struct hv_stall_task task; /* the task that waited, or that the stall belongs to */
	/* Run queue: the task that ran most of the time; pid 0: none. Host: the host's thread that
	 * had the CPU; no name: unknown. */
	struct hv_stall_task by;
	int by_prio;	/* run queue: see struct hv_moment */
	uint64_t by_ns; /* run queue: how long `by` ran */
	/* Interrupt, softirq, system call: its number. Lock: its address. Request: the sector.
	 * Reclaim: 1 for compaction. Limit, and run queue of a task that a limit has stopped: the
	 * cgroup, or 0. Host: enum hv_outage_why. Exits: the key of their reason. */
	uint64_t number;
	uint32_t device; /* request: major << 20 | minor */
	/* Lock: HV_LOCK_*. Exits: HV_EXITS_*. Series: HV_SERIES_*. Limit: HV_LIMIT_*. */
	uint64_t flags;
	uint64_t longest_ns; /* longest outage, exit, reclaim or fault */
	uint64_t nr;	     /* number of exits, reclaims or faults */
	/* System call: when it was on which vCPU. NR_PIECES is 0 if there were too many pieces. */
	struct hv_stall_piece pieces[HV_STALL_PIECES];
	unsigned nr_pieces;
	/* Where the task sleeps, waits, or gave up its vCPU, if that was recorded. */
	struct hv_stall_stack stack;
	/* Samples in the interval (finders.h): their number, the number in the most frequent
	 * function, and an address in that function and in its caller. */
	unsigned nr_samples, nr_most;
	uint64_t most, most_caller;
	char most_name[HV_STALL_NAME_LEN], most_caller_name[HV_STALL_NAME_LEN];
	/* Where the blamed program was during the interval, by its newest samples with up to
	 * HV_STALL_PLACES different addresses (program_ticks.h). */
	struct hv_stall_place places[HV_STALL_PLACES];
	unsigned nr_places;
	struct hv_stall_before before[HV_STALL_BEFORE]; /* the most recent first */
	unsigned nr_before;
	char name[HV_STALL_NAME_LEN]; /* interrupt, exit reason, request; section: its start */
	char end[HV_STALL_NAME_LEN];  /* function where a section ends, or where a task waits */
	char callers[HV_STALL_CALLERS][HV_STALL_NAME_LEN]; /* of END; an empty name ends the list */
};

/* Zero-initialised is empty. */
struct hv_stalls {
	struct hv_stall *list; /* owned */
	size_t nr;
	uint64_t nr_dropped; /* stalls discarded because the list was full */
};

/* Copies STALL. */
void hv_stalls_add(struct hv_stalls *s, const struct hv_stall *stall);
void hv_stalls_clear(struct hv_stalls *s);
void hv_stalls_deinit(struct hv_stalls *s);

struct hv_stall_task hv_stall_task(uint32_t pid, const char *comm);
/* Returns the task whose program causes S if a program does: it used the vCPU, needed memory or
 * caused the exits. Its pid is 0 if it is not known. NULL: S has no such cause. */
const struct hv_stall_task *hv_stall_program(const struct hv_stall *s);

/* Returns how much of [FROM_NS, TO_NS) A covers. */
uint64_t hv_stall_overlap(const struct hv_stall *a, uint64_t from_ns, uint64_t to_ns);

/* -- sections ---------------------------------------------------------------------------------- */

/* Parses the longest section with interrupts or preemption off from the text of `trace`
 * (docs/users/latency-tracers.md).
 *
 * Fills in the task, vCPU, length, start and end functions, and callers. The length excludes the
 * time in which the host did not run the vCPU, as far as the guest knew it; the interval includes
 * it. The interval starts at 0 because the text has no time. Returns false if TEXT has no
 * section. */
bool hv_section_text_read(const char *text, struct hv_stall *ret);
