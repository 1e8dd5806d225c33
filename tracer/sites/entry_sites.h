/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces functions of a kernel without ftrace: jumps at their entries lead to detours, which call
 * the function tracer's trampoline and execute the replaced instructions (HV_DETOUR_ENTRY of
 * arch/detour.h). The sites of kernel->sites then have `entries`.
 *
 * Only the function tracer is supported. site_trampolines.h chooses the sites; detours.h writes
 * the jumps, when no task is inside the replaced instructions. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct hv_refused;
struct hv_tracee;

/* The number of functions that can be traced at the same time. The region has room for twice as
 * many detours, so that a new set can replace the present one. */
#define HV_ENTRY_SITES_MAX 1024u

/* Makes the sites with a nonzero byte in WANTED lead to detours, and restores all others. *RET_REFUSED
 * has the sites that the guest has changed. E2BIG: too many are wanted; nothing has changed. EBUSY: a
 * task stayed inside the instructions of a site, or a kprobe of the guest holds a copy of a jump. On
 * errors no further site leads to a detour, but some may have been restored. */
struct hv_err *hv_entry_sites_set(struct hv_tracee *t, const uint8_t *wanted,
				  struct hv_refused *ret_refused) hv_must_use;
/* Sets the byte in RET of each site that leads to a detour to YES, and all others to 0. */
void hv_entry_sites_now(const struct hv_tracee *t, uint8_t yes, uint8_t *ret);
