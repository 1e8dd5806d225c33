/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which other processes of the host used its CPUs while it was measured: other guests, and the
 * program that used most. It is what /proc/PID/stat counts, so it needs no tracing of the host, but
 * it does not tell whose CPU a process had. Bounded; processes that ended meanwhile are not seen.
 * Leaves to others: whether the guest missed these CPUs (latency/shares.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "latency/stall.h"

struct latency_neighbour {
	uint32_t pid;
	uint64_t start, ticks; /* when it began; its CPU time */
};

/* Zero-initialised is empty. */
struct latency_neighbours {
	struct latency_neighbour *list; /* owned; by pid */
	size_t nr;
	uint64_t begin_ns;
	unsigned nr_cpus; /* of the host, on which the guest's vCPUs may run; 0: not known */
	/* After latency_neighbours_end(): */
	unsigned nr_guests;	      /* other VMMs that used a twentieth of a CPU or more */
	struct hv_stall_task busiest; /* of the other processes; pid 0: none */
	uint64_t busiest_ppm;	      /* of one CPU */
};

void latency_neighbours_deinit(struct latency_neighbours *n);
void latency_neighbours_begin(struct latency_neighbours *n);
/* The process VMM_PID and the calling one are not counted. */
void latency_neighbours_end(struct latency_neighbours *n, uint64_t vmm_pid);
