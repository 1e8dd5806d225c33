/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Carries out the plans of plug.h: all changes of a plan in one hold. */
#include "tracer/tracepoints/plug.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/prefix.h"
#include "base/retry.h"
#include "kernel/kernel.h"
#include "kernel/tasks/tasks.h"
#include "tracer/guest/tracee.h"

/* -- iterators --------------------------------------------------------------------------------- */

#define ITERATOR_PREFIX "__traceiter_"

static void add(const struct hv_kernel *k, const struct hv_symbols *symbols,
		struct hv_iterators *to, size_t *cap)
{
	for (size_t i = 0; i < symbols->nr; i++) {
		struct hv_gva at = symbols->by_addr[i].addr;

		if (!hv_starts_with(symbols->by_addr[i].name, ITERATOR_PREFIX))
			continue;
		to->list = hv_grow(to->list, to->nr, cap, 64, sizeof(*to->list));
		to->list[to->nr++] =
			(struct hv_gva_range){at, hv_gva_add(at, hv_kernel_symbol_size(k, at))};
	}
}

static int by_start(const void *pa, const void *pb)
{
	const struct hv_gva_range *a = pa, *b = pb;

	return a->start.v < b->start.v ? -1 : a->start.v > b->start.v;
}

static void add_code(struct hv_gva_range code, struct hv_iterators *to, size_t *cap)
{
	to->list = hv_grow(to->list, to->nr, cap, 64, sizeof(*to->list));
	to->list[to->nr++] = code;
}

void hv_iterators_find(const struct hv_kernel *k, const struct hv_tracepoint_layout *layout,
		       struct hv_iterators *ret)
{
	struct hv_iterators found = {0};
	size_t cap = 0;

	if (layout->has_iterators)
		add(k, &k->core.symbols, &found, &cap);
	else
		add_code(k->text, &found, &cap);
	for (size_t i = 0; i < k->modules.nr; i++) {
		if (layout->has_iterators)
			add(k, &k->modules.list[i].symbols, &found, &cap);
		else
			add_code(k->modules.list[i].text, &found, &cap);
	}
	if (found.nr)
		qsort(found.list, found.nr, sizeof(*found.list), by_start);
	*ret = found;
}

void hv_iterators_deinit(struct hv_iterators *i)
{
	free(i->list);
	*i = (struct hv_iterators){0};
}

void hv_plug_steps_deinit(struct hv_plug_step *steps, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		hv_tracepoint_state_deinit(&steps[i].state);
		hv_plug_changes_deinit(&steps[i].changes);
		hv_err_free(steps[i].why_not);
		steps[i].why_not = NULL;
	}
}

static struct hv_err *check_locks(const struct hv_tracee *t,
				  const struct hv_tracepoint_layout *layout)
{
	const char *lock;
	struct hv_err *err = hv_tracepoints_locked(t->kernel, layout, &lock);

	if (!err && lock)
		err = hv_err_new(EBUSY, "the guest's kernel holds %s", lock);
	return err;
}

/* EBUSY: the tracepoint differs from the state of STEP. In a hold: it changed since the plan. */
static struct hv_err *check_state(const struct hv_tracee *t,
				  const struct hv_tracepoint_layout *layout,
				  const struct hv_plug_step *step)
{
	bool is_same = true;
	struct hv_err *err =
		hv_tracepoint_state_is_same(t->kernel, layout, &step->tp, &step->state, &is_same);

	if (!err && !is_same)
		err = hv_err_new(EBUSY, "the guest is changing its tracepoint");
	return err;
}

/* While the guest changes a tracepoint, its state may be inconsistent. In this case the guest still
 * holds a lock, or (with HAS_STATE) the tracepoint has changed since it was read. */
static void look_whether_it_passes(const struct hv_tracee *t,
				   const struct hv_tracepoint_layout *layout, bool has_state,
				   struct hv_plug_step *step)
{
	struct hv_err *err = check_locks(t, layout);

	if (!err && has_state)
		err = check_state(t, layout, step);
	if (!err || err->code != EBUSY) {
		hv_err_free(err);
		return;
	}
	hv_err_free(step->why_not);
	step->why_not = err;
	step->is_passing = true;
}

void hv_plug_step_plan(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
		       struct hv_plug_step *step)
{
	struct hv_err *err;
	bool has_state;

	hv_plug_steps_deinit(step, 1);
	step->is_passing = false;
	err = hv_tracepoint_state_read(t->kernel, layout, &step->tp, t->range, &step->state);
	has_state = !err;
	if (!err)
		err = step->plug
			      ? hv_plug_plan(t, layout, step->plug, &step->state, &step->changes)
			      : hv_unplug_plan(t, layout, &step->tp, &step->state, &step->changes);
	step->why_not = err;
	/* The guest is changing the tracepoint, for example a breakpoint or an array. */
	step->is_passing = err && err->code == EBUSY && !has_state;
	if (err && (err->code == EBUSY || err->code == EINVAL))
		look_whether_it_passes(t, layout, has_state, step);
}

/* A part of the changes of all steps in a hold, written together. */
struct part {
	struct hv_change *list; /* owned */
	size_t nr;
};

struct making {
	struct hv_tracee *tracee;
	const struct hv_tracepoint_layout *layout;
	struct hv_plug_step *steps;
	size_t nr;
	struct part parts[HV_PLUG_NR_PARTS],
		back[HV_PLUG_NR_PARTS]; /* each has room for the changes of all steps */
};

/* Returns whether the changes of STEP are made in this hold. */
static bool is_due(const struct hv_plug_step *step)
{
	return !step->why_not && !step->is_made && step->changes.nr;
}

/* Skips steps whose tracepoints changed since the plan. */
static struct hv_err *check_states(const struct making *m)
{
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < m->nr; i++) {
		struct hv_plug_step *step = &m->steps[i];

		if (is_due(step))
			err = check_state(m->tracee, m->layout, step);
		if (err && err->code == EBUSY)
			step->why_not = hv_take(err);
	}
	return err;
}

static void append(struct part *to, const struct hv_change *list, size_t nr)
{
	if (nr)
		memcpy(to->list + to->nr, list, nr * sizeof(*list));
	to->nr += nr;
}

static size_t start_of(const struct hv_plug_changes *c, unsigned part)
{
	return part ? c->ends[part - 1] : 0;
}

static size_t len_of(const struct hv_plug_changes *c, unsigned part)
{
	return c->ends[part] - start_of(c, part);
}

/* Collects the changes of all due steps by part. */
static void gather(struct making *m)
{
	for (unsigned p = 0; p < HV_PLUG_NR_PARTS; p++)
		m->parts[p].nr = 0;
	for (size_t i = 0; i < m->nr; i++) {
		const struct hv_plug_changes *c = &m->steps[i].changes;

		for (unsigned p = 0; p < HV_PLUG_NR_PARTS && is_due(&m->steps[i]); p++)
			append(&m->parts[p], c->list + start_of(c, p), len_of(c, p));
	}
}

static struct hv_err *apply(const struct making *m, struct hv_hold *hold, const struct part *part)
{
	if (!part->nr)
		return NULL;
	return hv_patcher_apply_held(m->tracee->patcher, hold, part->list, part->nr);
}

static struct hv_gva find_refused(const struct hv_change *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (list[i].refused)
			return list[i].gva;
	return hv_gva(0);
}

/* Adds to TO the reverse of those changes in LIST that were made. */
static void reverse(const struct hv_change *list, size_t nr, struct part *to)
{
	for (size_t i = 0; i < nr; i++) {
		struct hv_change *back = &to->list[to->nr];

		if (list[i].refused)
			continue;
		*back = list[i];
		memcpy(back->from, list[i].to, sizeof(back->from));
		memcpy(back->to, list[i].from, sizeof(back->to));
		to->nr++;
	}
}

/* Plans to undo steps that were partly refused, the last part first. */
static void plan_back(struct making *m)
{
	size_t at[HV_PLUG_NR_PARTS] = {0};

	for (size_t i = 0; i < m->nr; i++) {
		struct hv_plug_step *step = &m->steps[i];
		const struct hv_plug_changes *c = &step->changes;
		struct hv_gva refused = {0};

		if (!is_due(step))
			continue;
		for (unsigned p = 0; p < HV_PLUG_NR_PARTS && !refused.v; p++)
			refused = find_refused(m->parts[p].list + at[p], len_of(c, p));
		for (unsigned p = 0; p < HV_PLUG_NR_PARTS; p++) {
			if (refused.v)
				reverse(m->parts[p].list + at[p], len_of(c, p),
					&m->back[HV_PLUG_NR_PARTS - 1 - p]);
			at[p] += len_of(c, p);
		}
		if (refused.v)
			step->why_not = hv_err_new(EBUSY, "0x%llx is in use",
						   (unsigned long long)refused.v);
	}
}

static struct hv_err *take_back(struct making *m, struct hv_hold *hold)
{
	struct hv_err *err = NULL;

	plan_back(m);
	for (size_t i = 0; !err && i < HV_ARRAY_LEN(m->back); i++) {
		struct hv_gva refused = {0};

		err = apply(m, hold, &m->back[i]);
		if (!err)
			refused = find_refused(m->back[i].list, m->back[i].nr);
		if (refused.v)
			err = hv_err_new(EIO, "0x%llx could not be put back",
					 (unsigned long long)refused.v);
	}
	return hv_err_mark(err, HV_ERR_NEEDS_RECOVERY);
}

static struct hv_err *make(struct hv_hold *hold, void *ctx)
{
	struct making *m = ctx;
	struct hv_err *err = check_locks(m->tracee, m->layout);

	if (!err)
		err = check_states(m);
	if (err)
		return err;
	gather(m);
	for (size_t i = 0; !err && i < HV_ARRAY_LEN(m->parts); i++)
		err = apply(m, hold, &m->parts[i]);
	return err ? err : take_back(m, hold);
}

static void forget_at(const struct hv_tracee *t, struct hv_gva at)
{
	struct hv_mapping m;
	HV_AUTO_ERR struct hv_err *err = hv_walk(&t->kernel->core.as, at, &m);

	if (!err && m.present)
		hv_patcher_forget_at(t->patcher, m.gpa);
}

/* After an unplug there is nothing to undo, and the memory may be reused for anything. The guest
 * owns everything that it continues to use, even if hvtrace switched it on. Only the nops of its
 * static branches may be needed again. */
static void forget(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
		   const struct hv_plug_step *step)
{
	const struct hv_tracepoint_state *s = &step->state;

	for (size_t i = 0; i < step->changes.nr; i++)
		hv_patcher_forget_at(t->patcher, step->changes.list[i].gpa);
	forget_at(t, step->tp.funcs);
	forget_at(t, hv_gva_add(step->tp.key, layout->enabled));
	if (s->static_call_at.v)
		forget_at(t, s->static_call_at);
	for (size_t i = 0; i < s->calls.nr; i++)
		forget_at(t, s->calls.list[i].at);
}

/* If an array of the guest has one of our callbacks, it may be a copy of an older one that a task
 * may still be using. */
static void note_copies(struct hv_tracee *t, const struct hv_plug_step *step)
{
	if (step->plug || hv_gva_in(hv_gva(step->state.funcs), t->range))
		return;
	t->had_copies = true;
	free(t->have_left);
	t->have_left = NULL;
}

static void note_made(const struct making *m)
{
	for (size_t i = 0; i < m->nr; i++) {
		struct hv_plug_step *step = &m->steps[i];

		if (step->why_not)
			continue;
		if (!step->plug)
			forget(m->tracee, m->layout, step);
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

static void making_deinit(struct making *m)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(m->parts); i++) {
		free(m->parts[i].list);
		free(m->back[i].list);
	}
}

static struct hv_err *prepare(struct making *m)
{
	struct hv_err *err = NULL;

	gather(m);
	for (size_t i = 0; !err && i < HV_ARRAY_LEN(m->parts); i++)
		err = hv_patcher_prepare(m->tracee->patcher, m->parts[i].list, m->parts[i].nr);
	return err;
}

struct hv_err *hv_plug_steps_make(struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
				  struct hv_plug_step *steps, size_t nr)
{
	hv_cleanup(making_deinit) struct making m = {
		.tracee = t, .layout = layout, .steps = steps, .nr = nr};
	size_t nr_changes = count(&m);
	struct hv_err *err = NULL;

	for (size_t i = 0; i < HV_ARRAY_LEN(m.parts); i++) {
		m.parts[i].list = hv_alloc((nr_changes + 1) * sizeof(*m.parts[i].list));
		m.back[i].list = hv_alloc((nr_changes + 1) * sizeof(*m.back[i].list));
	}
	if (nr_changes)
		err = prepare(&m);
	/* Noted before the hold: if it times out, it is unknown what was written. */
	for (size_t i = 0; i < nr; i++)
		if (is_due(&steps[i]))
			note_copies(t, &steps[i]);
	if (!err && nr_changes)
		err = hv_patcher_held(t->patcher, make, &m);
	if (!err)
		note_made(&m);
	return err;
}

/* -- users of removed plugs -------------------------------------------------------------------- */

static struct hv_gva_range range_of(const struct hv_tracee *t, uint64_t start_off, uint64_t end_off)
{
	struct hv_gva start = hv_gva_add(t->range.start, start_off - HV_REGION_TRAMPOLINES_OFF);

	return (struct hv_gva_range){start, hv_gva_add(start, end_off - start_off)};
}

/* The memory of plugs: files, arrays and drafts. */
struct plug_memory {
	struct hv_gva_range ranges[3];
	const bool *which; /* for the first two ranges; NULL: all */
};

static struct plug_memory memory_of(const struct hv_tracee *t, const bool *which)
{
	return (struct plug_memory){
		{
			range_of(t, HV_REGION_FILES_OFF, HV_REGION_FILES_END),
			range_of(t, HV_REGION_CALLBACKS_OFF, HV_REGION_STACKS_OFF),
			range_of(t, t->plan.drafts_off, hv_plan_end_off(&t->plan)),
		},
		which};
}

static bool is_in(const struct plug_memory *m, uint64_t word)
{
	static const size_t lens[] = {sizeof(struct hv_event_file), HV_REGION_ARRAY_BYTES};

	for (size_t i = 0; i < HV_ARRAY_LEN(m->ranges); i++) {
		size_t index = i < HV_ARRAY_LEN(lens) ? (word - m->ranges[i].start.v) / lens[i] : 0;

		if (!hv_gva_in(hv_gva(word), m->ranges[i]))
			continue;
		return !m->which ||
		       (i < HV_ARRAY_LEN(lens) && index < HV_REGION_NR_EVENTS && m->which[index]);
	}
	return false;
}

/* Functions that call callbacks, and callbacks themselves. All of them have one of our addresses in
 * a register or a frame during the call. Callbacks of perf and BPF on the same tracepoint are
 * called by __traceiter_*. */
static const char *const users[] = {"__traceiter_", "trace_event_raw_event_",
				    "do_trace_event_raw_event_", "__probestub_",
				    "trace_event_buffer_"};

struct looking {
	const struct hv_kernel *kernel;
	struct plug_memory memory;
};

static bool is_user(void *ctx, struct hv_gva at)
{
	const struct looking *l = ctx;
	const char *name, *module;
	uint64_t off;

	/* An unknown function may be one of them. */
	if (!hv_kernel_symbol_at(l->kernel, at, &name, &module, &off))
		return true;
	for (size_t i = 0; i < HV_ARRAY_LEN(users); i++)
		if (hv_starts_with(name, users[i]))
			return true;
	return false;
}

/* For words on a stack that lead into our range: returns whether to ignore WORD because it is not
 * in the memory of plugs. */
static bool is_other(void *ctx, struct hv_gva at, uint64_t word)
{
	const struct looking *l = ctx;

	(void)at;
	return !is_in(&l->memory, word);
}

static struct hv_err *check_registers(const struct plug_memory *m, const struct hv_vcpu_regs *regs,
				      unsigned nr_vcpus)
{
	for (unsigned cpu = 0; cpu < nr_vcpus; cpu++)
		for (unsigned i = 0; i < HV_VCPU_NR_GENERAL; i++)
			if (is_in(m, regs[cpu].general[i]))
				return hv_err_new(EBUSY,
						  "vCPU %u has the address of hvtrace's callbacks "
						  "in a register",
						  cpu);
	return NULL;
}

/* If no task can be switched out in the iterators, it is enough that each vCPU was seen outside
 * them once. With many vCPUs that trace a lot, they may never all be outside at the same time. */
static bool *copy_have_left(const struct hv_tracee *t, enum hv_plug_sleepers sleepers, unsigned nr)
{
	bool *ret;

	if (!t->have_left || sleepers == HV_PLUG_SLEEPERS)
		return NULL;
	ret = hv_alloc(nr * sizeof(*ret));
	memcpy(ret, t->have_left, nr * sizeof(*ret));
	return ret;
}

struct hv_err *hv_plugs_check_unused(struct hv_tracee *t, struct hv_hold *hold,
				     enum hv_plug_sleepers sleepers, const bool *which,
				     const struct hv_iterators *iterators)
{
	struct looking looking = {t->kernel, memory_of(t, which)};
	unsigned nr_vcpus = hv_guest_info(t->guest)->nr_vcpus;
	HV_AUTO_FREE bool *have_left = copy_have_left(t, sleepers, nr_vcpus);
	const struct hv_scan_for wanted = {
		.range = range_of(t, HV_REGION_FILES_OFF, hv_plan_end_off(&t->plan)),
		.how = sleepers == HV_PLUG_SLEEPERS ? HV_SCAN_USED : HV_SCAN_RUNNING,
		.is_known = is_other,
		.is_user = is_user,
		.functions = iterators ? iterators->list : NULL,
		.nr_functions = iterators ? iterators->nr : 0,
		.have_left = have_left,
		.ctx = &looking,
	};
	HV_AUTO_FREE struct hv_vcpu_regs *regs = hv_alloc(nr_vcpus * sizeof(*regs));
	HV_AUTO_FREE char *where = NULL;
	size_t nr_found = 0;
	struct hv_err *err = hv_hold_registers(hold, regs, nr_vcpus);

	if (!err)
		err = hv_stacks_scan(t->kernel, &wanted, regs, nr_vcpus, &nr_found, &where);
	if (!err)
		err = hv_hold_check(hold);
	if (!err && have_left)
		memcpy(t->have_left, have_left, nr_vcpus * sizeof(*have_left));
	if (!err)
		err = check_registers(&looking.memory, regs, nr_vcpus);
	if (!err && nr_found)
		err = hv_err_new(EBUSY, "%s has the address of hvtrace's callbacks on its stack%s",
				 where,
				 iterators ? ", or calls the callbacks of a tracepoint" : "");
	return err;
}

/* -- many steps -------------------------------------------------------------------------------- */

/* Makes any number of steps: many per hold, and again while the guest is changing code. */

/* Tracepoints changed in one hold. */
#define STEPS_OF_A_HOLD 24u

/* Maximum number of searches for our callbacks while some are still found. */
#define LOOKS_MAX 8u

struct making_all {
	struct hv_tracee *tracee;
	const struct hv_tracepoint_layout *layout;
};

/* Returns whether a retry of STEP may succeed, because it failed for a reason other than a lasting
 * state of its tracepoint, which planning detects. */
static bool is_transient(const struct hv_plug_step *step)
{
	return step->why_not && step->why_not->code == EBUSY &&
	       (step->changes.nr || !step->plug || step->is_passing);
}

/* Plans those STEPS that are still to be made, and carries them out in one hold. *RET_AGAIN: retry
 * some of them. */
static struct hv_err *try_hold(const struct making_all *m, struct hv_plug_step *steps, size_t nr,
			       bool *ret_again)
{
	struct hv_err *err;

	for (size_t i = 0; i < nr; i++)
		if (!steps[i].is_made && (!steps[i].why_not || is_transient(&steps[i])))
			hv_plug_step_plan(m->tracee, m->layout, &steps[i]);
	err = hv_plug_steps_make(m->tracee, m->layout, steps, nr);
	*ret_again = err && err->code == EBUSY;
	for (size_t i = 0; !err && i < nr; i++)
		*ret_again |= is_transient(&steps[i]);
	return err;
}

/* Carries out NR steps, in one hold unless the guest is changing code at that time. Afterwards each
 * step is made or has a why_not. */
static struct hv_err *make_hold(const struct making_all *m, struct hv_plug_step *steps, size_t nr)
{
	bool again = false;
	struct hv_err *err = try_hold(m, steps, nr, &again);

	for (unsigned i = 0; i < HV_MOMENT_TRIES && again; i++) {
		hv_wait_a_moment();
		hv_err_free(err);
		err = try_hold(m, steps, nr, &again);
	}
	/* While the guest holds a lock, no step is made. */
	if (!err || err->code != EBUSY)
		return err;
	for (size_t i = 0; i < nr; i++)
		if (!steps[i].is_made && !steps[i].why_not)
			steps[i].why_not = hv_err_copy(err);
	hv_err_free(err);
	return NULL;
}

static bool is_of_syscalls(const struct making_all *m, const struct hv_plug_step *step)
{
	const struct hv_syscall_work *w = &m->layout->syscalls;

	return m->layout->has_syscalls &&
	       (step->tp.at.v == w->tracepoints[0].v || step->tp.at.v == w->tracepoints[1].v);
}

static bool has_common_key(const struct making_all *m, const struct hv_plug_step *step)
{
	const struct hv_common_key *c = &m->layout->common;

	return m->layout->has_common &&
	       (step->tp.at.v == c->tracepoints[0].v || step->tp.at.v == c->tracepoints[1].v);
}

/* Returns how many of STEPS, from the first on, share a hold. Tracepoints that share a word with
 * others are alone. */
static size_t share_hold(const struct making_all *m, const struct hv_plug_step *steps, size_t nr)
{
	size_t n = 0;

	while (n < nr && n < STEPS_OF_A_HOLD && !is_of_syscalls(m, &steps[n]) &&
	       !has_common_key(m, &steps[n]))
		n++;
	return n ? n : 1;
}

struct hv_err *hv_plug_steps_make_all(struct hv_tracee *t,
				      const struct hv_tracepoint_layout *layout,
				      struct hv_plug_step *steps, size_t nr, bool *ret_syscalls)
{
	const struct making_all m = {t, layout};
	struct hv_err *err = NULL;

	*ret_syscalls = false;
	for (size_t i = 0, n; !err && i < nr; i += n) {
		n = share_hold(&m, steps + i, nr - i);
		*ret_syscalls |= is_of_syscalls(&m, &steps[i]);
		err = make_hold(&m, steps + i, n);
	}
	return err;
}

struct hv_err *hv_plug_steps_take_error(struct hv_plug_step *steps, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (steps[i].why_not)
			return hv_take(steps[i].why_not);
	return NULL;
}

static struct hv_err *take_out_found(struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
				     size_t *ret_nr)
{
	HV_AUTO_FREE struct hv_plug_step *steps = NULL;
	bool has_syscalls;
	size_t nr = 0;
	struct hv_err *err = hv_plugs_find(t, layout, &steps, &nr);

	if (!err)
		err = hv_plug_steps_make_all(t, layout, steps, nr, &has_syscalls);
	if (!err)
		err = hv_plug_steps_take_error(steps, nr);
	hv_plug_steps_deinit(steps, nr);
	*ret_nr = nr;
	return err;
}

struct hv_err *hv_plugs_take_out(struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
				 size_t *ret_nr)
{
	size_t nr;
	struct hv_err *err = take_out_found(t, layout, ret_nr);

	for (unsigned i = 1; !err && i < LOOKS_MAX; i++) {
		err = take_out_found(t, layout, &nr);
		*ret_nr += nr;
		if (!err && !nr)
			return NULL;
	}
	return err ? err : hv_err_new(EBUSY, "the guest keeps switching events on; retry");
}

/* -- finding ----------------------------------------------------------------------------------- */

/* Finds our changes in tracepoints without information from a session. */

/* Prefix of tracepoint symbols. Other, shorter symbols also begin with it. */
#define PREFIX "__tracepoint_"

/* Returns whether a static call of TP, which has only guest callbacks, still has our target,
 * because a process was killed while it joined or left. */
static bool has_our_calls(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
			  const struct hv_tracepoint *tp)
{
	hv_cleanup(hv_plug_changes_deinit) struct hv_plug_changes changes = {0};
	hv_cleanup(hv_tracepoint_state_deinit) struct hv_tracepoint_state state = {0};
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (!hv_patcher_nr_patched(t->patcher, HV_CHANGE_STATIC_CALL))
		return false;
	err = hv_tracepoint_state_read(t->kernel, layout, tp, t->range, &state);
	if (!err)
		err = hv_unplug_plan(t, layout, tp, &state, &changes);
	return !err && changes.nr;
}

/* Returns whether TP has one of our callbacks. If TP cannot be read, it calls no callback. */
static bool has_ours(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
		     const struct hv_tracepoint *tp)
{
	hv_cleanup(hv_tracepoint_state_deinit) struct hv_tracepoint_state state = {0};
	HV_AUTO_ERR struct hv_err *err =
		hv_tracepoint_callbacks_read(t->kernel, layout, tp, t->range, &state);
	bool ret = !err && hv_gva_in(hv_gva(state.funcs), t->range);

	for (size_t i = 0; !err && i < state.nr_callbacks; i++)
		ret |= state.callbacks[i].func != layout->stub_func.v &&
		       hv_gva_in(hv_gva(state.callbacks[i].data), t->range);
	return ret || (!err && state.nr_callbacks && has_our_calls(t, layout, tp));
}

static bool is_tracepoint(const struct hv_tracepoint_layout *layout,
			  const struct hv_symbols *symbols, size_t index)
{
	const struct hv_symbol *symbol = &symbols->by_addr[index];

	if (!hv_starts_with(symbol->name, PREFIX))
		return false;
	while (++index < symbols->nr)
		if (symbols->by_addr[index].addr.v != symbol->addr.v)
			return symbols->by_addr[index].addr.v - symbol->addr.v >= layout->len_bytes;
	return true;
}

struct found {
	struct hv_plug_step *steps; /* owned */
	size_t nr;
};

static struct hv_err *find_in(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
			      const struct hv_symbols *symbols, struct found *ret)
{
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < symbols->nr; i++) {
		struct hv_tracepoint tp;

		if (!is_tracepoint(layout, symbols, i))
			continue;
		err = hv_tracepoint_at(t->kernel, layout, symbols->by_addr[i].addr, &tp);
		if (err || !has_ours(t, layout, &tp))
			continue;
		ret->steps = hv_realloc_array(ret->steps, ret->nr + 1, sizeof(*ret->steps));
		ret->steps[ret->nr++] = (struct hv_plug_step){.tp = tp};
	}
	return err;
}

struct hv_err *hv_plugs_find(const struct hv_tracee *t, const struct hv_tracepoint_layout *layout,
			     struct hv_plug_step **ret, size_t *ret_nr)
{
	const struct hv_modules *modules = &t->kernel->modules;
	struct found found = {0};
	struct hv_err *err = find_in(t, layout, &t->kernel->core.symbols, &found);

	/* If a module cannot be read, it was removed. */
	for (size_t i = 0; !err && i < modules->nr; i++)
		hv_err_free(find_in(t, layout, &modules->list[i].symbols, &found));
	if (err) {
		free(found.steps);
		return err;
	}
	*ret = found.steps;
	*ret_nr = found.nr;
	return NULL;
}

struct hv_err *hv_plugs_know_change(const struct hv_tracee *t, const struct hv_journal_entry *e,
				    bool *ret)
{
	const struct hv_arch *arch = t->kernel->core.as.arch;
	uint8_t bytes[HV_SITE_LEN_MAX] = {0};
	struct hv_gva at = hv_gva(e->gva), target;
	struct hv_mapping m;
	bool jumps = true;
	struct hv_err *err = hv_walk(&t->kernel->core.as, at, &m);

	*ret = false;
	if (err || !m.present || m.gpa.v != e->gpa)
		return err;
	memcpy(bytes, e->old_bytes, sizeof(e->old_bytes));
	if (e->kind == HV_CHANGE_STATIC_CALL) {
		enum hv_site_kind kind = arch->classify_site(bytes, at, &target);

		*ret = e->len_bytes == arch->site_len_bytes &&
		       (kind == HV_SITE_CALL || kind == HV_SITE_JUMP);
		return NULL;
	}
	*ret = arch->classify_jump_site(bytes, at, at, &jumps) == e->len_bytes && e->len_bytes &&
	       !jumps;
	return NULL;
}
