/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "patcher/mapping.h"

#include <string.h>
#include <sys/random.h>

/* Slots that stay empty on both sides of the image, so that a stray access past its end still
 * faults. */
#define GUARD_SLOTS 1

static enum hv_access access_of(uint64_t region_off)
{
	return region_off < HV_REGION_WRITABLE_OFF ? HV_ACCESS_READ_EXECUTE : HV_ACCESS_READ_WRITE;
}

/* A present leaf of the image at the level of ours: caching and encryption bits are copied from
 * it. */
static struct hv_err *find_neighbour(struct hv_kernel *k, uint64_t *ret)
{
	const struct hv_arch *arch = k->core.as.arch;
	struct hv_gva at = k->core.image.all.start;

	while (at.v < k->core.image.all.end.v) {
		struct hv_mapping m;
		struct hv_err *err = hv_walk(&k->core.as, at, &m);

		if (err)
			return err;
		if (m.present && m.level == arch->map_level) {
			*ret = m.entry;
			return NULL;
		}
		at = hv_gva_add(at, m.len_bytes);
	}
	return hv_err_new(ENOTSUP, "kernel image: no mapping of %llu KiB to copy attributes from",
			  (unsigned long long)(arch->entry_span(arch->map_level) >> 10));
}

struct slot {
	struct hv_gva gva;
	struct hv_gpa entry_gpa;
};

/* *RET: the slot is unused, so its entry is 0 (not just not present) and its table exists. */
static struct hv_err *is_free(struct hv_kernel *k, struct hv_gva gva, struct slot *ret_slot,
			      bool *ret)
{
	const struct hv_arch *arch = k->core.as.arch;
	uint64_t guard = GUARD_SLOTS * arch->entry_span(arch->map_level);
	struct hv_mapping m;
	struct hv_err *err;

	*ret = false;
	if (gva.v + 2 * guard > k->core.image.all.start.v &&
	    gva.v < k->core.image.all.end.v + guard)
		return NULL;
	err = hv_walk(&k->core.as, gva, &m);
	if (err)
		return err;
	*ret = !m.present && m.level == arch->map_level && m.entry == 0;
	*ret_slot = (struct slot){gva, m.entry_gpa};
	return NULL;
}

/* Walks through the runs of NR free slots, which may overlap, up to number WANTED. *RET_NR: how
 * many there are up to there, *RET: the start of the last. */
static struct hv_err *walk_runs(struct hv_kernel *k, size_t nr, size_t wanted, struct hv_gva *ret,
				size_t *ret_nr)
{
	const struct hv_arch *arch = k->core.as.arch;
	uint64_t span = arch->entry_span(arch->map_level);
	size_t free_slots = 0;

	*ret_nr = 0;
	for (struct hv_gva at = arch->free_window.start;
	     at.v < arch->free_window.end.v && *ret_nr <= wanted; at = hv_gva_add(at, span)) {
		struct slot slot;
		bool free_slot;
		struct hv_err *err = is_free(k, at, &slot, &free_slot);

		if (err)
			return err;
		free_slots = free_slot ? free_slots + 1 : 0;
		if (free_slots < nr)
			continue;
		*ret = hv_gva(at.v - (nr - 1) * span);
		++*ret_nr;
	}
	return NULL;
}

/* A run of NR free slots, chosen at random: whoever wants to misuse the stubs or the writable pages
 * behind them does not know where they are. */
static struct hv_err *find_run(struct hv_kernel *k, size_t nr, struct slot *ret)
{
	const struct hv_arch *arch = k->core.as.arch;
	uint64_t span = arch->entry_span(arch->map_level), random = 0;
	struct hv_gva start = {0};
	size_t nr_runs = 0;
	struct hv_err *err = walk_runs(k, nr, SIZE_MAX, &start, &nr_runs);

	if (!err && !nr_runs)
		err = hv_err_new(ENOSPC,
				 "kernel page tables: no %zu unused slots in a row below 0x%llx",
				 nr, (unsigned long long)arch->free_window.end.v);
	if (!err && getrandom(&random, sizeof(random), 0) != sizeof(random))
		err = hv_err_new(EIO, "getrandom: no random numbers");
	if (!err)
		err = walk_runs(k, nr, random % nr_runs, &start, &nr_runs);
	for (size_t i = 0; !err && i < nr; i++) {
		bool free_slot;

		err = is_free(k, hv_gva_add(start, i * span), &ret[i], &free_slot);
		if (!err && !free_slot)
			err = hv_err_new(EBUSY, "kernel page tables: they change");
	}
	return err;
}

struct hv_err *hv_mapping_plan(struct hv_kernel *k, const struct hv_region *region,
			       uint64_t len_bytes, struct hv_mapping_plan *ret)
{
	const struct hv_arch *arch = k->core.as.arch;
	uint64_t span = arch->entry_span(arch->map_level);
	size_t nr = (len_bytes + span - 1) / span;
	HV_AUTO_FREE struct slot *slots = hv_alloc((nr + 1) * sizeof(*slots));
	uint64_t neighbour = 0;
	struct hv_err *err = find_neighbour(k, &neighbour);

	if (!err)
		err = find_run(k, nr, slots);
	if (err)
		return err;
	*ret = (struct hv_mapping_plan){
		.range = {slots[0].gva, hv_gva_add(slots[0].gva, nr * span)},
		.changes = hv_alloc(nr * sizeof(*ret->changes)),
		.nr = nr,
	};
	for (size_t i = 0; i < nr; i++) {
		uint64_t off = HV_REGION_STUBS_OFF + i * span;
		uint64_t leaf = arch->make_leaf(arch->map_level, neighbour,
						hv_gpa_add(region->gpa, off), access_of(off));

		ret->changes[i] = (struct hv_change){
			.gva = slots[i].gva,
			.gpa = slots[i].entry_gpa,
			.kind = HV_CHANGE_ENTRY,
			.len_bytes = sizeof(leaf),
		};
		memcpy(ret->changes[i].to, &leaf, sizeof(leaf));
	}
	return NULL;
}

void hv_mapping_plan_deinit(struct hv_mapping_plan *plan)
{
	free(plan->changes);
	*plan = (struct hv_mapping_plan){0};
}

struct hv_err *hv_mapping_is_present(const struct hv_kernel *k, const struct hv_region *region,
				     struct hv_gva_range range, bool *ret)
{
	uint64_t span = k->core.as.arch->entry_span(k->core.as.arch->map_level);

	for (struct hv_gva at = range.start; at.v < range.end.v; at = hv_gva_add(at, span)) {
		uint64_t off = HV_REGION_STUBS_OFF + (at.v - range.start.v);
		struct hv_mapping m;
		struct hv_err *err = hv_walk(&k->core.as, at, &m);

		if (err && err->code != EFAULT)
			return err;
		if (err || !m.present || m.gpa.v != region->gpa.v + off) {
			hv_err_free(err);
			*ret = false;
			return NULL;
		}
	}
	*ret = true;
	return NULL;
}
