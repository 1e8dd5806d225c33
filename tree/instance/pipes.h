/* Who reads an instance's trace_pipe: one reader of all vCPUs, or one of each (open_pipe_on_cpu).
 * Readers of trace_pipe_raw are counted only, since they exclude nobody. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct hv_pipes {
	unsigned nr_cpus;
	unsigned all;	 /* not 0: one reader has all vCPUs */
	uint8_t *of_cpu; /* owned, a byte a vCPU; not 0: the vCPU has a reader of its own */
	unsigned nr;	 /* readers of trace_pipe, of either kind */
	unsigned nr_raw; /* open trace_pipe_raw files */
};

void hv_pipes_init(struct hv_pipes *pipes, unsigned nr_cpus);
void hv_pipes_deinit(struct hv_pipes *pipes);

/* Takes what a reader of CPU needs, CPU < 0 meaning all vCPUs. EBUSY: another reader has it. */
struct hv_err *hv_pipes_take(struct hv_pipes *pipes, int cpu) hv_must_use;
/* Gives back what hv_pipes_take() took. */
void hv_pipes_give_back(struct hv_pipes *pipes, int cpu);
