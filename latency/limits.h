/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of CPU time of the guest's own cgroups (cpu.max, cpu.cfs_quota_us): which groups the
 * kernel throttles, on which vCPU, and from when until when. The table of groups and the list of
 * throttled run queues are bounded: what has no room is not reported.
 * Leaves to others: the probes at throttle_cfs_rq() and unthrottle_cfs_rq()
 * (cli/verbs/latency/limits.h), reading their fields (limit_fields.h), which task waited because of
 * a limit (verdict.h). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "latency/event.h"
#include "latency/stall.h"

#define HV_LIMIT_GROUPS_MAX    64
#define HV_LIMIT_PATH_LEN      256
#define HV_LIMIT_THROTTLED_MAX 1024 /* run queues at a time */

/* Flags of a stall of kind HV_STALL_LIMIT that no group set. */
#define HV_LIMIT_REALTIME 0x1 /* sched_rt_runtime_us; since 6.12 the fair server */
#define HV_LIMIT_DEADLINE 0x2 /* the runtime of a SCHED_DEADLINE task */

struct hv_limit_group {
	uint64_t key;		      /* the address of its struct task_group */
	char path[HV_LIMIT_PATH_LEN]; /* hostile; begins with ".../" if it is longer */
	uint64_t quota_ns, period_ns; /* as they were last; 0: not known */
};

/* The run queue of a group on one vCPU, which is throttled. */
struct hv_limit_throttled {
	uint64_t key;
	unsigned cpu;
	uint64_t from_ns;
	struct hv_stall_task task; /* that ran out of time; pid 0: not known */
};

/* Zero-initialised is empty. */
struct hv_limits {
	struct hv_limit_group groups[HV_LIMIT_GROUPS_MAX];
	size_t nr_groups;
	struct hv_limit_throttled throttled[HV_LIMIT_THROTTLED_MAX];
	size_t nr_throttled;
	uint64_t since_ns; /* since when all is known; 0: since the next event */
};

/* Enters GROUP, or replaces what is known of it. */
void hv_limits_set_group(struct hv_limits *l, const struct hv_limit_group *group);
/* Returns NULL if the group is not known. */
const struct hv_limit_group *hv_limits_group(const struct hv_limits *l, uint64_t key);

/* M is of kind HV_MOMENT_THROTTLE. The kernel may have found runtime after all: then the same run
 * queue is throttled again without being unthrottled, and only the last time counts. */
void hv_limits_throttle(struct hv_limits *l, const struct hv_moment *m);
/* M is of kind HV_MOMENT_UNTHROTTLE. A run queue that was not seen to be throttled was so since
 * before all was known. Returns false if the table had no room for it. */
bool hv_limits_unthrottle(struct hv_limits *l, const struct hv_moment *m, struct hv_stall *ret);
/* The stall of the throttled run queue number I, which continues at NOW_NS. Returns false if it has
 * lasted for longer than two periods: the kernel found runtime after all. */
bool hv_limits_open(const struct hv_limits *l, size_t i, uint64_t now_ns, struct hv_stall *ret);
/* Events of any vCPU were lost: no run queue is known to be throttled. */
void hv_limits_lose(struct hv_limits *l);
