/* Who uses a region: what attach writes into its header, and what that says to whoever comes later.
 * The header is hostile then: the guest's root can write it.
 * Leaves to others: what lies where (patcher/region.h), undoing what a dead service left
 * (recover.c). */
#pragma once

#include "patcher/region.h"

struct hv_tracee;

/* The region is ours from now on: whose kernel is traced, and where the guest sees the region. */
void hv_region_write_header(const struct hv_tracee *t);

enum hv_region_use {
	HV_REGION_UNUSED,
	HV_REGION_STALE, /* of another boot of the guest: nothing of it can be in memory now */
	HV_REGION_LIVE,	 /* changes may stand in the guest */
};
/* RET: a checked copy of the header, valid when the use is not HV_REGION_UNUSED. EUCLEAN as
 * below. */
struct hv_err *hv_region_use(const struct hv_tracee *t, struct hv_region_header *ret,
			     enum hv_region_use *ret_use) hv_must_use;
/* Where the guest saw the region, by a checked header. */
struct hv_gva_range hv_region_range(const struct hv_region_header *header);

/* EUCLEAN when a slot of the guest's page tables leads into the region: clearing it is right only
 * when none does. The guest's root can wipe a journal, or entries of it, that are still needed, and
 * sites may call what would be cleared. */
struct hv_err *hv_region_check_not_mapped(const struct hv_tracee *t) hv_must_use;
