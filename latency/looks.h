/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types shared by verdict.c and causes.c: a stall and the verdict's findings about it. Pure. */
#pragma once

#include "latency/verdict.h"

#define NO_REASON SIZE_MAX

/* A stall under examination. */
struct look {
	struct hv_stall stall; /* its length excludes the time taken by the host */
	uint64_t host_ns;
	uint64_t vmm_ns; /* request: how long a thread of the VMM waited for a CPU */
	bool is_doubtful;
	size_t reason;	/* index of the look that led to it, or NO_REASON */
	uint32_t crowd; /* wait for a vCPU: its crowd, or 0 */
	bool has_victims;
};

struct looks {
	struct look *list; /* owned */
	size_t nr;
};

enum hv_fault hv_fault_of(const struct hv_verdict_input *in, const struct look *l);
/* Adds L, which has no reason, to its cause. Creates the cause if it does not exist. */
void hv_causes_add(struct hv_verdict *v, const struct hv_verdict_input *in, const struct look *l);
/* Adds L as a consequence of ROOT. */
void hv_causes_add_victim(struct hv_verdict *v, const struct hv_verdict_input *in,
			  const struct look *root, const struct look *l);
/* Sorts the causes, the worst first. */
void hv_causes_sort(struct hv_verdict *v);
