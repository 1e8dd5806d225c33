/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The readers of an instance's trace_pipe: one reader of all vCPUs, or one for each vCPU
 * (open_pipe_on_cpu). Readers of trace_pipe_raw exclude nobody and are only counted. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct hv_pipes {
	unsigned nr_cpus;
	unsigned all;	 /* not 0: one reader reads all vCPUs */
	uint8_t *of_cpu; /* owned, a byte per vCPU; not 0: a reader reads this vCPU */
	unsigned nr;	 /* readers of trace_pipe, of both kinds */
	unsigned nr_raw; /* open trace_pipe_raw files */
};

void hv_pipes_init(struct hv_pipes *pipes, unsigned nr_cpus);
void hv_pipes_deinit(struct hv_pipes *pipes);

/* Reserves trace_pipe of CPU for a reader; CPU < 0 means all vCPUs. EBUSY: another reader has it.
 */
struct hv_err *hv_pipes_take(struct hv_pipes *pipes, int cpu) hv_must_use;
/* Undoes hv_pipes_take(). */
void hv_pipes_give_back(struct hv_pipes *pipes, int cpu);
