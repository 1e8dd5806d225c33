/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Landings: what a site calls that cannot call a stub itself. A landing goes on to its stub, and
 * changes nothing. There is one for each stub, in the region where other guests have detours, if
 *
 *   - what sites call must be at one place of a page (entry_bytes of struct hv_reach; riscv64).
 *     Then they are at that place of a page each, and the function tracer's stub has none;
 *   - modules are out of reach of the stubs (arm64). Then that part of the region is mapped a
 *     second time, near the modules (hv_tracee.landings), and only sites out of reach call them.
 *
 * Leaves to others: where the second place is (patcher/mapping.h), who may be in a landing
 * (returns.h). */
#pragma once

#include <stddef.h>

#include "base/addr.h"
#include "base/err.h"
#include "vmm/guest.h"

struct hv_tracee;

/* How many writes hv_landings_plan() makes at most. */
size_t hv_landings_max(void);
/* Plans the code of all landings of T, whose stubs are at CODE, ordered by address. */
struct hv_err *hv_landings_plan(const struct hv_tracee *t, struct hv_gva code,
				struct hv_hold_write *writes, size_t *ret_nr) hv_must_use;

/* Returns what sites in reach call to get to the stub at OFF of the code at CODE. */
struct hv_gva hv_landing_or_stub(const struct hv_tracee *t, struct hv_gva code, size_t off);

/* Returns what the site at AT calls to get to STUB, what sites in reach call: that, or its landing
 * at the second place. Where AT reaches neither, encode_call() of the result fails. */
struct hv_gva hv_landing_from(const struct hv_tracee *t, struct hv_gva at, struct hv_gva stub);
/* Returns what sites in reach call instead of TARGET; TARGET itself, if it is no landing at the
 * second place. */
struct hv_gva hv_landing_leads_to(const struct hv_tracee *t, struct hv_gva target);
