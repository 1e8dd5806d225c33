/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the host's scheduler says of the threads of a guest's VMM: samples of their
 * /proc/PID/task/TID/schedstat and of their states. Of those that run vCPUs, it is what the host
 * took of the vCPU; of the others, which do the I/O, how long the guest's devices waited for a CPU.
 * That needs no tracing of the host, and works under TCG, too. It does not tell which other thread
 * had the CPU. All of it is between latency_host_begin() and latency_host_end().
 * Leaves to others: what follows from it (latency/outages.h). */
#pragma once

#include <pthread.h>

#include "cli/verbs/latency/vmm_limits.h"
#include "latency/latency.h"

struct latency_thread {
	/* The vCPU; LATENCY_ALL_CPUS: this thread runs all of them in turn; LATENCY_NO_CPU: none */
	unsigned cpu;
	struct hv_stall_task task; /* of the host; the name is hostile */
	int schedstat;		   /* fd */
	int stat;		   /* fd */
	bool has_sample;	   /* of what follows */
	uint64_t time_ns, on_cpu_ns, waited_ns, nr_slices;
	char state;
	uint64_t told_ns; /* of what it waited for beyond the end of measuring */
	uint64_t begin_ns, begin_on_cpu_ns, begin_waited_ns; /* of its first sample */
	uint64_t stopped_ns;				     /* since then */
	char *cgroup; /* owned; of a vCPU's thread; NULL: not known */
};
#define LATENCY_ALL_CPUS UINT32_MAX
#define LATENCY_NO_CPU	 (UINT32_MAX - 1)
#define LATENCY_IO_MAX	 16 /* threads that run no vCPU; of more, the first ones are seen */

/* An outage of a thread, that was not taken yet. */
struct latency_outage {
	unsigned cpu; /* as in struct latency_thread */
	struct hv_outage outage;
};

#define LATENCY_OUTAGES_MAX 65536

/* Zero-initialised is empty. A thread of its own takes the samples, so that they are regular
 * whatever the session's service waits for. */
struct latency_host {
	struct latency_thread *threads; /* owned */
	unsigned nr;			/* those of vCPUs come first */
	unsigned nr_vcpus;		/* of them */
	uint64_t vmm_pid, looked_ns;
	uint64_t begin_ns;
	bool has_ended;		  /* what is after the last samples does not count */
	bool counts_instructions; /* the clock of the guest goes by them (-icount) */
	bool has_sampler;
	pthread_t sampler;
	pthread_mutex_t sampling; /* by one thread at a time */
	pthread_mutex_t lock;	  /* of the following */
	bool ends;
	struct latency_outage *outages; /* owned */
	size_t nr_outages;
	struct vmm_limits limits; /* of the vCPUs' threads */
};

/* Finds the threads of the VMM. *RET_WHY, which the caller frees, says why there are none, NULL
 * otherwise. */
void latency_host_open(struct latency_host *h, uint64_t vmm_pid, char **ret_why);
void latency_host_deinit(struct latency_host *h);
/* Begins to take samples. H stays where it is from now on. */
void latency_host_begin(struct latency_host *h);
/* What is from now on does not count: only waits that go on still are looked at until they end. */
void latency_host_end(struct latency_host *h);
/* What became of each of NR_CPUS vCPUs' time between latency_host_begin() and _end(). Empty if
 * nothing is known. The caller frees it by hv_shares_deinit(). */
void latency_host_shares(struct latency_host *h, unsigned nr_cpus, struct hv_shares *ret);
/* On how many CPUs of the host the vCPUs' threads may run; 0: not known. */
unsigned latency_host_cpus(const struct latency_host *h);
/* Gives L the outages since the last call. */
void latency_host_take(struct latency_host *h, struct hv_latency *l);
