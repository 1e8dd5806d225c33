/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The limits of CPU time that the host's cgroups set for the VMM's threads (cpu.max,
 * cpu.cfs_quota_us): for how long, and how often, they were at their limit while it was measured.
 * All files are opened when measuring begins, while the command still has its rights.
 * Leaves to others: what that took from which vCPU (host.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define VMM_LIMITS_MAX 64

struct vmm_limit {
	char *path;		   /* owned; of the cgroup, as the host names it */
	int stat;		   /* fd of its cpu.stat */
	int max;		   /* fd of its cpu.max, or cpu.cfs_quota_us; -1: it has no limit */
	int period;		   /* fd of its cpu.cfs_period_us; -1: MAX has it */
	uint64_t nr, throttled_ns; /* since vmm_limits_begin() */
	uint64_t first_nr, first_ns;
	uint64_t quota_us, period_us; /* 0: none, or not known */
};

/* Zero-initialised is empty. */
struct vmm_limits {
	struct vmm_limit list[VMM_LIMITS_MAX];
	size_t nr;
	char *root; /* owned; where the host's cgroups are; NULL: nowhere */
	bool is_v1;
};

void vmm_limits_deinit(struct vmm_limits *l);
/* Opens the cgroups of the thread TID of the process PID, up to the root. Returns the path of the
 * thread's own, which the caller frees; NULL: it is not known. */
char *vmm_limits_open(struct vmm_limits *l, uint64_t pid, uint32_t tid) hv_must_use;
void vmm_limits_begin(struct vmm_limits *l);
void vmm_limits_end(struct vmm_limits *l);
/* The limit that held for longest of those of the cgroup PATH, which may be NULL, and of the ones
 * that it is in; NULL: none did. */
const struct vmm_limit *vmm_limits_worst(const struct vmm_limits *l, const char *path);

/* Finds where the cgroups of the CPU controller are in MOUNTS, the text of /proc/self/mounts. The
 * caller frees the result; NULL: nowhere. */
char *vmm_limits_find_root(const char *mounts, bool *ret_is_v1);
/* The path of a thread in these cgroups, by the text of its /proc/PID/task/TID/cgroup. The caller
 * frees the result; NULL: it has none, or it is outside of the cgroup namespace. */
char *vmm_limits_find_path(const char *cgroups, bool is_v1);
