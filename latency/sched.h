/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows the guest's tasks and vCPUs: which task runs on which vCPU since when, which tasks wait,
 * how long each ran, and which cgroups have used up their CPU time. finders.h decides what is a
 * stall. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "latency/stall.h"

/* -- limits of cgroups ------------------------------------------------------------------------- */

/* Limits on the CPU time of the guest's cgroups (cpu.max, cpu.cfs_quota_us): which groups the
 * guest's kernel throttles, on which vCPU, and when. The tables of groups and of throttled run
 * queues are bounded; entries beyond that are not reported.
 *
 * cli/verbs/latency/sources.h places the probes at throttle_cfs_rq() and unthrottle_cfs_rq(),
 * decode.h reads their fields, and verdict.h finds the tasks that waited because of a limit. */

#define HV_LIMIT_GROUPS_MAX    64
#define HV_LIMIT_PATH_LEN      256
#define HV_LIMIT_THROTTLED_MAX 1024 /* concurrently throttled run queues */

/* Flags of a stall of kind HV_STALL_LIMIT that is not caused by a group. */
#define HV_LIMIT_REALTIME 0x1 /* sched_rt_runtime_us; since 6.12 the fair server */
#define HV_LIMIT_DEADLINE 0x2 /* the runtime of a SCHED_DEADLINE task */

struct hv_limit_group {
	uint64_t key;		      /* address of its struct task_group */
	char path[HV_LIMIT_PATH_LEN]; /* untrusted; begins with ".../" if truncated */
	uint64_t quota_ns, period_ns; /* the latest values; 0: unknown */
};

/* A throttled run queue: of one group on one vCPU. */
struct hv_limit_throttled {
	uint64_t key;
	unsigned cpu;
	uint64_t from_ns;
	struct hv_stall_task task; /* the task that used up the time; pid 0: unknown */
};

/* Zero-initialised is empty. */
struct hv_limits {
	struct hv_limit_group groups[HV_LIMIT_GROUPS_MAX];
	size_t nr_groups;
	struct hv_limit_throttled throttled[HV_LIMIT_THROTTLED_MAX];
	size_t nr_throttled;
	uint64_t since_ns; /* start of complete information; 0: begins with the next event */
};

/* Adds or replaces GROUP. */
void hv_limits_set_group(struct hv_limits *l, const struct hv_limit_group *group);
/* Returns NULL if the group is unknown. */
const struct hv_limit_group *hv_limits_group(const struct hv_limits *l, uint64_t key);

/* Processes an HV_MOMENT_THROTTLE event. The kernel may still find runtime after the event and not
 * throttle the run queue. A later event for the run queue can therefore come without an unthrottle
 * event in between; it replaces the earlier one. */
void hv_limits_throttle(struct hv_limits *l, const struct hv_moment *m);
/* Processes an HV_MOMENT_UNTHROTTLE event and returns the stall that it ends. If the start was not
 * seen, the stall begins at `since_ns`. Returns false if the start may be missing because the table
 * is full. */
bool hv_limits_unthrottle(struct hv_limits *l, const struct hv_moment *m, struct hv_stall *ret);
/* Returns the stall of throttled run queue I, which is still in progress at NOW_NS. Returns false
 * if its group is unknown, or if it has lasted for more than two periods: then the kernel found
 * more runtime. */
bool hv_limits_open(const struct hv_limits *l, size_t i, uint64_t now_ns, struct hv_stall *ret);
/* Forgets all throttled run queues. Call it when events of any vCPU were lost. */
void hv_limits_lose(struct hv_limits *l);

/* -- tasks and vCPUs --------------------------------------------------------------------------- */

/* The state of tasks and vCPUs from scheduler events. The tables are bounded. In a full hash bucket
 * the task seen least recently is replaced, and only the last time slices of each vCPU are kept. */

#define HV_TASKS_MAX  4096 /* a power of two */
#define HV_SLICES_MAX 512

enum hv_task_state { HV_TASK_UNKNOWN, HV_TASK_RUNNING, HV_TASK_RUNNABLE, HV_TASK_SLEEPING };

/* Consecutive waits that are reported as one. */
struct hv_series {
	uint64_t nr; /* 0: no series */
	uint64_t from_ns, to_ns;
	uint64_t taken_ns, longest_ns;
	struct hv_stall_stack stack; /* of the longest wait */
};

struct hv_sched_task {
	bool is_used;
	uint32_t pid;
	char comm[HV_STALL_COMM_LEN];
	enum hv_task_state state;
	unsigned cpu;	   /* where it is or will run */
	uint64_t since_ns; /* when STATE began */
	uint64_t left_in;  /* sleeping: HV_LEFT_* */
	/* Runnable: HV_LIMIT_* if a limit keeps it off its vCPU (limited_by()). */
	uint64_t limited_by;
	uint64_t limit; /* the cgroup whose limit last stopped it, or 0 */
	uint64_t seen_ns;
	uint64_t on_cpu_ns; /* total time, up to SINCE_NS */
	/* What the task is doing in the kernel; 0: not doing it. */
	uint64_t syscall_ns, syscall, syscall_on_cpu_ns;
	uint64_t lock_ns, lock, lock_flags;
	uint64_t reclaim_ns, compact_ns, fault_ns;
	struct hv_stall_stack lock_stack, search_stack; /* of the wait in progress */
	struct hv_stall_stack left_stack;    /* where it left its vCPU, if it is not running */
	struct hv_stall_stack syscall_stack; /* where its system call last gave up the vCPU */
	struct hv_series reclaims, compacts, faults;
	bool is_in_program; /* it left a system call and has not entered another */
	/* Time on a vCPU while searching for memory: total, and at the start of the last search. */
	uint64_t searching_on_cpu_ns, search_on_cpu_ns;
	/* When it was on a vCPU since the system call began, except the current time slice. NR_RAN
	 * is larger than the array if there were too many. */
	struct hv_stall_piece ran[HV_STALL_PIECES];
	unsigned nr_ran;
	uint64_t syscall_searching_ns; /* SEARCHING_ON_CPU_NS at the start of the system call */
};

/* A time slice: one task ran on a vCPU without a break. */
struct hv_slice {
	struct hv_stall_task task;
	int prio;
	uint64_t from_ns, to_ns;
};

struct hv_sched_cpu {
	struct hv_stall_task current; /* valid if has_current */
	bool has_current;
	int prio; /* of CURRENT; -1: unknown */
	uint64_t since_ns;
	struct hv_slice *slices; /* owned; a ring of past slices */
	unsigned first, nr;
};

struct hv_sched {
	struct hv_sched_task *list; /* owned, HV_TASKS_MAX entries */
	struct hv_sched_cpu *cpus;
	unsigned nr_cpus;
};

void hv_sched_init(struct hv_sched *t, unsigned nr_cpus);
void hv_sched_deinit(struct hv_sched *t);

/* Returns the entry of task PID, which must not be 0. Adds the task if it is unknown. Sets its name
 * to COMM unless that is empty. Valid until the next call. */
struct hv_sched_task *hv_sched_get(struct hv_sched *t, uint32_t pid, const char *comm,
				   uint64_t now_ns);
/* Returns NULL if the task is unknown. */
struct hv_sched_task *hv_sched_find(const struct hv_sched *t, uint32_t pid);
/* Returns the total time that TASK was on a vCPU. */
uint64_t hv_sched_on_cpu(const struct hv_sched_task *task, uint64_t now_ns);

/* Updates the state after any event of a task. Call it after the analysers have processed M. */
void hv_sched_follow(struct hv_sched *t, const struct hv_moment *m);
/* Call it when events of CPU were lost: its current task is then unknown until its next event, and
 * the state of each task is unknown until an event shows it. */
void hv_sched_lose(struct hv_sched *t, unsigned cpu);

/* Stores up to HV_STALL_BEFORE tasks that ran on CPU before FROM_NS, the most recent first. Of a
 * slice that extends beyond FROM_NS, only the earlier part counts. Returns their number. */
unsigned hv_sched_before(const struct hv_sched *t, unsigned cpu, uint64_t from_ns,
			 struct hv_stall_before *ret);
/* Finds the past slice in which task PID ran on CPU for at least MIN_NS and until END_NS or later.
 * Returns false if there is not exactly one, or if the task is running there. */
bool hv_sched_ran_once(const struct hv_sched *t, unsigned cpu, uint32_t pid, uint64_t min_ns,
		       uint64_t end_ns, struct hv_slice *ret);
/* Finds the task other than PID that ran most on CPU between the two times. Returns false if none
 * is known. */
bool hv_sched_ran_most(const struct hv_sched *t, unsigned cpu, uint32_t pid, uint64_t from_ns,
		       uint64_t to_ns, struct hv_slice *ret, uint64_t *ret_ns);
