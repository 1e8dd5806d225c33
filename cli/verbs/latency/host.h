/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples the host scheduler's data about the threads of a guest's VMM:
 * /proc/PID/task/TID/schedstat and their states. For threads that run vCPUs, this shows the time
 * that the host took from the vCPU; for the other threads, which do I/O, it shows how long the
 * guest's devices waited for a CPU. This needs no tracing of the host, and works under TCG, too. It
 * does not show which other thread had the CPU. All data is from between latency_host_begin() and
 * latency_host_end(). latency/outages.h interprets it. */
#pragma once

#include <pthread.h>

#include "cli/verbs/latency/vmm_limits.h"
#include "latency/latency.h"

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
	uint64_t told_ns; /* time waited before the end, but reported after it */
	uint64_t begin_ns, begin_on_cpu_ns, begin_waited_ns; /* from its first sample */
	uint64_t stopped_ns;				     /* since then */
	char *cgroup; /* owned; only for vCPU threads; NULL: unknown */
};
#define LATENCY_ALL_CPUS UINT32_MAX
#define LATENCY_NO_CPU	 (UINT32_MAX - 1)
#define LATENCY_IO_MAX	 16 /* limit for threads without a vCPU; further threads are ignored */

/* An outage of a thread that has not been taken yet. */
struct latency_outage {
	unsigned cpu; /* like in struct latency_thread */
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
