/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The readers of an instance's trace_pipe: one reader of all vCPUs, or one per vCPU
 * (open_pipe_on_cpu). Readers of trace_pipe_raw are only counted; they do not exclude other
 * readers. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct hv_pipes {
	unsigned nr_cpus;
	unsigned all;	 /* nonzero: one reader reads all vCPUs */
	uint8_t *of_cpu; /* owned, a byte per vCPU; nonzero: the vCPU has a reader */
	unsigned nr;	 /* all readers of trace_pipe */
	unsigned nr_raw; /* open trace_pipe_raw files */
};

void hv_pipes_init(struct hv_pipes *pipes, unsigned nr_cpus);
void hv_pipes_deinit(struct hv_pipes *pipes);

/* Reserves trace_pipe of CPU; CPU < 0 means all vCPUs. EBUSY: another reader has it. */
struct hv_err *hv_pipes_take(struct hv_pipes *pipes, int cpu) hv_must_use;
/* Releases the reservation of hv_pipes_take(). */
void hv_pipes_give_back(struct hv_pipes *pipes, int cpu);
