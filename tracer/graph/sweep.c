/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/graph/sweep.h"

#include "kernel/image/address_space.h"
#include "tracer/guest/tracee.h"

#define SWEEP_SHARE 8 /* sweep when at least 1/8 of the return stacks look stale */

static uint64_t *word_at(const struct hv_tracee *t, unsigned index)
{
	return &hv_region_stack(&t->region, index)->word;
}

/* Returns whether the kernel stack of WORD is not mapped. Then no CPU uses it until another stack
 * is created there. A stack that cannot be read is not known to be gone. */
static bool is_gone(const struct hv_tracee *t, uint64_t word)
{
	uint64_t stack_bytes = t->kernel->layout.stack_bytes;
	struct hv_gva at = hv_gva(word & -stack_bytes);
	struct hv_gva end = hv_gva_add(at, stack_bytes);

	if (!(word & HV_STACK_NR_MASK) || end.v <= at.v)
		return false;
	while (at.v < end.v) {
		struct hv_mapping m = {0};
		HV_AUTO_ERR struct hv_err *err = hv_walk(&t->kernel->core.as, at, &m);

		if (err || m.present)
			return false;
		at = hv_gva_add(at, m.len_bytes);
	}
	return true;
}

static size_t nr_with_frames(const struct hv_tracee *t)
{
	size_t nr = 0;

	for (unsigned i = 0; i < t->plan.nr_stacks; i++)
		nr += (__atomic_load_n(word_at(t, i), __ATOMIC_RELAXED) & HV_STACK_NR_MASK) != 0;
	return nr;
}

static size_t nr_gone(const struct hv_tracee *t)
{
	size_t nr = 0;

	for (unsigned i = 0; i < t->plan.nr_stacks; i++)
		nr += is_gone(t, __atomic_load_n(word_at(t, i), __ATOMIC_RELAXED));
	return nr;
}

/* This process may be stopped until the hold has ended. So a word that the guest has changed since
 * it was read here is left alone. */
static struct hv_err *sweep(struct hv_hold *hold, void *ctx)
{
	struct hv_tracee *t = ctx;
	struct hv_err *err = NULL;

	for (unsigned i = 0; !err && i < t->plan.nr_stacks; i++) {
		uint64_t word = __atomic_load_n(word_at(t, i), __ATOMIC_ACQUIRE);

		if (!is_gone(t, word))
			continue;
		err = hv_hold_check(hold);
		if (!err)
			__atomic_compare_exchange_n(word_at(t, i), &word, 0, false,
						    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	}
	return err;
}

void hv_sweep(struct hv_tracee *t)
{
	size_t enough = t->plan.nr_stacks / SWEEP_SHARE;

	if (nr_with_frames(t) < enough || nr_gone(t) < enough)
		return;
	hv_err_free(hv_patcher_held(t->patcher, sweep, t));
}
