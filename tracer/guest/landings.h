/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Landings: code that jumps to a stub, for sites that cannot call the stub itself. There is one per
 * stub, in the part of the region for detours, which these architectures do not have. They are
 * needed if
 *
 *   - call targets must be at a fixed offset in a page (entry_bytes of struct hv_reach; riscv64).
 *     Each landing is then at that offset, and the function tracer's stub needs none;
 *   - modules cannot reach the stubs (arm64). That part of the region is then mapped a second
 *     time, near the modules (hv_tracee.landings), and only sites out of reach use landings.
 *
 * patcher/mapping.h chooses the second mapping; returns.h checks for tasks in landings. */
#pragma once

#include <stddef.h>

#include "base/addr.h"
#include "base/err.h"
#include "vmm/guest.h"

struct hv_tracee;

/* Returns the maximum number of writes of hv_landings_plan(). */
size_t hv_landings_max(void);
/* Plans the code of all landings of T, ordered by address. CODE is the address of the stubs. */
struct hv_err *hv_landings_plan(const struct hv_tracee *t, struct hv_gva code,
				struct hv_hold_write *writes, size_t *ret_nr) hv_must_use;

/* Returns the address that sites in reach call for the stub at offset OFF of the code at CODE. */
struct hv_gva hv_landing_or_stub(const struct hv_tracee *t, struct hv_gva code, size_t off);

/* STUB is the address that sites in reach call. Returns the address that the site at AT calls: STUB
 * itself, or its landing in the second mapping. If AT reaches neither, encode_call() of the result
 * fails. */
struct hv_gva hv_landing_from(const struct hv_tracee *t, struct hv_gva at, struct hv_gva stub);
/* Returns the address that sites in reach call instead of TARGET: TARGET itself, unless it is a
 * landing in the second mapping. */
struct hv_gva hv_landing_leads_to(const struct hv_tracee *t, struct hv_gva target);
