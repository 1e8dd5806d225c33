/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the region goes in the guest kernel's address space: finds unused page-table slots within
 * reach of a call from kernel text, and makes what they are filled with. That is a leaf of
 * HV_REGION_UNIT; where the kernel's leaves of that level are larger (arch->make_table), it is a
 * table of the kernel's pages, which is in the region, where the guest does not map it. Where even
 * what such a table maps is too large (map_level is 1), it is pages in tables that the kernel has
 * for its image.
 * Leaves to others: writing them (patcher.h). */
#pragma once

#include "kernel/kernel.h"
#include "patcher/patcher.h"

struct hv_mapping_plan {
	struct hv_gva_range range; /* guest virtual, of the region from HV_REGION_STUBS_OFF on */
	/* Of the first unit of that a second time, in reach of modules that are out of the range's
	 * (struct hv_reach). Empty: there are none, or no slot near them is unused. */
	struct hv_gva_range landings;
	struct hv_change *changes; /* owned; of slots */
	size_t nr;
	uint64_t *tables; /* owned; what must be at HV_REGION_TABLES_OFF before slots are filled */
	size_t tables_bytes;
};

/* Why the region cannot be mapped into such a kernel: nothing tells what its text reaches. NULL: it
 * can be tried. */
struct hv_err *hv_mapping_refusal(const struct hv_kernel_core *core) hv_must_use;

/* Plans to map LEN_BYTES of REGION from HV_REGION_STUBS_OFF on, at a place that is chosen at
 * random. Fails with ENOSPC when there are not enough unused slots in a row. */
struct hv_err *hv_mapping_plan(struct hv_kernel *k, const struct hv_region *region,
			       uint64_t len_bytes, struct hv_mapping_plan *ret) hv_must_use;
/* Writes the tables of PLAN into the region, and into what is kept of it. */
void hv_mapping_place_tables(const struct hv_mapping_plan *plan, const struct hv_region *region);
void hv_mapping_plan_deinit(struct hv_mapping_plan *plan);

/* *RET: the guest's page tables lead from all of RANGE to the region. It is false when they do not
 * do so any more, and when they lead outside of its RAM. */
struct hv_err *hv_mapping_is_present(const struct hv_kernel *k, const struct hv_region *region,
				     struct hv_gva_range range, bool *ret) hv_must_use;

/* The same of LANDINGS, which is not empty, of a region that is mapped to RANGE. */
struct hv_err *hv_mapping_has_landings(const struct hv_kernel *k, const struct hv_region *region,
				       struct hv_gva_range range, struct hv_gva_range landings,
				       bool *ret) hv_must_use;

/* *RET: some slot of RANGE leads into the region, wherever. Fails when one leads outside of the
 * guest's RAM. */
struct hv_err *hv_mapping_any_present(const struct hv_kernel *k, const struct hv_region *region,
				      struct hv_gva_range range, bool *ret) hv_must_use;

/* The first address of RANGE, or else of LANDINGS, that leads to the region as it should; after a
 * kill it may not be RANGE's start. That is returned if there is none. *RET: where its slot should
 * lead, as hv_walk_slot() tells it. */
struct hv_gva hv_mapping_first(const struct hv_kernel *k, const struct hv_region *region,
			       struct hv_gva_range range, struct hv_gva_range landings,
			       struct hv_gpa *ret);
