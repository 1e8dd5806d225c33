/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copies of tasks of a guest whose struct task_struct is unknown: init_task and processes of the
 * list that starts there. Finds the name "swapper" in init_task, and then the member of init_task
 * that is a list of named tasks. Private to kernel/. */
#pragma once

#include "kernel/core/core.h"

#define HV_SAMPLES_MAX	64
#define HV_SAMPLE_BYTES 16384u /* limit of the part of a task that is copied */

struct hv_sample {
	struct hv_gva at;
	struct hv_span copy; /* of BYTES_PER_TASK */
};

struct hv_samples {
	/* The first is init_task, then pid 1 and pid 2, then other processes and kernel threads. */
	struct hv_sample list[HV_SAMPLES_MAX];
	unsigned nr;
	uint32_t bytes_per_task;
	uint32_t comm, tasks; /* offsets */
	uint8_t *bytes;	      /* owned */
};

/* Needs init_task. Fails with ENOENT and the reason, also while the guest's kernel starts and there
 * is no process yet. */
struct hv_err *hv_samples_read(const struct hv_kernel_core *core,
			       struct hv_samples *ret) hv_must_use;
void hv_samples_deinit(struct hv_samples *s);

/* The number of LEN_BYTES (4 or 8) at OFF of a sample. */
uint64_t hv_sample_number(const struct hv_sample *s, uint32_t off, unsigned len_bytes);
