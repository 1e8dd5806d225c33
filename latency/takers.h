/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takers: threads of the host that had a CPU while a vCPU of the guest waited for it, how long each
 * had it, and what kind of thread it is. The scheduler events of the host show this. The table is
 * bounded: when it is full, the thread with the least time is replaced.
 *
 * cli/verbs/latency/neighbours.h classifies the threads. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "latency/stall.h"

#define HV_TAKERS_MAX	    64
#define HV_TAKER_DOMAIN_LEN 64

enum hv_taker_kind {
	HV_TAKER_UNKNOWN, /* not looked up yet, or it has exited */
	HV_TAKER_HOST,	  /* a program or kernel thread of the host */
	HV_TAKER_VM,	  /* a thread of another guest */
	HV_TAKER_OWN,	  /* a thread of this guest's VMM */
	HV_TAKER_NOBODY,  /* the CPU was idle: the host did not let the vCPU run */
	HV_NR_TAKERS,
};

struct hv_taker {
	struct hv_stall_task task; /* of the host; the name is untrusted */
	uint64_t taken_ns;
	bool was_looked_at;
	enum hv_taker_kind kind;
	char domain[HV_TAKER_DOMAIN_LEN]; /* HV_TAKER_VM: its guest; untrusted; empty: unknown */
};

/* Zero-initialised is empty. */
struct hv_takers {
	struct hv_taker list[HV_TAKERS_MAX];
	size_t nr;
};

/* Adds NS of CPU time to TASK. Its pid is 0 for an idle CPU. Ignores tasks without a name. */
void hv_takers_add(struct hv_takers *t, const struct hv_stall_task *task, uint64_t ns);
/* Returns NULL if TASK is unknown. */
const struct hv_taker *hv_takers_find(const struct hv_takers *t, const struct hv_stall_task *task);
