/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of kernel positions, taken when the timer interrupts a vCPU.
 *
 * They show where a long system call or section spent its time if no other event does. The last
 * samples of each vCPU are kept. The caller removes the frames of the interrupt itself and resolves
 * names. Pure. */
#pragma once

#include <stdint.h>

#include "latency/stall.h"

#define HV_TICKS_MAX 1024 /* per vCPU: four seconds at 250 Hz */

struct hv_tick {
	uint64_t time_ns;
	uint32_t pid;
	struct hv_stall_stack stack; /* the interrupted address, then its callers */
};

struct hv_tick_cpu {
	struct hv_tick *list; /* owned; a ring, in order of time */
	unsigned first, nr;
};

struct hv_ticks {
	struct hv_tick_cpu *cpus; /* owned */
	unsigned nr_cpus;
	/* Returns the start of the function that contains the address. If NULL, each address counts
	 * as a function. */
	uint64_t (*function_of)(const void *data, uint64_t address);
	const void *data;
};

void hv_ticks_init(struct hv_ticks *t, unsigned nr_cpus);
void hv_ticks_deinit(struct hv_ticks *t);
void hv_ticks_add(struct hv_ticks *t, unsigned cpu, const struct hv_tick *tick);
/* Counts the samples of S's task in its interval on its vCPUs, and the samples in the most frequent
 * function. The stack of a system call is replaced by the last of those samples. */
void hv_ticks_choose(const struct hv_ticks *t, struct hv_stall *s);
