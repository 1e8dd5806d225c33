/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's CLOCK_MONOTONIC, CLOCK_BOOTTIME and CLOCK_TAI at the time of an event: moments of its
 * timekeeper, read now and then, and what its kernel computes between them. At a moment the result
 * is exact. After the newest one, and before the first one, it is computed as the kernel does from
 * that moment on. Between two, what NTP has changed there is spread over the time between.
 *
 * When more than HV_MOMENTS_MAX were kept, every other one of the older half is forgotten.
 * Leaves to others: reading the moments (kernel/clock.h), when (clocks.h). One thread. */
#pragma once

#include "kernel/timekeeper.h"

#define HV_MOMENTS_MAX 4096u

struct hv_timekeeping {
	struct hv_timekeeper_moment *list; /* owned; ascending by cycles */
	size_t nr;
};

/* Adds M, or puts it in the place of the newest one if that has the same cycles. If its cycles are
 * lower, the counter began again, and M is the only one. */
void hv_timekeeping_add(struct hv_timekeeping *t, const struct hv_timekeeper_moment *m);
/* Forgets all moments. */
void hv_timekeeping_deinit(struct hv_timekeeping *t);

/* Returns CLOCK_MONOTONIC when the clocksource showed CYCLES. *RET_OF: the moment whose offsets of
 * the other clocks were right then; borrowed, valid until the next change. There must be a
 * moment. */
uint64_t hv_timekeeping_ns(const struct hv_timekeeping *t, uint64_t cycles,
			   const struct hv_timekeeper_moment **ret_of);
