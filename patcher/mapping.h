/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plans the mapping of the region into the guest kernel's address space. Finds unused page table
 * entries within call distance of kernel text and computes their new values. patcher.h writes them.
 *
 * Depending on the kernel, an entry maps:
 *
 *   - a block of HV_REGION_UNIT;
 *   - a page table in the region, in a part that the guest cannot access, if the kernel's blocks at
 *     that level are larger (arch->make_table);
 *   - single pages, in the kernel's own page tables, if even a page table maps too much (map_level
 *     is 1). */
#pragma once

#include "kernel/kernel.h"
#include "patcher/patcher.h"

struct hv_mapping_plan {
	/* guest virtual addresses of the region, starting with HV_REGION_TRAMPOLINES_OFF */
	struct hv_gva_range range;
	/* Second mapping of the first unit, with veneers for modules that cannot reach `range`
	 * (struct hv_reach). Empty if no module needs it or no entries near the modules are
	 * unused. */
	struct hv_gva_range veneers;
	struct hv_change *changes; /* owned; page table entries */
	size_t nr;
	uint64_t *tables; /* owned; must be at HV_REGION_TABLES_OFF before `changes` are applied */
	size_t tables_bytes;
};

/* Returns the error that prevents mapping the region into this kernel, or NULL. It is impossible if
 * the range that kernel text can reach is unknown. */
struct hv_err *hv_mapping_refusal(const struct hv_kernel_core *core) hv_must_use;

/* Plans to map LEN_BYTES of REGION, starting with HV_REGION_TRAMPOLINES_OFF, at a random address.
 * Fails with ENOSPC if there are not enough consecutive unused entries. */
struct hv_err *hv_mapping_plan(struct hv_kernel *k, const struct hv_region *region,
			       uint64_t len_bytes, struct hv_mapping_plan *ret) hv_must_use;
/* Writes the page tables of PLAN to the region and to its copy outside the guest's reach. */
void hv_mapping_put_tables(const struct hv_mapping_plan *plan, const struct hv_region *region);
void hv_mapping_plan_deinit(struct hv_mapping_plan *plan);

/* Sets *RET to whether the guest's page tables map all of RANGE to the region. It is false if an
 * entry points elsewhere, also if it points outside the guest's RAM. */
struct hv_err *hv_mapping_is_present(const struct hv_kernel *k, const struct hv_region *region,
				     struct hv_gva_range range, bool *ret) hv_must_use;

/* Like hv_mapping_is_present(), for non-empty VENEERS of a region that is mapped at RANGE. */
struct hv_err *hv_mapping_has_veneers(const struct hv_kernel *k, const struct hv_region *region,
				      struct hv_gva_range range, struct hv_gva_range veneers,
				      bool *ret) hv_must_use;

/* Sets *RET to whether any entry of RANGE points into the region, at any offset. Fails if an entry
 * points outside the guest's RAM. */
struct hv_err *hv_mapping_any_present(const struct hv_kernel *k, const struct hv_region *region,
				      struct hv_gva_range range, bool *ret) hv_must_use;

/* Returns the first address of RANGE, or else of VENEERS, that is mapped to the region correctly,
 * or the start of RANGE if there is none. An interrupted attach or detach may have left only some
 * entries. *RET is the address that the entry should contain, as hv_walk_to_entry() returns it. */
struct hv_gva hv_mapping_first(const struct hv_kernel *k, const struct hv_region *region,
			       struct hv_gva_range range, struct hv_gva_range veneers,
			       struct hv_gpa *ret);
