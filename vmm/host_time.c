/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/host_time.h"

#include "base/bisect.h"
#include "base/clock.h"

#define TRIES	     16
/* After the newest sample, extrapolate with the rate of the last RATE_SAMPLES intervals. */
#define RATE_SAMPLES 4

static const struct hv_host_moment *moment(const struct hv_host_time *t, unsigned i)
{
	return &t->moments[(t->first + i) % HV_HOST_TIME_SAMPLES];
}

void hv_host_time_add(struct hv_host_time *t, struct hv_host_moment m)
{
	const struct hv_host_moment *last = t->nr ? moment(t, t->nr - 1) : NULL;

	if (last && (m.ticks <= last->ticks || m.ns <= last->ns))
		return;
	if (t->nr == HV_HOST_TIME_SAMPLES)
		t->first = (t->first + 1) % HV_HOST_TIME_SAMPLES;
	else
		t->nr++;
	t->moments[(t->first + t->nr - 1) % HV_HOST_TIME_SAMPLES] = m;
}

/* Reads the clock between two reads of the counter, several times, and keeps the try with the
 * shortest interval. */
void hv_host_time_sample(struct hv_host_time *t)
{
	struct hv_host_moment best = {0};
	uint64_t least = UINT64_MAX, before, after;

	for (unsigned i = 0; i < TRIES; i++) {
		uint64_t ns;

		if (!hv_host_ticks(&before))
			return;
		ns = hv_now_ns();
		hv_host_ticks(&after);
		if (after - before >= least)
			continue;
		least = after - before;
		best = (struct hv_host_moment){before + least / 2, ns};
	}
	hv_host_time_add(t, best);
}

/* Returns the time at TICKS on the line through A and B. A is the earlier one. */
static uint64_t on_line(const struct hv_host_moment *a, const struct hv_host_moment *b,
			uint64_t ticks)
{
	__int128 distance = (__int128)ticks - (__int128)a->ticks;

	return a->ns +
	       (uint64_t)(distance * (__int128)(b->ns - a->ns) / (__int128)(b->ticks - a->ticks));
}

bool hv_host_time_at(const struct hv_host_time *t, uint64_t ticks, uint64_t *ret_ns)
{
	unsigned nr_before, from;

	if (t->nr < 2)
		return false;
	nr_before = HV_BISECT(i, t->nr, moment(t, i)->ticks <= ticks);
	if (nr_before == t->nr) {
		from = t->nr > RATE_SAMPLES ? t->nr - 1 - RATE_SAMPLES : 0;
		/* Continue from the newest sample at that rate. */
		*ret_ns =
			moment(t, t->nr - 1)->ns +
			on_line(moment(t, from), moment(t, t->nr - 1), ticks) -
			on_line(moment(t, from), moment(t, t->nr - 1), moment(t, t->nr - 1)->ticks);
		return true;
	}
	from = nr_before ? nr_before - 1 : 0;
	*ret_ns = on_line(moment(t, from), moment(t, from + 1), ticks);
	return true;
}
