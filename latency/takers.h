/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who had the host's CPUs while vCPUs of the guest waited for them: threads of the host, by what
 * its scheduler's events say, for how long each, and what each of them is. The table is bounded: of
 * too many threads, the one that took least is forgotten.
 * Leaves to others: finding out what a thread is (cli/verbs/latency/takers.h). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "latency/stall.h"

#define HV_TAKERS_MAX	    64
#define HV_TAKER_DOMAIN_LEN 64

enum hv_taker_kind {
	HV_TAKER_UNKNOWN, /* nobody has looked yet, or it has gone */
	HV_TAKER_HOST,	  /* a program or a kernel thread of the host */
	HV_TAKER_VM,	  /* it belongs to another guest */
	HV_TAKER_OWN,	  /* it belongs to this guest's VMM */
	HV_TAKER_NOBODY,  /* the CPU was idle: the host did not let the vCPU have it */
	HV_NR_TAKERS,
};

struct hv_taker {
	struct hv_stall_task task; /* of the host; the name is hostile */
	uint64_t taken_ns;
	bool was_looked_at;
	enum hv_taker_kind kind;
	char domain[HV_TAKER_DOMAIN_LEN]; /* HV_TAKER_VM: its guest; hostile; empty: not known */
};

/* Zero-initialised is empty. */
struct hv_takers {
	struct hv_taker list[HV_TAKERS_MAX];
	size_t nr;
};

/* TASK, whose pid may be 0 for a CPU that was idle, had a CPU for NS more. A task without a name
 * is ignored. */
void hv_takers_add(struct hv_takers *t, const struct hv_stall_task *task, uint64_t ns);
/* NULL: it is not known. */
const struct hv_taker *hv_takers_find(const struct hv_takers *t, const struct hv_stall_task *task);
