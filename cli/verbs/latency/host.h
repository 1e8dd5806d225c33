/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Data that `hvtrace latency` reads on the host about the VMM's threads: the CPU time limits of
 * their cgroups, and the time that they waited for a CPU. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "latency/latency.h"

/* -- limits of CPU time ----------------------------------------------------------------------- */

/* CPU time limits of the host's cgroups for the VMM's threads (cpu.max, cpu.cfs_quota_us): how
 * long, and how often, they were throttled during the measurement. All files are opened at the
 * start, while the command still has its rights. */

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
void vmm_limits_begin(struct vmm_limits *l);
void vmm_limits_end(struct vmm_limits *l);
/* Returns the limit that throttled longest among the cgroup PATH, which may be NULL, and its
 * ancestors; NULL: no limit throttled. */
const struct vmm_limit *vmm_limits_worst(const struct vmm_limits *l, const char *path);

/* Finds the root of the cgroups with the CPU controller in MOUNTS, the text of /proc/self/mounts.
 * The caller frees the result; NULL: not found. */
char *vmm_limits_find_root(const char *mounts, bool *ret_is_v1);
enum cgroup_version { CGROUP_V1, CGROUP_V2 };
/* Returns the path of a thread in these cgroups, from the text of its /proc/PID/task/TID/cgroup.
 * The caller frees the result; NULL: it has no path, or the path is outside the cgroup
 * namespace. */
char *vmm_limits_find_path(const char *cgroups, enum cgroup_version version);

/* -- time of the threads ---------------------------------------------------------------------- */

/* Samples the host scheduler's data about the threads of a guest's VMM:
 * /proc/PID/task/TID/schedstat and their states. For threads that run vCPUs, this shows the time
 * that the host took from the vCPU; for the other threads, which do I/O, it shows how long the
 * guest's devices waited for a CPU. This needs no tracing of the host, and works under TCG, too. It
 * does not show which other thread had the CPU. All data is from between latency_host_begin() and
 * latency_host_end(). latency/outages.h interprets it. */

struct latency_thread {
	/* The vCPU; LATENCY_ALL_CPUS: this thread runs all vCPUs in turn; LATENCY_NO_CPU: no
	 * vCPU. */
	unsigned cpu;
	struct hv_stall_task task; /* of the host; the name is untrusted */
	int schedstat;		   /* fd */
	int stat;		   /* fd */
	bool has_sample;	   /* the following fields are valid */
	uint64_t time_ns, on_cpu_ns, waited_ns, nr_slices;
	char state;
	uint64_t reported_ns; /* time waited before the end, but reported after it */
	uint64_t begin_ns, begin_on_cpu_ns, begin_waited_ns; /* from its first sample */
	uint64_t stopped_ns;				     /* since then */
	char *cgroup; /* owned; only for vCPU threads; NULL: unknown */
};
#define LATENCY_ALL_CPUS UINT32_MAX
#define LATENCY_NO_CPU	 (UINT32_MAX - 1)
#define LATENCY_IO_MAX	 16 /* limit for threads without a vCPU; further threads are ignored */

/* An outage that latency_host_take() has not taken yet. */
struct latency_outage {
	unsigned cpu; /* as in struct latency_thread */
	struct hv_outage outage;
};

#define LATENCY_OUTAGES_MAX 65536

/* Zero-initialised is empty. A separate thread takes the samples, so that they are regular even
 * while the session's service waits. */
struct latency_host {
	struct latency_thread *threads; /* owned */
	unsigned nr;			/* vCPU threads come first */
	unsigned nr_vcpus;
	uint64_t vmm_pid, looked_ns;
	uint64_t begin_ns;
	bool has_ended;		  /* later samples do not count */
	bool counts_instructions; /* the guest's clock counts instructions (-icount) */
	bool has_sampler;
	pthread_t sampler;
	pthread_mutex_t sampling; /* held while one thread samples */
	pthread_mutex_t lock;	  /* protects the following fields */
	bool ends;
	struct latency_outage *outages; /* owned */
	size_t nr_outages;
	struct vmm_limits limits; /* for the vCPU threads */
};

/* Finds the threads of the VMM. *RET_WHY, which the caller frees, explains a failure; NULL on
 * success. */
void latency_host_open(struct latency_host *h, uint64_t vmm_pid, char **ret_why);
void latency_host_deinit(struct latency_host *h);
/* Starts sampling. H must not move afterwards. */
void latency_host_begin(struct latency_host *h);
/* Ends the measured interval: afterwards only pending waits are followed to their end. */
void latency_host_end(struct latency_host *h);
/* Returns the use of each of NR_CPUS vCPUs' time between latency_host_begin() and _end(); empty if
 * unknown. The caller frees it with hv_shares_deinit(). */
void latency_host_shares(struct latency_host *h, unsigned nr_cpus, struct hv_shares *ret);
/* Returns the number of host CPUs that the vCPU threads may use; 0: unknown. */
unsigned latency_host_cpus(const struct latency_host *h);
/* Passes to L the outages since the last call. */
void latency_host_take(struct latency_host *h, struct hv_latency *l);
