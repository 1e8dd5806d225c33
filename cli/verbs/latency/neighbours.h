/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds other processes that used the host's CPUs during the measurement: other guests, and the
 * busiest program. Uses the counters in /proc/PID/stat, so it needs no tracing of the host, but it
 * does not show whose CPU a process had. Bounded; misses processes that ended before the second
 * look. latency/outages.h decides whether the guest missed these CPUs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "latency/outages.h"
#include "latency/stall.h"

struct latency_neighbour {
	uint32_t pid;
	uint64_t start, ticks; /* start time; CPU time */
};

/* Zero-initialised is empty. */
struct latency_neighbours {
	struct latency_neighbour *list; /* owned; sorted by pid */
	size_t nr;
	uint64_t begin_ns;
	unsigned nr_cpus; /* host CPUs that the guest's vCPUs may use; 0: unknown */
	/* After latency_neighbours_end(): */
	unsigned nr_guests;	      /* other VMMs that used at least a twentieth of a CPU */
	struct hv_stall_task busiest; /* the busiest other process; pid 0: none */
	uint64_t busiest_ppm;	      /* of one CPU */
};

void latency_neighbours_deinit(struct latency_neighbours *n);
void latency_neighbours_begin(struct latency_neighbours *n);
/* Excludes the process VMM_PID and the calling one. */
void latency_neighbours_end(struct latency_neighbours *n, uint64_t vmm_pid);

/* -- threads that had a vCPU's CPU ------------------------------------------------------------- */

/* Classifies host threads that had a vCPU's CPU, by /proc: threads of this guest's VMM, of another
 * guest's, or other threads. Needs no rights. latency/outages.h finds the threads. */

/* Examines each thread of T that took at least a millisecond, once; a thread that has ended stays
 * unknown. */
void latency_takers_look(struct hv_takers *t, uint64_t vmm_pid);
