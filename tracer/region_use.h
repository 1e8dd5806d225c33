/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who uses a region: the header that attach writes, and what it says to later services. The header
 * is hostile then: the guest's root can write it.
 * Leaves to others: the layout of the region (patcher/region.h), undoing what a dead service left
 * (recover.c). */
#pragma once

#include "patcher/region.h"

struct hv_tracee;

/* Marks the region as ours: notes the kernel that is traced, and where the guest sees the
 * region. */
void hv_region_write_header(const struct hv_tracee *t);

enum hv_region_use {
	HV_REGION_UNUSED,
	HV_REGION_STALE, /* used by another boot of the guest: none of its changes can be in memory
			    now */
	HV_REGION_LIVE,	 /* changes may be in the guest */
};
/* *RET is a checked copy of the header, valid if the use is HV_REGION_LIVE. EUCLEAN as for
 * hv_region_check_not_mapped, and when another release of hvtrace left changes in the guest, which
 * the message names. */
struct hv_err *hv_region_use(const struct hv_tracee *t, struct hv_region_header *ret,
			     enum hv_region_use *ret_use) hv_must_use;
/* Returns where the guest saw the region, by a checked header. */
struct hv_gva_range hv_region_range(const struct hv_region_header *header);
/* The same of its landings; empty: it had none. */
struct hv_gva_range hv_region_landings(const struct hv_region_header *header);

/* EUCLEAN: a slot of the guest's page tables leads into the region, so it must not be cleared. The
 * guest's root can wipe a journal, or entries of it, that are still needed, and sites may call the
 * code that would be cleared. */
struct hv_err *hv_region_check_not_mapped(const struct hv_tracee *t) hv_must_use;
