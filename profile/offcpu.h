/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Divides the time of each task into running on a vCPU, waiting for one, and being blocked, from
 * pages of trace_pipe_raw with the events sched_switch, sched_waking and sched_wakeup_new. The
 * chains of the profile count the nanoseconds. It is an export format that writes no file.
 *
 *	switched out, state     waking            switched in      switched out
 *	      |                    |                   |                |
 *	      |<---- blocked ----->|<---- waiting ---->|<-- running --->|
 *
 * A task that is switched out while it is runnable waits immediately. The stack that the guest
 * records after sched_switch, and the program's stack in the event HV_OFFCPU_EVENT before it, form
 * the chain of a blocked interval. With `has_wakers`, the waker and the stack after sched_waking
 * form it, or continue it. With `has_running`, the samples of the profile divide the time of
 * running: a sample has the time that its task ran since its last one.
 *
 * Each task's time begins with the first event of the input, or when the task is created, and ends
 * with the last event, or when the task ends. An interval counts as HV_OFFCPU_UNCOUNTED if events
 * were lost that may belong to it: of a running task, events of its vCPU; otherwise of any vCPU,
 * because the task may have run there. So the times of a task add up to its wall time. Tasks
 * without any event are not known. The guest chooses everything in the pages. One thread. */
#pragma once

#include "profile/profile.h"

#define HV_OFFCPU_EVENT	   "block" /* of HV_PROFILE_SYSTEM; its field: HV_PROFILE_USTACK */
#define HV_OFFCPU_FUNCTION "schedule"

#define HV_OFFCPU_TASKS_MAX  65536 /* at the same time */
#define HV_OFFCPU_GROUPS_MAX 65536
#define HV_OFFCPU_STACKS_MAX 8 /* events of a vCPU that wait for their stacks */
/* A loss on another vCPU can still show that these last intervals must not be counted. */
#define HV_OFFCPU_RECENT_MAX 65536

enum hv_offcpu_kind {
	HV_OFFCPU_RUNNING,
	HV_OFFCPU_WAITING,
	HV_OFFCPU_BLOCKED,
	HV_OFFCPU_UNCOUNTED, /* events were lost */
	HV_OFFCPU_NR,
};

/* The time of a group of tasks. */
struct hv_offcpu_times {
	uint32_t node; /* of the chains: the group. HV_CHAINS_ROOT: groups without room */
	uint64_t ns[HV_OFFCPU_NR];
};

struct hv_offcpu_task {
	uint32_t pid;
	char comm[16];
	bool has_ended;
	enum hv_offcpu_kind kind; /* of the current interval; never HV_OFFCPU_UNCOUNTED */
	uint64_t since_ns;
	unsigned cpu;	       /* where it runs, or ran last */
	uint32_t group;	       /* index of its times */
	uint32_t node;	       /* blocked: the chain */
	uint64_t unsampled_ns; /* it ran since its last sample */
	bool is_woken_before;  /* a waking arrived after it was switched in last, while it ran */
};

struct hv_offcpu_interval {
	enum hv_offcpu_kind kind;
	uint32_t group; /* index of its times */
	uint32_t node;	/* its chain */
	uint64_t from_ns, to_ns;
};

/* An event that waits for its stack. */
struct hv_offcpu_due {
	uint32_t pid;	/* whose stack it is */
	uint32_t node;	/* the chain that the stack continues */
	uint32_t leaf;	/* the chain if no stack arrives */
	bool is_waking; /* else a switch */
	uint64_t time_ns;
	uint64_t interval; /* waking: the number of the interval that it ended */
};

struct hv_offcpu_cpu {
	struct hv_profile_pending program; /* the last HV_OFFCPU_EVENT */
	struct hv_offcpu_due due[HV_OFFCPU_STACKS_MAX];
	size_t nr_due;
	uint64_t last_ns;  /* time of the last event; 0: there was none */
	uint64_t found_ns; /* time of the first event after the last loss; 0: no loss */
	bool has_switched;
};

struct hv_offcpu_type {
	const struct hv_event_type *type; /* NULL: the guest has no such event */
	const struct hv_event_field *pid, *comm, *next_pid, *next_comm, *state;
};

struct hv_offcpu {
	struct hv_profile profile;
	/* Set by the caller after opening: chains contain stacks of blocked tasks, wakers, and the
	 * time of running. */
	bool has_stacks, has_wakers, has_running;

	struct hv_offcpu_type switches, wakings, new_tasks;
	const struct hv_event_type *program; /* HV_OFFCPU_EVENT */
	const struct hv_event_field *ustack;
	struct hv_offcpu_cpu *cpus;   /* owned, one per vCPU */
	struct hv_offcpu_task *tasks; /* owned */
	size_t nr_tasks, tasks_cap, nr_ended;
	struct hv_map by_pid;
	struct hv_offcpu_times *groups; /* owned */
	size_t nr_groups, groups_cap;
	struct hv_map by_node;
	struct hv_offcpu_interval *recent; /* owned, a ring of HV_OFFCPU_RECENT_MAX */
	uint64_t first, next;		   /* numbers of intervals in it */
	uint64_t begin_ns, now_ns;	   /* times of the first and of the last event */
	uint64_t found_ns;		   /* of the vCPU that lost events last */
	uint64_t nr_no_room;		   /* times that a task had no room */
};

extern const struct hv_export_format hv_offcpu_format;

/* X must be open and of this format. */
struct hv_offcpu *hv_offcpu_of(struct hv_export *x);
/* Returns the sum of all groups. */
struct hv_offcpu_times hv_offcpu_sum(const struct hv_offcpu *o);
/* Appends the times of the groups with the most time, at most MAX, as a table. */
void hv_offcpu_table(const struct hv_offcpu *o, size_t max, struct hv_text *out);
