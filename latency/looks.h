/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the verdict (verdict.c) and its causes (causes.c) share: stalls with what was found out
 * about each of them. Pure. */
#pragma once

#include "latency/verdict.h"

#define NO_REASON SIZE_MAX

/* A stall that is looked at. */
struct look {
	struct hv_stall stall; /* its length is without what the host took */
	uint64_t host_ns;
	uint64_t vmm_ns; /* of a request: a thread of the VMM waited for a CPU */
	bool is_doubtful;
	size_t reason;	/* another look, or NO_REASON */
	uint32_t crowd; /* of a wait for a vCPU; 0: none */
	bool has_victims;
};

struct looks {
	struct look *list; /* owned */
	size_t nr;
};

enum hv_fault hv_fault_of(const struct hv_verdict_input *in, const struct look *l);
/* Adds L, which has no reason, to the cause that it is one more of, or as a new one. */
void hv_causes_add(struct hv_verdict *v, const struct hv_verdict_input *in, const struct look *l);
/* L follows from ROOT. */
void hv_causes_add_victim(struct hv_verdict *v, const struct hv_verdict_input *in,
			  const struct look *root, const struct look *l);
/* The worst cause comes first. */
void hv_causes_sort(struct hv_verdict *v);
