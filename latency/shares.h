/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the host's scheduler treated each vCPU in the measured window: how long its thread ran,
 * waited for a CPU, was throttled by a limit, was stopped, or slept because the vCPU was halted.
 * These are differences of counters, so they need neither a common clock with the guest nor events
 * of the host.
 *
 * cli/verbs/latency/host.h reads the counters. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HV_SHARE_PART 5 /* if the host took 1/5 of the window, it is the first cause */

struct hv_share {
	unsigned cpu;
	uint64_t window_ns; /* 0: unknown */
	uint64_t ran_ns;
	uint64_t waited_ns;  /* includes LIMITED_NS */
	uint64_t limited_ns; /* waited because of its cgroup's limit; 0 if unknown */
	uint64_t stopped_ns;
};

struct hv_shares {
	struct hv_share *list; /* owned, indexed by vCPU */
	unsigned nr;
	bool is_together; /* one thread runs all vCPUs in turn; all entries describe it */
};

void hv_shares_deinit(struct hv_shares *s);

/* Returns the rest of the window, in which the vCPU was halted. */
uint64_t hv_share_halted_ns(const struct hv_share *s);
/* Returns how long the vCPU was ready to run but the host did not run it. */
uint64_t hv_share_taken_ns(const struct hv_share *s);
/* Returns whether the host took so much of the window that it is the first cause. */
bool hv_share_decides(const struct hv_share *s);
/* Returns the vCPU from which the host took most if hv_share_decides(), else NULL. S may be
 * NULL. */
const struct hv_share *hv_shares_worst(const struct hv_shares *s);
/* Returns the share of CPU if hv_share_decides(), else NULL. S may be NULL. */
const struct hv_share *hv_shares_deciding(const struct hv_shares *s, unsigned cpu);
