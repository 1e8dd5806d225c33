/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/tracepoints/event_use.h"

#include "base/retry.h"
#include "tracer/guest/tracee.h"
#include "tracer/tracepoints/event_calls.h"
#include "tracer/tracepoints/iterators.h"
#include "tracer/tracepoints/plug.h"

struct check {
	struct hv_tracee *tracee;
	enum hv_plug_sleepers sleepers;
	const bool *which; /* by index; NULL: all */
	const struct hv_iterators *iterators;
};

static struct hv_err *check_held(struct hv_hold *hold, void *ctx)
{
	const struct check *check = ctx;

	return hv_plugs_check_unused(check->tracee, hold, check->sleepers, check->which,
				     check->iterators);
}

struct hv_err *hv_event_use_check(struct hv_tracee *t, const struct hv_event_calls *calls,
				  const bool *which)
{
	hv_cleanup(hv_iterators_deinit) struct hv_iterators iterators = {0};
	struct check check = {.tracee = t, .which = which};
	struct hv_err *err;

	if (t->had_copies) {
		hv_iterators_find(t->kernel, &iterators);
		if (!t->have_left)
			t->have_left = hv_alloc(HV_VCPUS_MAX * sizeof(*t->have_left));
		check.iterators = &iterators;
	}
	if (hv_event_calls_may_sleep(calls))
		check.sleepers = HV_PLUG_SLEEPERS;
	err = hv_patcher_held(t->patcher, check_held, &check);
	/* While anything is plugged in, there may be more copies. */
	if (!err && !which)
		t->had_copies = false;
	return err;
}

struct hv_err *hv_event_use_await_end(struct hv_tracee *t, const struct hv_event_calls *calls,
				      const bool *which)
{
	struct hv_err *err = hv_event_use_check(t, calls, which);

	for (unsigned i = 0; i < HV_MOMENT_TRIES && err && err->code == EBUSY; i++) {
		hv_wait_a_moment();
		hv_err_free(err);
		err = hv_event_use_check(t, calls, which);
	}
	return err;
}
