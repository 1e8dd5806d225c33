/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/events/timekeeping.h"

#include <stdlib.h>
#include <string.h>

#include "base/guard.h"

#define SLEW_MAX 100 /* NTP changes the speed of a clock by less than 1/SLEW_MAX */

static void thin_out(struct hv_timekeeping *t)
{
	size_t half = t->nr / 2, nr = 0;

	for (size_t i = 0; i < half; i += 2)
		t->list[nr++] = t->list[i];
	memmove(t->list + nr, t->list + half, (t->nr - half) * sizeof(*t->list));
	t->nr = nr + t->nr - half;
}

void hv_timekeeping_add(struct hv_timekeeping *t, const struct hv_timekeeper_moment *m)
{
	if (t->nr && m->cycles < t->list[t->nr - 1].cycles)
		t->nr = 0; /* the counter restarted */
	if (t->nr && m->cycles == t->list[t->nr - 1].cycles)
		t->nr--;
	if (!t->list)
		t->list = hv_alloc(HV_MOMENTS_MAX * sizeof(*t->list));
	if (t->nr == HV_MOMENTS_MAX)
		thin_out(t);
	t->list[t->nr++] = *m;
}

void hv_timekeeping_deinit(struct hv_timekeeping *t)
{
	free(t->list);
	*t = (struct hv_timekeeping){0};
}

/* Returns the index of the last moment at or before CYCLES, or 0. */
static size_t moment_before(const struct hv_timekeeping *t, uint64_t cycles)
{
	size_t low = 0, high = t->nr;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (t->list[middle].cycles <= cycles)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static uint64_t ns_before(const struct hv_timekeeper_moment *m, uint64_t cycles)
{
	uint64_t at = hv_moment_mono_ns(m, 0);

	return at - (hv_moment_mono_ns(m, m->cycles - cycles) - at);
}

/* Computes the time between A and the next moment B. */
static uint64_t ns_between(const struct hv_timekeeper_moment *a,
			   const struct hv_timekeeper_moment *b, uint64_t cycles,
			   const struct hv_timekeeper_moment **ret_of)
{
	uint64_t delta = cycles - a->cycles, span = b->cycles - a->cycles;
	uint64_t from = hv_moment_mono_ns(a, 0), to = hv_moment_mono_ns(b, 0);
	uint64_t ns = hv_moment_mono_ns(a, delta), end = hv_moment_mono_ns(a, span);
	int64_t off = (int64_t)(to - end), max = (int64_t)((end - from) / SLEW_MAX);

	*ret_of = a;
	if (off >= -max && off <= max)
		return ns + (uint64_t)(int64_t)((__int128)off * delta / span);
	/* The guest was suspended in between while its counter continued. CYCLES belong to the time
	 * before the suspend if counting back from B would give a time before A. */
	ns = ns_before(b, cycles);
	if ((int64_t)(ns - from) >= 0) {
		*ret_of = b;
		return ns;
	}
	ns = hv_moment_mono_ns(a, delta);
	return (int64_t)(ns - to) > 0 ? to : ns;
}

uint64_t hv_timekeeping_ns(const struct hv_timekeeping *t, uint64_t cycles,
			   const struct hv_timekeeper_moment **ret_of)
{
	size_t i = moment_before(t, cycles);
	const struct hv_timekeeper_moment *m = &t->list[i];

	if (i + 1 < t->nr && cycles >= m->cycles)
		return ns_between(m, m + 1, cycles, ret_of);
	*ret_of = m;
	return cycles < m->cycles ? ns_before(m, cycles) : hv_moment_mono_ns(m, cycles - m->cycles);
}
