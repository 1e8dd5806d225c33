/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps instruction caches coherent with text that the host writes. If the caches do not see such
 * writes (arm64, on some CPUs), KVM makes a guest page coherent when it maps it for execution. So
 * the pages are unmapped from the guest before the write. No vCPU runs until the end of the hold,
 * and then KVM maps them again. held_writes.h makes the writes. */
#pragma once

#include "vmm/held_writes.h"
#include "vmm/inject/keeper.h"

#define HV_ICACHE_BLOCK (2ull << 20) /* of a huge page */

/* Whether instruction fetches on this host see writes without cache maintenance. */
bool hv_icache_is_coherent(void);

/* Consecutive pages that text is written to, all in one block of HV_ICACHE_BLOCK. */
struct hv_icache_run {
	uint64_t start; /* in the VMM */
	uint64_t end;
};

/* Returns the number of runs in WRITES, and in *RET the runs, which the caller owns. */
size_t hv_icache_runs(const struct hv_held_writes *writes, uint64_t page_bytes,
		      struct hv_icache_run **ret);

/* Call this in a hold, before WRITES are made in process PID. On error do not make them. */
struct hv_err *hv_icache_prepare(pid_t pid, struct hv_keeper *keeper,
				 const struct hv_held_writes *writes) hv_must_use;
