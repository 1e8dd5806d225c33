#include "tracer/sweep.h"

#include "kernel/address_space.h"
#include "tracer/tracee.h"

#define SWEEP_SHARE 8 /* one part of so many of the return stacks may be left over */

static uint64_t *word_at(const struct hv_tracee *t, unsigned index)
{
	return &hv_region_stack(&t->region, index)->word;
}

/* Whether nothing is mapped in the kernel stack of WORD: nobody is on it, nor will be before
 * another stack is made there. What cannot be read is not known to be gone. */
static bool is_gone(const struct hv_tracee *t, uint64_t word)
{
	struct hv_gva at = hv_gva(word & ~(uint64_t)HV_STACK_NR_MASK);
	struct hv_gva end = hv_gva_add(at, t->kernel->layout.stack_bytes);

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

static struct hv_err *sweep(struct hv_hold *hold, void *ctx)
{
	struct hv_tracee *t = ctx;
	struct hv_err *err = hv_hold_check(hold);

	for (unsigned i = 0; !err && i < t->plan.nr_stacks; i++)
		if (is_gone(t, __atomic_load_n(word_at(t, i), __ATOMIC_ACQUIRE)))
			__atomic_store_n(word_at(t, i), 0, __ATOMIC_RELEASE);
	return err;
}

void hv_sweep(struct hv_tracee *t)
{
	size_t enough = t->plan.nr_stacks / SWEEP_SHARE;

	if (nr_with_frames(t) < enough || nr_gone(t) < enough)
		return;
	hv_err_free(hv_patcher_held(t->patcher, sweep, t));
}
