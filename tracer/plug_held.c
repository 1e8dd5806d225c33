/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Carries out the plans of plug.h: all changes of one in one hold. */
#include <stdlib.h>
#include <string.h>

#include "kernel/tasks.h"
#include "tracer/plug.h"
#include "tracer/tracee.h"

void hv_plug_steps_deinit(struct hv_plug_step *steps, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		hv_tracepoint_state_deinit(&steps[i].state);
		hv_plug_changes_deinit(&steps[i].changes);
		hv_err_free(steps[i].why_not);
		steps[i].why_not = NULL;
	}
}

void hv_plug_step_plan(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
		       struct hv_plug_step *step)
{
	struct hv_err *err;

	hv_plug_steps_deinit(step, 1);
	err = hv_tracepoint_state_read(t->kernel, layout, &step->tp, t->range, &step->state);
	if (!err)
		err = step->plug
			      ? hv_plug_plan(t, layout, step->plug, &step->state, &step->changes)
			      : hv_unplug_plan(t, layout, &step->tp, &step->state, &step->changes);
	step->why_not = err;
}

/* All steps of a hold. ALL and BACK have room for the changes of all of them. */
struct making {
	struct hv_tracee *tracee;
	const struct hv_tracepoint_layout *layout;
	struct hv_plug_step *steps;
	size_t nr;
	struct hv_change *all, *back;
};

static struct hv_err *check_locks(const struct making *m)
{
	const char *lock;
	struct hv_err *err = hv_tracepoints_locked(m->tracee->kernel, m->layout, &lock);

	if (!err && lock)
		err = hv_err_new(EBUSY, "the guest's kernel has %s locked", lock);
	return err;
}

/* Whether the changes of STEP are made in this hold. */
static bool is_due(const struct hv_plug_step *step)
{
	return !step->why_not && !step->is_made && step->changes.nr;
}

/* Leaves out the steps whose tracepoints are not as they were planned for. */
static struct hv_err *check_states(const struct making *m)
{
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < m->nr; i++) {
		struct hv_plug_step *step = &m->steps[i];
		bool is_same = true;

		if (is_due(step))
			err = hv_tracepoint_state_is_same(m->tracee->kernel, m->layout, &step->tp,
							  &step->state, &is_same);
		if (!err && !is_same)
			step->why_not = hv_err_new(EBUSY, "the guest changes its tracepoint");
	}
	return err;
}

/* Puts the changes of all steps that are due into ALL. Returns their number. */
static size_t gather(const struct making *m)
{
	size_t nr = 0;

	for (size_t i = 0; i < m->nr; i++) {
		const struct hv_plug_changes *c = &m->steps[i].changes;

		if (!is_due(&m->steps[i]))
			continue;
		memcpy(m->all + nr, c->list, c->nr * sizeof(*c->list));
		nr += c->nr;
	}
	return nr;
}

static struct hv_err *apply(const struct making *m, struct hv_hold *hold)
{
	size_t nr = gather(m);

	return nr ? hv_patcher_apply_held(m->tracee->patcher, hold, m->all, nr) : NULL;
}

/* Puts into BACK the reverse of the changes in LIST, of which a part was refused. Returns their
 * number. */
static size_t reverse(const struct hv_change *list, size_t nr, struct hv_change *back)
{
	size_t nr_back = 0;

	for (size_t i = 0; i < nr; i++) {
		if (list[i].refused)
			continue;
		back[nr_back] = list[i];
		memcpy(back[nr_back].from, list[i].to, sizeof(list[i].to));
		memcpy(back[nr_back].to, list[i].from, sizeof(list[i].from));
		nr_back++;
	}
	return nr_back;
}

/* Takes back what was made of the steps of which a part was refused. */
static struct hv_err *take_back(const struct making *m, struct hv_hold *hold)
{
	const struct hv_change *made = m->all;
	struct hv_err *err = NULL;
	size_t nr = 0;

	for (size_t i = 0; i < m->nr; i++) {
		struct hv_plug_step *step = &m->steps[i];
		struct hv_gva refused = {0};

		if (!is_due(step))
			continue;
		for (size_t n = 0; n < step->changes.nr; n++)
			if (made[n].refused)
				refused = made[n].gva;
		if (refused.v) {
			nr += reverse(made, step->changes.nr, m->back + nr);
			step->why_not = hv_err_new(EBUSY, "0x%llx is in use",
						   (unsigned long long)refused.v);
		}
		made += step->changes.nr;
	}
	if (nr)
		err = hv_patcher_apply_held(m->tracee->patcher, hold, m->back, nr);
	for (size_t i = 0; !err && i < nr; i++)
		if (m->back[i].refused)
			err = hv_err_new(EIO, "0x%llx could not be put back",
					 (unsigned long long)m->back[i].gva.v);
	return hv_err_mark(err, HV_ERR_NEEDS_RECOVERY);
}

static struct hv_err *make(struct hv_hold *hold, void *ctx)
{
	const struct making *m = ctx;
	struct hv_err *err = check_locks(m);

	if (!err)
		err = check_states(m);
	if (!err)
		err = apply(m, hold);
	return err ? err : take_back(m, hold);
}

/* What was taken out stays as it is now: there is nothing to be undone, and its memory may become
 * anything. */
static void forget(struct hv_patcher *p, const struct hv_plug_step *step)
{
	for (size_t i = 0; !step->plug && i < step->changes.nr; i++)
		hv_patcher_forget_at(p, step->changes.list[i].gpa);
}

static void note_made(const struct making *m)
{
	for (size_t i = 0; i < m->nr; i++) {
		struct hv_plug_step *step = &m->steps[i];

		if (step->why_not)
			continue;
		forget(m->tracee->patcher, step);
		step->is_made = true;
	}
}

static size_t count(const struct making *m)
{
	size_t nr = 0;

	for (size_t i = 0; i < m->nr; i++)
		nr += is_due(&m->steps[i]) ? m->steps[i].changes.nr : 0;
	return nr;
}

struct hv_err *hv_plug_steps_make(struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
				  struct hv_plug_step *steps, size_t nr)
{
	HV_AUTO_FREE struct hv_change *all = NULL, *back = NULL;
	struct making m = {.tracee = t, .layout = layout, .steps = steps, .nr = nr};
	struct hv_err *err = NULL;
	size_t nr_changes = count(&m);

	m.all = all = hv_alloc((nr_changes + 1) * sizeof(*all));
	m.back = back = hv_alloc((nr_changes + 1) * sizeof(*back));
	gather(&m);
	if (nr_changes)
		err = hv_patcher_prepare(t->patcher, all, nr_changes);
	if (!err && nr_changes)
		err = hv_patcher_held(t->patcher, make, &m);
	if (!err)
		note_made(&m);
	return err;
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
