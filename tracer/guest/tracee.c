/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/guest/tracee.h"

#include <string.h>

#include "patcher/mapping.h"

/* -- the traced guest -------------------------------------------------------------------------- */

/* If kprobes cannot be found, instructions that depend on them are not replaced
 * (hv_detours_patch). */
static void heed_kprobes(struct hv_tracee *t)
{
	struct hv_own_kprobes_layout layout = {.exists = false};

	hv_err_free(hv_own_kprobes_find(&t->kernel->core, &layout));
	hv_patcher_heed_kprobes(t->patcher, &layout);
}

struct hv_err *hv_tracee_new(struct hv_guest *guest, struct hv_kernel *kernel,
			     struct hv_tracee **ret)
{
	struct hv_tracee *t = hv_alloc(sizeof(*t));
	struct hv_err *err;

	t->guest = guest;
	t->kernel = kernel;
	err = hv_guest_region(guest, &t->region);
	if (!err)
		err = hv_region_plan_rings(&t->region, kernel->layout.nr_cpus, &t->plan);
	if (err) {
		free(t);
		return err;
	}
	t->patcher = hv_patcher_new(&kernel->core.as, kernel->core.image.all, &t->region);
	heed_kprobes(t);
	*ret = t;
	return NULL;
}

void hv_tracee_free(struct hv_tracee *t)
{
	if (!t)
		return;
	hv_patcher_free(t->patcher);
	free(t->have_left);
	free(t);
}

struct hv_err *hv_tracee_use_half(struct hv_tracee *t)
{
	struct hv_region half = t->region;

	half.len_bytes = t->plan.part_bytes / 2;
	return hv_region_plan_rings(&half, t->plan.nr_cpus, &t->plan);
}

uint64_t hv_tracee_map_bytes(const struct hv_tracee *t)
{
	uint64_t bytes = hv_plan_end_off(&t->plan) - HV_REGION_TRAMPOLINES_OFF;

	return (bytes + HV_REGION_UNIT - 1) / HV_REGION_UNIT * HV_REGION_UNIT;
}

void hv_tracee_plan_as(struct hv_tracee *t, uint64_t len_bytes)
{
	const struct hv_ring_plan all = t->plan;
	struct hv_err *err = NULL;

	while (!err && hv_tracee_map_bytes(t) > len_bytes)
		err = hv_tracee_use_half(t);
	if (hv_tracee_map_bytes(t) != len_bytes)
		t->plan = all;
	hv_err_free(err);
}

void hv_tracee_bind(struct hv_tracee *t)
{
	struct hv_gpa to;
	struct hv_gva at = hv_mapping_first(t->kernel, &t->region, t->range, t->veneers, &to);

	hv_patcher_bind(t->patcher, at, to);
}

bool hv_tracee_is_partly_mapped(const struct hv_tracee *t)
{
	struct hv_gpa to;
	struct hv_gva at = hv_mapping_first(t->kernel, &t->region, t->range, t->veneers, &to);

	return hv_entry_leads_to(&t->kernel->core.as, at, to);
}

struct hv_err *hv_tracee_is_mapped(const struct hv_tracee *t, bool *ret)
{
	struct hv_err *err = hv_mapping_is_present(t->kernel, &t->region, t->range, ret);

	if (err || !*ret || t->veneers.start.v == t->veneers.end.v)
		return err;
	return hv_mapping_has_veneers(t->kernel, &t->region, t->range, t->veneers, ret);
}

static bool range_maps(const struct hv_tracee *t, struct hv_gva_range range, struct hv_gva at,
		       struct hv_gpa gpa)
{
	uint64_t start = t->region.gpa.v + HV_REGION_TRAMPOLINES_OFF;

	return hv_gva_in(at, range) && gpa.v == start + (at.v - range.start.v);
}

bool hv_tracee_maps(const struct hv_tracee *t, struct hv_gva at, struct hv_gpa gpa)
{
	return range_maps(t, t->range, at, gpa) || range_maps(t, t->veneers, at, gpa);
}

bool hv_tracee_is_call(const struct hv_tracee *t, struct hv_gva at, const uint8_t *bytes)
{
	struct hv_gva target = {0};

	return t->kernel->core.as.arch->classify_site(bytes, at, &target) == HV_SITE_CALL &&
	       hv_tracee_has(t, target);
}

bool hv_tracee_is_left(const struct hv_tracee *t, struct hv_gva at, const uint8_t *bytes)
{
	struct hv_gva target = {0};
	enum hv_site_kind kind = t->kernel->core.as.arch->classify_site(bytes, at, &target);

	return (kind == HV_SITE_CALL || kind == HV_SITE_NOP) && hv_tracee_has(t, target);
}

void hv_tracee_look_under_breakpoint(const struct hv_tracee *t, const struct hv_journal_entry *e,
				     uint8_t *now)
{
	struct hv_gva target;

	if (t->kernel->core.as.arch->classify_site(now, hv_gva(e->gva), &target) ==
	    HV_SITE_BREAKPOINT)
		now[0] = e->new_bytes[0];
}

struct hv_err *hv_tracee_is_patched(const struct hv_tracee *t, struct hv_journal_entry *e,
				    bool *ret)
{
	struct hv_gva at = hv_gva(e->gva);
	uint8_t now[HV_SITE_LEN_MAX];
	struct hv_mapping m;
	struct hv_err *err;

	*ret = false;
	if (e->len_bytes != t->kernel->core.as.arch->site_len_bytes)
		return NULL;
	err = hv_walk(&t->kernel->core.as, at, &m);
	if (err || !m.present || !m.executable || m.gpa.v != e->gpa)
		return err;
	err = hv_guest_read(t->guest, m.gpa, now, e->len_bytes);
	if (err)
		return err;
	*ret = hv_tracee_is_left(t, at, now);
	memcpy(e->new_bytes, now, e->len_bytes);
	return NULL;
}

/* -- the header of the region ------------------------------------------------------------------ */

static void write_header(const struct hv_tracee *t, uint8_t *start)
{
	struct hv_region_header *header = (struct hv_region_header *)start;

	*header = (struct hv_region_header){
		.version = HV_REGION_VERSION,
		.nr_cpus = t->plan.nr_cpus,
		.gpa = t->region.gpa.v,
		.map_gva = t->range.start.v,
		.map_len_bytes = t->range.end.v - t->range.start.v,
		.veneers_gva = t->veneers.start.v,
		.text_gva = t->kernel->text.start.v,
		.handler_gva = t->handler.v,
		.build_id_len_bytes = (uint32_t)t->kernel->build_id_len_bytes,
	};
	memcpy(header->build_id, t->kernel->build_id, sizeof(header->build_id));
	memset(start + HV_REGION_RELEASE_OFF, 0, HV_REGION_RELEASE_LEN);
	memcpy(start + HV_REGION_RELEASE_OFF, HVTRACE_VERSION, sizeof(HVTRACE_VERSION));
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memcpy(header->magic, HV_REGION_MAGIC, sizeof(HV_REGION_MAGIC));
}

void hv_region_write_header(const struct hv_tracee *t)
{
	if (t->region.kept)
		write_header(t, t->region.kept);
	write_header(t, t->region.host);
}

/* Does not check whether our mapping still exists: the guest's page tables show that. */
static bool header_is_sane(const struct hv_tracee *t, const struct hv_region_header *h)
{
	const uint64_t unit = HV_REGION_UNIT;
	struct hv_reach reach = hv_reach_of(&t->kernel->core);
	struct hv_gva_range window = reach.free_range; /* empty if nothing can be traced */

	if (h->veneers_gva &&
	    (h->veneers_gva % unit != 0 || !hv_gva_in(hv_gva(h->veneers_gva), reach.veneers)))
		return false;
	return h->gpa == t->region.gpa.v && h->nr_entries <= HV_JOURNAL_CAP &&
	       h->map_gva % unit == 0 && h->map_len_bytes && h->map_len_bytes % unit == 0 &&
	       h->map_len_bytes <= t->region.len_bytes - HV_REGION_TRAMPOLINES_OFF &&
	       h->handler_gva - h->map_gva < h->map_len_bytes &&
	       h->map_len_bytes <= window.end.v - window.start.v && h->map_gva >= window.start.v &&
	       h->map_gva <= window.end.v - h->map_len_bytes;
}

static bool same_boot(const struct hv_kernel *k, const struct hv_region_header *h)
{
	return h->text_gva == k->text.start.v && h->build_id_len_bytes == k->build_id_len_bytes &&
	       memcmp(h->build_id, k->build_id, k->build_id_len_bytes) == 0;
}

/* Sets *RET to whether a page-table entry of RANGE leads into the region. If so, our trampolines
 * may be mapped. */
static struct hv_err *any_entry_present(const struct hv_tracee *t, struct hv_gva_range range,
					bool *ret)
{
	return hv_mapping_any_present(t->kernel, &t->region, range, ret);
}

struct hv_gva_range hv_region_range(const struct hv_region_header *h)
{
	return (struct hv_gva_range){hv_gva(h->map_gva), hv_gva(h->map_gva + h->map_len_bytes)};
}

struct hv_gva_range hv_region_veneers(const struct hv_region_header *h)
{
	struct hv_gva start = hv_gva(h->veneers_gva);

	return (struct hv_gva_range){start, hv_gva_add(start, start.v ? HV_REGION_UNIT : 0)};
}

/* Like any_entry_present(), for all addresses at which our page-table entries can be. */
static struct hv_err *any_entry_left(const struct hv_tracee *t, bool *ret)
{
	struct hv_reach reach = hv_reach_of(&t->kernel->core);
	struct hv_err *err = any_entry_present(t, reach.free_range, ret);

	return err || *ret ? err : any_entry_present(t, reach.veneers, ret);
}

struct hv_err *hv_region_check_not_mapped(const struct hv_tracee *t)
{
	bool present;
	struct hv_err *err = any_entry_left(t, &present);

	if (!err && present)
		err = hv_err_new(EUCLEAN,
				 "region: the guest's page tables lead into it, but its journal"
				 " is gone: only a reboot of the guest frees it");
	return err;
}

/* RET is the release that created the region, with invalid characters replaced. */
static void read_release(const struct hv_region *region, char ret[HV_REGION_RELEASE_LEN])
{
	memcpy(ret, hv_region_release(region), HV_REGION_RELEASE_LEN);
	ret[HV_REGION_RELEASE_LEN - 1] = '\0';
	for (char *c = ret; *c; c++)
		if (!strchr("0123456789.abcdefghijklmnopqrstuvwxyz~+-", *c))
			*c = '?';
}

/* Another release wrote the header, in a different format and possibly with different
 * trampolines. */
static struct hv_err *other_release(const struct hv_tracee *t, uint32_t version,
				    enum hv_region_use *ret_use)
{
	char release[HV_REGION_RELEASE_LEN];
	bool present;
	struct hv_err *err = any_entry_left(t, &present);

	*ret_use = HV_REGION_STALE;
	if (err || !present)
		return err;
	read_release(&t->region, release);
	return hv_err_new(EUCLEAN,
			  "region: hvtrace %s left changes in the guest, in a region of version "
			  "%u: only that release can take them back (this is " HVTRACE_VERSION ")",
			  release[0] ? release : "before 0.2.0", version);
}

struct hv_err *hv_region_use(const struct hv_tracee *t, struct hv_region_header *ret,
			     enum hv_region_use *ret_use)
{
	bool present;
	struct hv_err *err;

	*ret = *hv_region_header(&t->region);
	if (memcmp(ret->magic, HV_REGION_MAGIC, sizeof(HV_REGION_MAGIC)) != 0) {
		*ret_use = HV_REGION_UNUSED;
		return hv_region_check_not_mapped(t);
	}
	if (ret->version != HV_REGION_VERSION)
		return other_release(t, ret->version, ret_use);
	if (!header_is_sane(t, ret) || !same_boot(t->kernel, ret)) {
		*ret_use = HV_REGION_STALE;
		return hv_region_check_not_mapped(t);
	}
	err = any_entry_present(t, hv_region_range(ret), &present);
	if (!err && !present)
		err = any_entry_present(t, hv_region_veneers(ret), &present);
	if (err)
		return err;
	*ret_use = present ? HV_REGION_LIVE : HV_REGION_STALE;
	return present ? NULL : hv_region_check_not_mapped(t);
}
