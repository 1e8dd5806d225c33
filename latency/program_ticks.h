/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of programs: where a task was in its program when the timer interrupted its vCPU. A task
 * in the kernel counts where its program called the kernel.
 *
 * They show what a program did while it kept a vCPU from other tasks. The last samples of each vCPU
 * are kept. The caller finds the file of an address when the sample arrives, because the task may
 * soon end, and names the functions. The guest chooses all values. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "latency/stall.h"

#define HV_PROGRAM_TICKS_MAX 4096 /* per vCPU: sixteen seconds at 250 Hz */

struct hv_program_tick {
	uint64_t time_ns;
	uint32_t pid;
	uint32_t file; /* see struct hv_stall_place */
	uint64_t off;
};

struct hv_program_tick_cpu {
	struct hv_program_tick *list; /* owned; a ring, in order of time */
	unsigned first, nr;
};

struct hv_program_ticks {
	struct hv_program_tick_cpu *cpus; /* owned */
	unsigned nr_cpus;
	/* Finds the file that task PID has mapped at ADDRESS. Sets *RET_FILE, a number from 1, and
	 * *RET_OFF, the offset in it. Returns false if it is not known; it may then set neither.
	 * NULL: no file is known. */
	bool (*find)(void *ctx, uint32_t pid, const char *comm, uint64_t address,
		     uint32_t *ret_file, uint64_t *ret_off);
	void *ctx;
};

void hv_program_ticks_init(struct hv_program_ticks *t, unsigned nr_cpus);
void hv_program_ticks_deinit(struct hv_program_ticks *t);
/* Adds M, of the kind HV_MOMENT_SAMPLE, if the task has a program. Ignores unknown vCPUs. */
void hv_program_ticks_add(struct hv_program_ticks *t, const struct hv_moment *m);
/* Sets the places of S from the samples of the program that S may be blamed on (hv_stall_program()),
 * in S's interval. */
void hv_program_ticks_choose(const struct hv_program_ticks *t, struct hv_stall *s);
