/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits on the CPU time of the guest's cgroups (cpu.max, cpu.cfs_quota_us): which groups the
 * guest's kernel throttles, on which vCPU, and when. The tables of groups and of throttled run
 * queues are bounded; entries beyond that are not reported.
 *
 * cli/verbs/latency/sources.h places the probes at throttle_cfs_rq() and unthrottle_cfs_rq(),
 * decode.h reads their fields, and verdict.h finds the tasks that waited because of a limit.
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "latency/event.h"
#include "latency/stall.h"

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

/* Processes an HV_MOMENT_THROTTLE event. The kernel may find more runtime and not throttle the run
 * queue after all. It can then throttle the same run queue again without unthrottling it, so the
 * last event counts. */
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
