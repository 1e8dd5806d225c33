/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Carries out the plans of plug.h: all changes of one in one hold. */
#include <stdlib.h>
#include <string.h>

#include "kernel/tasks.h"
#include "tracer/plug.h"
#include "tracer/tracee.h"

struct plugging {
	struct hv_tracee *tracee;
	const struct hv_tracepoint_layout *layout;
	const struct hv_plug *plug; /* NULL: taken out of TP */
	const struct hv_tracepoint *tp;
};

static struct hv_err *check_locks(const struct plugging *p)
{
	const char *lock;
	struct hv_err *err = hv_tracepoints_locked(p->tracee->kernel, p->layout, &lock);

	if (!err && lock)
		err = hv_err_new(EBUSY, "the guest's kernel has %s locked", lock);
	return err;
}

static struct hv_err *plan(const struct plugging *p, struct hv_plug_changes *ret)
{
	hv_cleanup(hv_tracepoint_state_deinit) struct hv_tracepoint_state state = {0};
	const struct hv_tracee *t = p->tracee;
	struct hv_err *err =
		hv_tracepoint_state_read(t->kernel, p->layout, p->tp, t->range, &state);

	if (err)
		return err;
	return p->plug ? hv_plug_plan(t, p->layout, p->plug, &state, ret)
		       : hv_unplug_plan(t, p->layout, p->tp, &state, ret);
}

/* Takes back the changes that were made, of which a part was refused. */
static struct hv_err *take_back(const struct plugging *p, struct hv_hold *hold,
				const struct hv_plug_changes *made)
{
	HV_AUTO_FREE struct hv_change *back = hv_alloc((made->nr + 1) * sizeof(*back));
	size_t nr = 0;
	struct hv_err *err;

	for (size_t i = 0; i < made->nr; i++) {
		if (made->list[i].refused)
			continue;
		back[nr] = made->list[i];
		memcpy(back[nr].from, made->list[i].to, sizeof(back[nr].from));
		memcpy(back[nr].to, made->list[i].from, sizeof(back[nr].to));
		nr++;
	}
	err = hv_patcher_apply_held(p->tracee->patcher, hold, back, nr);
	for (size_t i = 0; !err && i < nr; i++)
		if (back[i].refused)
			err = hv_err_new(EIO, "0x%llx could not be put back",
					 (unsigned long long)back[i].gva.v);
	return hv_err_mark(err, HV_ERR_NEEDS_RECOVERY);
}

static struct hv_err *carry_out(struct hv_hold *hold, void *ctx)
{
	hv_cleanup(hv_plug_changes_deinit) struct hv_plug_changes changes = {0};
	const struct plugging *p = ctx;
	struct hv_gva refused = {0};
	struct hv_err *err = check_locks(p);

	if (!err)
		err = plan(p, &changes);
	if (!err && changes.nr)
		err = hv_patcher_apply_held(p->tracee->patcher, hold, changes.list, changes.nr);
	for (size_t i = 0; !err && i < changes.nr; i++)
		if (changes.list[i].refused)
			refused = changes.list[i].gva;
	if (err || !refused.v)
		return err;
	err = take_back(p, hold, &changes);
	if (!err)
		err = hv_err_new(EBUSY, "0x%llx is in use", (unsigned long long)refused.v);
	return err;
}

struct hv_err *hv_plug_in(struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
			  const struct hv_plug *plug)
{
	struct plugging p = {t, layout, plug, &plug->type->tracepoint};

	return hv_patcher_held(t->patcher, carry_out, &p);
}

struct hv_err *hv_plug_out(struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
			   const struct hv_tracepoint *tp)
{
	struct plugging p = {t, layout, NULL, tp};

	return hv_patcher_held(t->patcher, carry_out, &p);
}

static struct hv_gva_range range_of(const struct hv_tracee *t, uint64_t start_off, uint64_t end_off)
{
	struct hv_gva start = hv_gva_add(t->range.start, start_off - HV_REGION_STUBS_OFF);

	return (struct hv_gva_range){start, hv_gva_add(start, end_off - start_off)};
}

static struct hv_err *check_registers(struct hv_gva_range range, const struct hv_vcpu_regs *regs,
				      unsigned nr_vcpus)
{
	for (unsigned cpu = 0; cpu < nr_vcpus; cpu++)
		for (unsigned i = 0; i < HV_VCPU_NR_GENERAL; i++)
			if (hv_gva_in(hv_gva(regs[cpu].general[i]), range))
				return hv_err_new(EBUSY,
						  "vCPU %u has a plug's memory in a register", cpu);
	return NULL;
}

static struct hv_err *check_range(struct hv_tracee *t, struct hv_gva_range range,
				  const struct hv_vcpu_regs *regs, unsigned nr_vcpus)
{
	const struct hv_scan_for wanted = {.range = range, .how = HV_SCAN_CALLS};
	HV_AUTO_FREE char *where = NULL;
	size_t nr_found = 0;
	struct hv_err *err = check_registers(range, regs, nr_vcpus);

	if (!err)
		err = hv_stacks_scan(t->kernel, &wanted, regs, nr_vcpus, &nr_found, &where);
	if (!err && nr_found)
		err = hv_err_new(EBUSY, "%s has a plug's memory on its stack", where);
	return err;
}

struct hv_err *hv_plugs_check_unused(struct hv_tracee *t, struct hv_hold *hold)
{
	const struct hv_gva_range ranges[] = {
		range_of(t, HV_REGION_FILES_OFF, HV_REGION_FILES_END),
		range_of(t, HV_REGION_PROBES_OFF, HV_REGION_STACKS_OFF),
		range_of(t, t->plan.drafts_off, hv_plan_end_off(&t->plan)),
	};
	unsigned nr_vcpus = hv_guest_info(t->guest)->nr_vcpus;
	HV_AUTO_FREE struct hv_vcpu_regs *regs = hv_alloc(nr_vcpus * sizeof(*regs));
	struct hv_err *err = hv_hold_registers(hold, regs);

	for (size_t i = 0; !err && i < HV_ARRAY_LEN(ranges); i++)
		err = check_range(t, ranges[i], regs, nr_vcpus);
	return err ? err : hv_hold_check(hold);
}
