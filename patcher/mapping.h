/* Where in the guest kernel's address space the region goes: unused page-table slots within reach
 * of a call from kernel text, and the leaves to fill them with. Leaves to others: writing them
 * (patcher.h). */
#pragma once

#include "kernel/kernel.h"
#include "patcher/patcher.h"

struct hv_mapping_plan {
	struct hv_gva_range range; /* guest virtual, of the region from HV_REGION_STUBS_OFF on */
	struct hv_change *changes; /* owned */
	size_t nr;
};

/* Maps LEN bytes of REGION from HV_REGION_STUBS_OFF on. ENOSPC when there is no run of unused
 * slots. */
struct hv_err *hv_mapping_plan(struct hv_kernel *k, const struct hv_region *region,
			       uint64_t len_bytes, struct hv_mapping_plan *ret) hv_must_use;
void hv_mapping_plan_deinit(struct hv_mapping_plan *plan);

/* The guest's tables lead from RANGE to the region. False: they do not (any more), or lead out of
 * its RAM. */
struct hv_err *hv_mapping_stands(const struct hv_kernel *k, const struct hv_region *region,
				 struct hv_gva_range range, bool *ret) hv_must_use;
