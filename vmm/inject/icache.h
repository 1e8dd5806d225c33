/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text that the host writes, and the instruction caches of the CPUs that vCPUs run on. Where these
 * caches do not see what is written (arm64, on some CPUs), KVM makes a page of the guest's coherent
 * when it maps it for execution. So the pages that text is written to are unmapped from the guest
 * before: no vCPU runs before the end of the hold, and then KVM maps them anew. Leaves to others:
 * the writes (held_writes.h), when the guest is stopped. */
#pragma once

#include "vmm/held_writes.h"
#include "vmm/inject/keeper.h"

#define HV_ICACHE_BLOCK (2ull << 20) /* of a huge page */

/* Whether instruction fetches on this host see what was written, without anything else. */
bool hv_icache_is_coherent(void);

/* Whole pages that text is written to, all of them in one block of HV_ICACHE_BLOCK. */
struct hv_icache_run {
	uint64_t start; /* in the VMM */
	uint64_t end;
};

/* The runs of WRITES. *RET is owned by the caller. Returns how many there are. */
size_t hv_icache_runs(const struct hv_held_writes *writes, uint64_t page_bytes,
		      struct hv_icache_run **ret);

/* Under a hold, before WRITES are made in process PID. On error none of them may be made. */
struct hv_err *hv_icache_prepare(pid_t pid, struct hv_keeper *keeper,
				 const struct hv_held_writes *writes) hv_must_use;
