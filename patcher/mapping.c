/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "patcher/mapping.h"

#include <string.h>
#include <sys/random.h>

/* Slots that stay empty on both sides of the image, so that a stray access past its end still
 * faults. */
#define GUARD_SLOTS 1

/* Unused slots at the start of an area that stay the kernel's, for modules: 64 MiB. */
#define MODULE_SLOTS 32

static enum hv_access access_of(uint64_t region_off)
{
	return region_off < HV_REGION_WRITABLE_OFF ? HV_ACCESS_READ_EXECUTE : HV_ACCESS_READ_WRITE;
}

struct hv_err *hv_mapping_refusal(const struct hv_kernel_core *core)
{
	const struct hv_arch *arch = core->as.arch;

	if (core->no_reach)
		return hv_err_copy(core->no_reach);
	if (arch->entry_span(arch->map_level) != HV_REGION_UNIT)
		return hv_err_new(ENOTSUP,
				  "function tracing of %s guests with pages of %llu KiB is not "
				  "there yet",
				  arch->name, (unsigned long long)(arch->entry_span(1) >> 10));
	return NULL;
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

/* Where slots are looked for. */
struct search {
	struct hv_kernel *k;
	struct hv_reach reach;
	struct hv_gva_range modules[HV_MODULE_AREAS]; /* room that stays the kernel's */
};

/* The part of AREA from its start that has MODULE_SLOTS unused slots. */
static struct hv_err *keep_room(struct hv_kernel *k, struct hv_gva_range area,
				struct hv_gva_range *ret)
{
	const struct hv_arch *arch = k->core.as.arch;
	uint64_t span = arch->entry_span(arch->map_level);
	unsigned nr = 0;

	*ret = (struct hv_gva_range){area.start, area.start};
	while (ret->end.v < area.end.v && nr < MODULE_SLOTS) {
		struct hv_mapping m;
		struct hv_err *err = hv_walk(&k->core.as, ret->end, &m);

		if (err)
			return err;
		nr += !m.present && m.level >= arch->map_level && m.entry == 0;
		ret->end.v += span - ret->end.v % span;
	}
	return NULL;
}

static struct hv_err *begin_search(struct hv_kernel *k, struct search *ret)
{
	struct hv_err *err = hv_mapping_refusal(&k->core);

	*ret = (struct search){.k = k, .reach = hv_reach_of(&k->core)};
	for (size_t i = 0; !err && i < HV_MODULE_AREAS; i++)
		err = keep_room(k, ret->reach.module_areas[i], &ret->modules[i]);
	return err;
}

static bool is_for_modules(const struct search *s, struct hv_gva gva)
{
	const struct hv_arch *arch = s->k->core.as.arch;
	uint64_t span = arch->entry_span(arch->map_level);

	for (size_t i = 0; i < HV_MODULE_AREAS; i++)
		if (gva.v + span > s->modules[i].start.v && gva.v < s->modules[i].end.v)
			return true;
	return gva.v + span > s->reach.kept.start.v && gva.v < s->reach.kept.end.v;
}

/* *RET: the slot is unused, so its entry is 0 (not just not present) and its table exists. */
static struct hv_err *is_free(const struct search *s, struct hv_gva gva, struct slot *ret_slot,
			      bool *ret)
{
	struct hv_kernel *k = s->k;
	const struct hv_arch *arch = k->core.as.arch;
	uint64_t guard = GUARD_SLOTS * arch->entry_span(arch->map_level);
	struct hv_mapping m;
	struct hv_err *err;

	*ret = false;
	if (is_for_modules(s, gva))
		return NULL;
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
static struct hv_err *walk_runs(const struct search *s, size_t nr, size_t wanted,
				struct hv_gva *ret, size_t *ret_nr)
{
	const struct hv_arch *arch = s->k->core.as.arch;
	uint64_t span = arch->entry_span(arch->map_level);
	struct hv_gva_range window = s->reach.free_window;
	size_t free_slots = 0;

	*ret_nr = 0;
	for (struct hv_gva at = {(window.start.v + span - 1) / span * span};
	     at.v < window.end.v && *ret_nr <= wanted; at = hv_gva_add(at, span)) {
		struct slot slot;
		bool free_slot;
		struct hv_err *err = is_free(s, at, &slot, &free_slot);

		if (err)
			return err;
		free_slots = free_slot ? free_slots + 1 : 0;
		if (free_slots < nr || !hv_gva_in(hv_gva(at.v - (nr - 1) * span), s->reach.code))
			continue;
		*ret = hv_gva(at.v - (nr - 1) * span);
		++*ret_nr;
	}
	return NULL;
}

/* A run of NR free slots, chosen at random: whoever wants to misuse the stubs or the writable pages
 * behind them does not know where they are. */
static struct hv_err *find_run(struct search *s, size_t nr, struct slot *ret)
{
	const struct hv_arch *arch = s->k->core.as.arch;
	uint64_t span = arch->entry_span(arch->map_level), random = 0;
	struct hv_gva start = {0};
	size_t nr_runs = 0;
	struct hv_err *err = walk_runs(s, nr, SIZE_MAX, &start, &nr_runs);

	if (!err && !nr_runs) {
		s->reach.code = s->reach.code_else;
		err = walk_runs(s, nr, SIZE_MAX, &start, &nr_runs);
	}
	if (!err && !nr_runs)
		err = hv_err_new(ENOSPC,
				 "kernel page tables: no %zu unused slots in a row below 0x%llx",
				 nr, (unsigned long long)s->reach.free_window.end.v);
	if (!err && getrandom(&random, sizeof(random), 0) != sizeof(random))
		err = hv_err_new(EIO, "getrandom: no random numbers");
	if (!err)
		err = walk_runs(s, nr, random % nr_runs, &start, &nr_runs);
	for (size_t i = 0; !err && i < nr; i++) {
		bool free_slot;

		err = is_free(s, hv_gva_add(start, i * span), &ret[i], &free_slot);
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
	struct search search;
	struct hv_err *err = begin_search(k, &search);

	if (!err)
		err = find_neighbour(k, &neighbour);
	if (!err)
		err = find_run(&search, nr, slots);
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
