/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "patcher/mapping.h"

#include <string.h>
#include <sys/random.h>

/* Kept unmapped on both sides of the image, so that an access just outside it still faults. */
#define GUARD_BYTES HV_REGION_UNIT

/* Unused space at the start of a module area that is left to the kernel. */
#define MODULE_BYTES (64ULL << 20)

static enum hv_access access_of(uint64_t region_off)
{
	return region_off < HV_REGION_WRITABLE_OFF ? HV_ACCESS_READ_EXECUTE : HV_ACCESS_READ_WRITE;
}

struct hv_err *hv_mapping_refusal(const struct hv_kernel_core *core)
{
	return core->no_reach ? hv_err_copy(core->no_reach) : NULL;
}

/* Returns the bytes of a unit that one entry maps: the whole unit or a page. */
static uint64_t piece_bytes(const struct hv_arch *arch)
{
	uint64_t span = arch->entry_span(arch->map_level);

	return span < HV_REGION_UNIT ? span : HV_REGION_UNIT;
}

/* Entries of the kernel image, at the levels that the region's entries have. The region's entries
 * copy their caching and encryption bits. */
struct neighbours {
	uint64_t leaf;
	uint64_t table; /* the entry that points to the leaf's table */
};

static struct hv_err *find_neighbours_at(struct hv_kernel *k, unsigned level,
					 struct neighbours *ret)
{
	const struct hv_arch *arch = k->core.as.arch;
	struct hv_gva at = k->core.image.all.start;

	while (at.v < k->core.image.all.end.v) {
		struct hv_mapping m, entry_at;
		struct hv_err *err = hv_walk(&k->core.as, at, &m);

		if (!err)
			err = hv_walk_to_entry(&k->core.as, at, &entry_at);
		if (err)
			return err;
		if (m.present && m.level == level) {
			*ret = (struct neighbours){m.entry, entry_at.entry};
			return NULL;
		}
		at = hv_gva_add(at, m.len_bytes);
	}
	return hv_err_new(ENOTSUP, "kernel image: no mapping of %llu KiB to copy attributes from",
			  (unsigned long long)(arch->entry_span(level) >> 10));
}

/* Finds the entries to copy attributes from. A small image can lack a leaf of the preferred size;
 * then a page's entry is used. */
static struct hv_err *find_neighbours(struct hv_kernel *k, struct neighbours *ret)
{
	const struct hv_arch *arch = k->core.as.arch;
	unsigned level = arch->make_table ? 1 : arch->map_level;
	struct hv_err *err = find_neighbours_at(k, level, ret);

	if (!err || err->code != ENOTSUP || level == 1 || !arch->leaf_of_page)
		return err;
	hv_err_free(err);
	return find_neighbours_at(k, 1, ret);
}

/* A page table entry to fill. */
struct entry_at {
	struct hv_gva gva;
	struct hv_gpa entry_gpa;
};

/* Parameters of the search for unused entries. */
struct search {
	struct hv_kernel *k;
	struct hv_reach reach;
	struct hv_gva_range modules[HV_MODULE_AREAS]; /* left to the kernel for modules */
	struct hv_gva_range taken;		      /* used by the region itself */
	bool is_far; /* the search is beyond the image's call range */
};

/* Returns in *RET the start of AREA up to MODULE_BYTES of unused entries. Entries that the kernel
 * may use partially are not counted: the kernel would look for its pages in our table. */
static struct hv_err *keep_room(struct hv_kernel *k, struct hv_gva_range area,
				struct hv_gva_range *ret)
{
	const struct hv_arch *arch = k->core.as.arch;
	uint64_t span = arch->entry_span(arch->map_level), free_bytes = 0;

	*ret = (struct hv_gva_range){area.start, area.start};
	while (ret->end.v < area.end.v && free_bytes < MODULE_BYTES) {
		uint64_t len_bytes = span - ret->end.v % span;
		struct hv_mapping m;
		struct hv_err *err = hv_walk_to_entry(&k->core.as, ret->end, &m);

		if (err)
			return err;
		if (!m.present && m.level >= arch->map_level && m.entry == 0)
			free_bytes += len_bytes;
		ret->end.v += len_bytes;
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

/* Returns whether the entries of the unit at GVA overlap a range that is reserved. */
static bool is_kept(const struct search *s, struct hv_gva gva)
{
	const struct hv_arch *arch = s->k->core.as.arch;
	uint64_t entry_bytes = arch->entry_span(arch->map_level);
	uint64_t span = entry_bytes > HV_REGION_UNIT ? entry_bytes : HV_REGION_UNIT;
	uint64_t start = gva.v & ~(span - 1), end = start + span;

	for (size_t i = 0; i < HV_MODULE_AREAS; i++)
		if (end > s->modules[i].start.v && start < s->modules[i].end.v)
			return true;
	if (end > s->taken.start.v && start < s->taken.end.v)
		return true;
	return end > s->reach.kept.start.v && start < s->reach.kept.end.v;
}

/* Sets *RET to whether the entry for GVA is unused: its table exists and its value is 0, not merely
 * not present. */
static struct hv_err *is_empty(const struct search *s, struct hv_gva gva,
			       struct entry_at *ret_entry, bool *ret)
{
	struct hv_kernel *k = s->k;
	struct hv_mapping m;
	struct hv_err *err = hv_walk_to_entry(&k->core.as, gva, &m);

	*ret = false;
	if (err)
		return err;
	*ret = !m.present && m.level == k->core.as.arch->map_level && m.entry == 0;
	*ret_entry = (struct entry_at){gva, m.entry_gpa};
	return NULL;
}

/* Sets *RET to whether the region can use the unit at GVA: it is not reserved and its entries are
 * unused. */
static struct hv_err *is_free(const struct search *s, struct hv_gva gva, bool *ret)
{
	struct hv_gva_range image = s->k->core.image.all;
	uint64_t piece = piece_bytes(s->k->core.as.arch);
	struct hv_err *err = NULL;

	*ret = false;
	if (is_kept(s, gva))
		return NULL;
	if (gva.v + HV_REGION_UNIT + GUARD_BYTES > image.start.v &&
	    gva.v < image.end.v + GUARD_BYTES)
		return NULL;
	*ret = true;
	for (uint64_t off = 0; !err && *ret && off < HV_REGION_UNIT; off += piece) {
		struct entry_at entry_at;

		err = is_empty(s, hv_gva_add(gva, off), &entry_at, ret);
	}
	return err;
}

/* Visits runs of NR consecutive free units, which can overlap, up to index WANTED. Sets *RET to the
 * start of the last run visited and *RET_NR to the number visited. */
static struct hv_err *walk_runs(const struct search *s, size_t nr, size_t wanted,
				struct hv_gva *ret, size_t *ret_nr)
{
	const uint64_t unit = HV_REGION_UNIT;
	struct hv_gva_range free_range = s->reach.free_range;
	size_t nr_free = 0;

	*ret_nr = 0;
	for (struct hv_gva at = {(free_range.start.v + unit - 1) / unit * unit};
	     at.v < free_range.end.v && *ret_nr <= wanted; at = hv_gva_add(at, unit)) {
		bool is_unused;
		struct hv_err *err = is_free(s, at, &is_unused);

		if (err)
			return err;
		nr_free = is_unused ? nr_free + 1 : 0;
		if (nr_free < nr || !hv_gva_in(hv_gva(at.v - (nr - 1) * unit), s->reach.code))
			continue;
		*ret = hv_gva(at.v - (nr - 1) * unit);
		++*ret_nr;
	}
	return NULL;
}

/* Selects a random run of NR free units, so that an attacker cannot predict the address of
 * trampolines and writable pages. */
static struct hv_err *find_run(struct search *s, size_t nr, struct hv_gva *ret)
{
	uint64_t random = 0;
	size_t nr_runs = 0;
	struct hv_err *err = walk_runs(s, nr, SIZE_MAX, ret, &nr_runs);

	if (!err && !nr_runs) {
		s->is_far = true;
		s->reach.code = s->reach.code_else;
		err = walk_runs(s, nr, SIZE_MAX, ret, &nr_runs);
	}
	if (!err && !nr_runs)
		err = hv_err_new(
			ENOSPC,
			"kernel page tables: no unused entries for a contiguous %llu MiB below "
			"0x%llx",
			(unsigned long long)(nr * HV_REGION_UNIT >> 20),
			(unsigned long long)s->reach.free_range.end.v);
	if (!err && getrandom(&random, sizeof(random), 0) != sizeof(random))
		err = hv_err_new(EIO, "kernel page tables: the host gave no random number for the "
				      "region's address");
	return err ? err : walk_runs(s, nr, random % nr_runs, ret, &nr_runs);
}

/* Gets the entries of the NR pieces from START, and checks again that they are unused. */
static struct hv_err *find_entries(const struct search *s, struct hv_gva start, size_t nr,
				   struct entry_at *ret)
{
	uint64_t piece = piece_bytes(s->k->core.as.arch);

	for (size_t i = 0; i < nr; i++) {
		bool is_unused;
		struct hv_err *err = is_empty(s, hv_gva_add(start, i * piece), &ret[i], &is_unused);

		if (err)
			return err;
		if (!is_unused)
			return hv_err_new(EBUSY,
					  "kernel page tables: modified during the search; retry");
	}
	return NULL;
}

/* Returns the number of entries that RANGE spans. */
static size_t count_entries(const struct hv_arch *arch, struct hv_gva_range range)
{
	uint64_t span = arch->entry_span(arch->map_level);

	return (range.end.v - 1) / span - range.start.v / span + 1;
}

/* Returns the address that the entry for AT must contain. AT is in RANGE. */
static struct hv_gpa entry_leads_to(const struct hv_arch *arch, const struct hv_region *region,
				    struct hv_gva_range range, struct hv_gva at)
{
	uint64_t off = HV_REGION_TRAMPOLINES_OFF + (at.v - range.start.v);

	if (arch->make_table)
		off = HV_REGION_TABLES_OFF +
		      (count_entries(arch, (struct hv_gva_range){range.start, {at.v + 1}}) - 1) *
			      arch->entry_span(1);
	return hv_gpa_add(region->gpa, off);
}

/* Returns the address that the entry for offset OFF of the veneers must contain. The table for the
 * veneers follows the tables for RANGE. */
static struct hv_gpa veneers_lead_to(const struct hv_arch *arch, const struct hv_region *region,
				     struct hv_gva_range range, uint64_t off)
{
	off += HV_REGION_TRAMPOLINES_OFF;
	if (arch->make_table)
		off = HV_REGION_TABLES_OFF + count_entries(arch, range) * arch->entry_span(1);
	return hv_gpa_add(region->gpa, off);
}

static bool has_veneers(const struct hv_mapping_plan *plan)
{
	return plan->veneers.start.v != plan->veneers.end.v;
}

/* Writes the leaf for AT into TABLE, one of the plan's tables. START is the address of the mapping
 * that contains AT. */
static void fill_table(const struct hv_arch *arch, const struct hv_region *region,
		       uint64_t neighbour, struct hv_mapping_plan *plan, struct hv_gpa table,
		       struct hv_gva at, struct hv_gva start)
{
	uint64_t off = HV_REGION_TRAMPOLINES_OFF + (at.v - start.v);
	uint64_t table_off = table.v - (region->gpa.v + HV_REGION_TABLES_OFF);
	uint64_t entry_off = arch->entry_at(hv_gpa(table_off), 1, at).v;

	plan->tables[entry_off / sizeof(*plan->tables)] =
		arch->make_leaf(1, neighbour, hv_gpa_add(region->gpa, off), access_of(off));
}

static struct hv_err *make_tables(const struct hv_arch *arch, const struct hv_region *region,
				  uint64_t neighbour, struct hv_mapping_plan *plan)
{
	uint64_t page_bytes = arch->entry_span(1);
	size_t nr_entries = count_entries(arch, plan->range) + has_veneers(plan);
	size_t len_bytes = nr_entries * page_bytes;

	if (len_bytes > HV_REGION_TABLES_BYTES)
		return hv_err_new(ENOSPC,
				  "region: %llu MiB is too large for %s guests with pages of %llu "
				  "KiB",
				  (unsigned long long)(region->len_bytes >> 20), arch->name,
				  (unsigned long long)(page_bytes >> 10));
	plan->tables = hv_alloc(len_bytes);
	plan->tables_bytes = len_bytes;
	for (struct hv_gva at = plan->range.start; at.v < plan->range.end.v; at.v += page_bytes)
		fill_table(arch, region, neighbour, plan,
			   entry_leads_to(arch, region, plan->range, at), at, plan->range.start);
	for (struct hv_gva at = plan->veneers.start; at.v < plan->veneers.end.v; at.v += page_bytes)
		fill_table(arch, region, neighbour, plan,
			   veneers_lead_to(arch, region, plan->range, 0), at, plan->veneers.start);
	return NULL;
}

/* Returns an entry that points to TO. */
static uint64_t make_entry(const struct hv_arch *arch, const struct hv_region *region,
			   const struct neighbours *n, struct hv_gpa to)
{
	if (arch->make_table)
		return arch->make_table(n->table, to);
	return arch->make_leaf(arch->map_level, n->leaf, to, access_of(to.v - region->gpa.v));
}

static void add_change(const struct entry_at *entry_at, uint64_t entry,
		       struct hv_mapping_plan *plan)
{
	struct hv_change *change = &plan->changes[plan->nr++];

	*change = (struct hv_change){
		.gva = entry_at->gva,
		.gpa = entry_at->entry_gpa,
		.kind = HV_CHANGE_ENTRY,
		.len_bytes = sizeof(entry),
	};
	memcpy(change->to, &entry, sizeof(entry));
}

/* ENTRIES contains the NR entries of the range, followed by those of the veneers. */
static void make_changes(const struct hv_arch *arch, const struct hv_region *region,
			 const struct neighbours *n, const struct entry_at *entries, size_t nr,
			 struct hv_mapping_plan *plan)
{
	uint64_t piece = piece_bytes(arch);

	plan->changes = hv_alloc((nr + HV_REGION_UNIT / piece) * sizeof(*plan->changes));
	for (size_t i = 0; i < nr; i++) {
		struct hv_gpa to = entry_leads_to(arch, region, plan->range, entries[i].gva);

		if (i == 0 || entries[i].entry_gpa.v != entries[i - 1].entry_gpa.v)
			add_change(&entries[i], make_entry(arch, region, n, to), plan);
	}
	for (uint64_t off = 0; has_veneers(plan) && off < HV_REGION_UNIT; off += piece)
		add_change(&entries[nr + off / piece],
			   make_entry(arch, region, n,
				      veneers_lead_to(arch, region, plan->range, off)),
			   plan);
}

static struct hv_gva_range both(struct hv_gva_range a, struct hv_gva_range b)
{
	struct hv_gva start = a.start.v > b.start.v ? a.start : b.start;
	struct hv_gva end = a.end.v < b.end.v ? a.end : b.end;

	return (struct hv_gva_range){start, start.v < end.v ? end : start};
}

/* Finds entries for the veneers of a region mapped at RANGE. If there are none, functions of
 * distant modules cannot be traced; this is an error only if the image needs veneers, too. */
static struct hv_err *find_veneers(struct search *s, struct hv_gva_range range,
				   struct entry_at *ret, struct hv_gva_range *ret_veneers)
{
	struct hv_gva_range free_range = s->reach.veneers;
	bool is_needed = s->is_far;
	struct hv_gva start;
	struct hv_err *err;

	if (free_range.start.v == free_range.end.v)
		return NULL;
	if (is_needed)
		free_range = both(free_range, hv_reach_of(&s->k->core).code);
	s->taken = range;
	s->reach.free_range = s->reach.code = s->reach.code_else = free_range;
	err = find_run(s, 1, &start);
	if (!err)
		err = find_entries(s, start, HV_REGION_UNIT / piece_bytes(s->k->core.as.arch), ret);
	if (err && err->code == ENOSPC && !is_needed) {
		hv_err_free(err);
		return NULL;
	}
	if (err && is_needed)
		err = hv_err_in(
			err, "veneers, which are needed to reach the region from the kernel image");
	if (!err)
		*ret_veneers = (struct hv_gva_range){start, hv_gva_add(start, HV_REGION_UNIT)};
	return err;
}

/* Returns whether the region has room for the table of the veneers. If not, they are left out
 * unless the image needs them. */
static bool has_table_for_veneers(const struct hv_arch *arch, struct hv_gva_range range)
{
	return (count_entries(arch, range) + 1) * arch->entry_span(1) <= HV_REGION_TABLES_BYTES;
}

struct hv_err *hv_mapping_plan(struct hv_kernel *k, const struct hv_region *region,
			       uint64_t len_bytes, struct hv_mapping_plan *ret)
{
	const struct hv_arch *arch = k->core.as.arch;
	size_t nr_units = (len_bytes + HV_REGION_UNIT - 1) / HV_REGION_UNIT;
	size_t pieces = HV_REGION_UNIT / piece_bytes(arch), nr = nr_units * pieces;
	HV_AUTO_FREE struct entry_at *entries = hv_alloc((nr + pieces) * sizeof(*entries));
	struct hv_mapping_plan plan = {0};
	struct neighbours neighbours = {0};
	struct search search;
	struct hv_err *err = begin_search(k, &search);

	if (!err)
		err = find_neighbours(k, &neighbours);
	if (!err)
		err = find_run(&search, nr_units, &plan.range.start);
	if (!err)
		err = find_entries(&search, plan.range.start, nr, entries);
	if (err)
		return err;
	plan.range.end = hv_gva_add(plan.range.start, nr_units * HV_REGION_UNIT);
	err = find_veneers(&search, plan.range, &entries[nr], &plan.veneers);
	if (!err && arch->make_table && !search.is_far && !has_table_for_veneers(arch, plan.range))
		plan.veneers = (struct hv_gva_range){0};
	if (!err && arch->make_table)
		err = make_tables(arch, region, neighbours.leaf, &plan);
	if (err)
		return err;
	make_changes(arch, region, &neighbours, entries, nr, &plan);
	*ret = plan;
	return NULL;
}

void hv_mapping_put_tables(const struct hv_mapping_plan *plan, const struct hv_region *region)
{
	if (!plan->tables_bytes)
		return;
	memcpy(region->host + HV_REGION_TABLES_OFF, plan->tables, plan->tables_bytes);
	if (region->kept)
		memcpy(region->kept + HV_REGION_TABLES_OFF, plan->tables, plan->tables_bytes);
}

void hv_mapping_plan_deinit(struct hv_mapping_plan *plan)
{
	free(plan->changes);
	free(plan->tables);
	*plan = (struct hv_mapping_plan){0};
}

/* Sets *RET to whether the entry for AT, an address in RANGE, points to the region. */
static struct hv_err *leads_to_us(const struct hv_kernel *k, const struct hv_region *region,
				  struct hv_gva_range range, struct hv_gva at, bool *ret)
{
	struct hv_mapping m;
	struct hv_err *err = hv_walk_to_entry(&k->core.as, at, &m);

	*ret = !err && m.present && m.gpa.v == entry_leads_to(k->core.as.arch, region, range, at).v;
	if (!err || err->code != EFAULT)
		return err;
	hv_err_free(err);
	return NULL;
}

struct hv_err *hv_mapping_is_present(const struct hv_kernel *k, const struct hv_region *region,
				     struct hv_gva_range range, bool *ret)
{
	uint64_t piece = piece_bytes(k->core.as.arch);
	struct hv_err *err = NULL;

	*ret = true;
	for (struct hv_gva at = range.start; !err && *ret && at.v < range.end.v;
	     at = hv_gva_add(at, piece))
		err = leads_to_us(k, region, range, at, ret);
	return err;
}

struct hv_err *hv_mapping_any_present(const struct hv_kernel *k, const struct hv_region *region,
				      struct hv_gva_range range, bool *ret)
{
	uint64_t piece = piece_bytes(k->core.as.arch);

	*ret = false;
	for (struct hv_gva at = {range.start.v / piece * piece}; at.v < range.end.v;
	     at = hv_gva_add(at, piece)) {
		struct hv_mapping m;
		struct hv_err *err = hv_walk_to_entry(&k->core.as, at, &m);

		if (err)
			return err;
		if (m.present && m.gpa.v - region->gpa.v < region->len_bytes)
			*ret = true;
	}
	return NULL;
}

/* Sets *RET to whether the entry at offset OFF of the veneers points to the region, and *RET_TO to
 * the address it should contain. */
static struct hv_err *veneer_leads_to_us(const struct hv_kernel *k, const struct hv_region *region,
					 struct hv_gva_range range, struct hv_gva_range veneers,
					 uint64_t off, struct hv_gpa *ret_to, bool *ret)
{
	struct hv_mapping m;
	struct hv_err *err = hv_walk_to_entry(&k->core.as, hv_gva_add(veneers.start, off), &m);

	*ret_to = veneers_lead_to(k->core.as.arch, region, range, off);
	*ret = !err && m.present && m.gpa.v == ret_to->v;
	if (!err || err->code != EFAULT)
		return err;
	hv_err_free(err);
	return NULL;
}

struct hv_err *hv_mapping_has_veneers(const struct hv_kernel *k, const struct hv_region *region,
				      struct hv_gva_range range, struct hv_gva_range veneers,
				      bool *ret)
{
	uint64_t piece = piece_bytes(k->core.as.arch), len = veneers.end.v - veneers.start.v;
	struct hv_err *err = NULL;
	struct hv_gpa to;

	*ret = true;
	for (uint64_t off = 0; !err && *ret && off < len; off += piece)
		err = veneer_leads_to_us(k, region, range, veneers, off, &to, ret);
	return err;
}

struct hv_gva hv_mapping_first(const struct hv_kernel *k, const struct hv_region *region,
			       struct hv_gva_range range, struct hv_gva_range veneers,
			       struct hv_gpa *ret)
{
	const struct hv_arch *arch = k->core.as.arch;
	uint64_t piece = piece_bytes(arch);
	bool present;

	for (struct hv_gva at = range.start; at.v < range.end.v; at = hv_gva_add(at, piece)) {
		HV_AUTO_ERR struct hv_err *err = leads_to_us(k, region, range, at, &present);

		if (err || !present)
			continue;
		*ret = entry_leads_to(arch, region, range, at);
		return at;
	}
	for (uint64_t off = 0; off < veneers.end.v - veneers.start.v; off += piece) {
		HV_AUTO_ERR struct hv_err *err =
			veneer_leads_to_us(k, region, range, veneers, off, ret, &present);

		if (!err && present)
			return hv_gva_add(veneers.start, off);
	}
	*ret = entry_leads_to(arch, region, range, range.start);
	return range.start;
}
