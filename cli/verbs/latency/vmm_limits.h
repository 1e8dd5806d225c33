/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPU time limits of the host's cgroups for the VMM's threads (cpu.max, cpu.cfs_quota_us): how
 * long, and how often, they were throttled during the measurement. All files are opened at the
 * start, while the command still has its rights. host.h attributes lost time to vCPUs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define VMM_LIMITS_MAX 64

struct vmm_limit {
	char *path;		   /* owned; path of the cgroup on the host */
	int stat;		   /* fd of its cpu.stat */
	int max;		   /* fd of its cpu.max, or cpu.cfs_quota_us; -1: it has no limit */
	int period;		   /* fd of its cpu.cfs_period_us; -1: `max` includes the period */
	uint64_t nr, throttled_ns; /* since vmm_limits_begin() */
	uint64_t first_nr, first_ns;
	uint64_t quota_us, period_us; /* 0: no limit, or unknown */
};

/* Zero-initialised is empty. */
struct vmm_limits {
	struct vmm_limit list[VMM_LIMITS_MAX];
	size_t nr;
	char *root; /* owned; root of the host's cgroups; NULL: not found */
	bool is_v1;
};

void vmm_limits_deinit(struct vmm_limits *l);
/* Opens the cgroups of thread TID of process PID, up to the root. Returns the path of the thread's
 * innermost cgroup, which the caller frees; NULL: unknown. */
char *vmm_limits_open(struct vmm_limits *l, uint64_t pid, uint32_t tid) hv_must_use;
void vmm_limits_begin(struct vmm_limits *l);
void vmm_limits_end(struct vmm_limits *l);
/* Returns the limit that throttled longest among the cgroup PATH, which may be NULL, and its
 * ancestors; NULL: no limit throttled. */
const struct vmm_limit *vmm_limits_worst(const struct vmm_limits *l, const char *path);

/* Finds the root of the cgroups with the CPU controller in MOUNTS, the text of /proc/self/mounts.
 * The caller frees the result; NULL: not found. */
char *vmm_limits_find_root(const char *mounts, bool *ret_is_v1);
/* Returns the path of a thread in these cgroups, from the text of its /proc/PID/task/TID/cgroup.
 * The caller frees the result; NULL: it has no path, or the path is outside the cgroup
 * namespace. */
char *vmm_limits_find_path(const char *cgroups, bool is_v1);
