/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/guest/tracee.h"

#include <string.h>

#include "patcher/mapping.h"

/* If kprobes cannot be found, instructions that depend on them are not replaced
 * (hv_detours_patch). */
static void heed_kprobes(struct hv_tracee *t)
{
	struct hv_own_probes_layout layout = {.exists = false};

	hv_err_free(hv_own_probes_find(&t->kernel->core, &layout));
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
	uint64_t bytes = hv_plan_end_off(&t->plan) - HV_REGION_STUBS_OFF;

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
	struct hv_gva at = hv_mapping_first(t->kernel, &t->region, t->range, t->landings, &to);

	hv_patcher_bind(t->patcher, at, to);
}

bool hv_tracee_is_partly_mapped(const struct hv_tracee *t)
{
	struct hv_gpa to;
	struct hv_gva at = hv_mapping_first(t->kernel, &t->region, t->range, t->landings, &to);

	return hv_slot_leads_to(&t->kernel->core.as, at, to);
}

struct hv_err *hv_tracee_is_mapped(const struct hv_tracee *t, bool *ret)
{
	struct hv_err *err = hv_mapping_is_present(t->kernel, &t->region, t->range, ret);

	if (err || !*ret || t->landings.start.v == t->landings.end.v)
		return err;
	return hv_mapping_has_landings(t->kernel, &t->region, t->range, t->landings, ret);
}

static bool range_maps(const struct hv_tracee *t, struct hv_gva_range range, struct hv_gva at,
		       struct hv_gpa gpa)
{
	uint64_t start = t->region.gpa.v + HV_REGION_STUBS_OFF;

	return hv_gva_in(at, range) && gpa.v == start + (at.v - range.start.v);
}

bool hv_tracee_maps(const struct hv_tracee *t, struct hv_gva at, struct hv_gpa gpa)
{
	return range_maps(t, t->range, at, gpa) || range_maps(t, t->landings, at, gpa);
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
