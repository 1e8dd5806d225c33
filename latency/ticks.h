/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of where each vCPU was in the kernel when its timer interrupted it. They tell where a
 * long system call or section spent its time if nothing else did. Of a vCPU, the last samples are
 * kept. Leaves to others: the frames of the interrupt itself, names. Pure. */
#pragma once

#include <stdint.h>

#include "latency/stall.h"

#define HV_TICKS_MAX 1024 /* of a vCPU: four seconds at 250 Hz */

struct hv_tick {
	uint64_t time_ns;
	uint32_t pid;
	struct hv_stall_stack stack; /* where it was interrupted, then its callers */
};

struct hv_tick_cpu {
	struct hv_tick *list; /* owned; a ring, ascending */
	unsigned first, nr;
};

struct hv_ticks {
	struct hv_tick_cpu *cpus; /* owned */
	unsigned nr_cpus;
	/* Returns where the function begins that has the address; NULL: each address is one. */
	uint64_t (*function_of)(const void *data, uint64_t address);
	const void *data;
};

void hv_ticks_init(struct hv_ticks *t, unsigned nr_cpus);
void hv_ticks_deinit(struct hv_ticks *t);
void hv_ticks_add(struct hv_ticks *t, unsigned cpu, const struct hv_tick *tick);
/* Fills in how many samples of S's task were taken in its interval, on its vCPUs, and how many of
 * them in the function that has most; of a system call, the stack becomes the last one of these. */
void hv_ticks_choose(const struct hv_ticks *t, struct hv_stall *s);
