/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes any number of steps: many in one hold, and again while the guest is changing code. */
#include <stdlib.h>

#include "base/retry.h"
#include "tracer/plug.h"
#include "tracer/tracee.h"

/* Tracepoints that are changed in one hold. */
#define STEPS_OF_A_HOLD 24u

/* How often it is looked for what is ours, if it goes on being found. */
#define LOOKS_MAX 8u

struct making_all {
	struct hv_tracee *tracee;
	const struct hv_tracepoint_layout *layout;
};

/* Whether STEP may succeed when it is tried again: what it met was no lasting state of its
 * tracepoint, which a plan finds. */
static bool is_transient(const struct hv_plug_step *step)
{
	return step->why_not && step->why_not->code == EBUSY &&
	       (step->changes.nr || !step->plug || step->is_passing);
}

/* Plans those of STEPS that are to be tried, and carries them out in one hold. *RET_AGAIN: some are
 * to be tried again. */
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

/* Carries out NR steps, in one hold if the guest is not changing code just then. Afterwards each
 * has been made, or says why not. */
static struct hv_err *make_hold(const struct making_all *m, struct hv_plug_step *steps, size_t nr)
{
	bool again = false;
	struct hv_err *err = try_hold(m, steps, nr, &again);

	for (unsigned i = 0; i < HV_MOMENT_TRIES && again; i++) {
		hv_wait_a_moment();
		hv_err_free(err);
		err = try_hold(m, steps, nr, &again);
	}
	/* While the guest has something locked, nothing is made. */
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

/* How many of STEPS, from the first on, share a hold. Tracepoints that have a word in common with
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
	return err ? err : hv_err_new(EBUSY, "events are switched on again and again");
}
