/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every task and vCPU does, by the events of the scheduler: who runs where, since when, who
 * waits, and for how long each task ran, waited and slept in all. The tables are bounded: of too
 * many tasks, the one that was seen least recently in its place is forgotten, and of what ran on a
 * vCPU only the last slices are known.
 * Leaves to others: what is a stall (finders.h). Pure. */
#pragma once

#include "latency/stall.h"

#define HV_TASKS_MAX  4096 /* a power of two */
#define HV_SLICES_MAX 512

enum hv_task_state { HV_TASK_UNKNOWN, HV_TASK_RUNNING, HV_TASK_RUNNABLE, HV_TASK_SLEEPING };

/* Of waits that come one after the other, so that they are told together. */
struct hv_series {
	uint64_t nr; /* 0: none */
	uint64_t from_ns, to_ns;
	uint64_t taken_ns, longest_ns;
	struct hv_stall_stack stack; /* of the longest one */
};

struct hv_sched_task {
	bool is_used;
	uint32_t pid;
	char comm[HV_STALL_COMM_LEN];
	enum hv_task_state state;
	unsigned cpu;	   /* where it is, or shall run */
	uint64_t since_ns; /* when STATE began */
	uint64_t left_in;  /* sleeping: HV_LEFT_* */
	/* Runnable: HV_LIMIT_* if the kernel took its vCPU for a task of a lower class. */
	uint64_t limited_by;
	uint64_t limit; /* the cgroup whose limit stopped it last; 0: none */
	uint64_t seen_ns;
	uint64_t on_cpu_ns; /* in all, up to SINCE_NS */
	/* What it is in. 0: nothing. */
	uint64_t syscall_ns, syscall, syscall_on_cpu_ns;
	uint64_t lock_ns, lock, lock_flags;
	uint64_t reclaim_ns, compact_ns, fault_ns;
	struct hv_stall_stack lock_stack, search_stack; /* of what it is in */
	struct hv_stall_stack left_stack;    /* where it left its vCPU last, if it does not run */
	struct hv_stall_stack syscall_stack; /* where it gave it up last in its system call */
	struct hv_series reclaims, compacts, faults;
	bool is_in_program; /* it was seen to leave a system call, and not to enter one since */
	/* On a vCPU while it looked for memory: until now in all, and as the last search began. */
	uint64_t searching_on_cpu_ns, search_on_cpu_ns;
	/* When it was on a vCPU since the system call began, without the last time if it runs.
	 * NR_RAN is more than there is room for if there were too many. */
	struct hv_stall_piece ran[HV_STALL_PIECES];
	unsigned nr_ran;
	uint64_t syscall_searching_ns; /* SEARCHING_ON_CPU_NS when the system call began */
};

/* A time for which one task ran on a vCPU. */
struct hv_slice {
	struct hv_stall_task task;
	int prio;
	uint64_t from_ns, to_ns;
};

struct hv_sched_cpu {
	struct hv_stall_task current; /* when has_current */
	bool has_current;
	int prio; /* of CURRENT; -1: not known */
	uint64_t since_ns;
	struct hv_slice *slices; /* owned; a ring of those that have ended */
	unsigned first, nr;
};

struct hv_sched {
	struct hv_sched_task *list; /* owned, HV_TASKS_MAX of them */
	struct hv_sched_cpu *cpus;
	unsigned nr_cpus;
};

void hv_sched_init(struct hv_sched *t, unsigned nr_cpus);
void hv_sched_deinit(struct hv_sched *t);

/* The task PID, which is entered if it is not there, with the name COMM if that is not empty. Valid
 * until the next call. PID is not 0. */
struct hv_sched_task *hv_sched_get(struct hv_sched *t, uint32_t pid, const char *comm,
				   uint64_t now_ns);
/* NULL: it is not known. */
struct hv_sched_task *hv_sched_find(const struct hv_sched *t, uint32_t pid);
/* For how long TASK was on a vCPU in all. */
uint64_t hv_sched_on_cpu(const struct hv_sched_task *task, uint64_t now_ns);

/* Follows a switch or a waking. The analysers see the event before. */
void hv_sched_follow(struct hv_sched *t, const struct hv_moment *m);
/* Events of CPU were lost: what runs there is not known until the next switch, and what any task
 * does not until it is seen again. */
void hv_sched_lose(struct hv_sched *t, unsigned cpu);

/* Up to HV_STALL_BEFORE tasks that ran on CPU before FROM_NS, the last one first. Of one that ran
 * at FROM_NS, too, only the time before counts. */
unsigned hv_sched_before(const struct hv_sched *t, unsigned cpu, uint64_t from_ns,
			 struct hv_stall_before *ret);
/* Where the task PID ran on CPU for MIN_NS on end or more, until END_NS or later, if it has left
 * the vCPU since and that was once only. */
bool hv_sched_ran_once(const struct hv_sched *t, unsigned cpu, uint32_t pid, uint64_t min_ns,
		       uint64_t end_ns, struct hv_slice *ret);
/* Who ran most on CPU between the two times, without the task PID. False: nobody is known. */
bool hv_sched_ran_most(const struct hv_sched *t, unsigned cpu, uint32_t pid, uint64_t from_ns,
		       uint64_t to_ns, struct hv_slice *ret, uint64_t *ret_ns);
