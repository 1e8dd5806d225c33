/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the host's scheduler did with each vCPU in the window that was measured: for how long its
 * thread ran, waited for a CPU, was kept from running by a limit, was stopped, or slept because the
 * vCPU was halted. These are differences of counters, so they need no common clock with the guest
 * and no events of the host.
 * Leaves to others: reading the counters (cli/verbs/latency/host.h). Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HV_SHARE_PART 5 /* above one part of so many of the window, the host is the first cause */

struct hv_share {
	unsigned cpu;
	uint64_t window_ns; /* 0: nothing is known */
	uint64_t ran_ns;
	uint64_t waited_ns;  /* with LIMITED_NS */
	uint64_t limited_ns; /* of that: by a limit of its cgroup; 0 if that is not known */
	uint64_t stopped_ns;
};

struct hv_shares {
	struct hv_share *list; /* owned, one a vCPU, by its number */
	unsigned nr;
	bool is_together; /* one thread runs all vCPUs in turn, and all have its share */
};

void hv_shares_deinit(struct hv_shares *s);

/* The rest of the window. */
uint64_t hv_share_halted_ns(const struct hv_share *s);
/* For how long the host did not run a vCPU that wanted to run. */
uint64_t hv_share_taken_ns(const struct hv_share *s);
/* Whether the host withheld so much of the window that it is the first cause. */
bool hv_share_decides(const struct hv_share *s);
/* The vCPU from which the host took most, if that decides; else NULL. S may be NULL. */
const struct hv_share *hv_shares_worst(const struct hv_shares *s);
/* The share of CPU, if it decides; else NULL. S may be NULL. */
const struct hv_share *hv_shares_deciding(const struct hv_shares *s, unsigned cpu);
