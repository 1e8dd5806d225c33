/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's CLOCK_MONOTONIC, CLOCK_BOOTTIME and CLOCK_TAI at the time of an event, computed from
 * snapshots ("moments") of its timekeeper in the same way as its kernel does. The result is exact
 * at a moment. After the newest and before the oldest moment, it is extrapolated from that one.
 * Between two moments, NTP adjustments are spread evenly.
 *
 * When more than HV_MOMENTS_MAX are kept, every other one of the older half is dropped.
 *
 * kernel/clock/clock.h reads the moments; clocks.h decides when. One thread. */
#pragma once

#include "kernel/clock/timekeeper.h"

#define HV_MOMENTS_MAX 4096u

struct hv_timekeeping {
	struct hv_timekeeper_moment *list; /* owned; sorted by cycles */
	size_t nr;
};

/* Adds M. Replaces the newest moment if that has the same cycles. If the cycles of M are lower, the
 * counter restarted, and all other moments are dropped. */
void hv_timekeeping_add(struct hv_timekeeping *t, const struct hv_timekeeper_moment *m);
void hv_timekeeping_deinit(struct hv_timekeeping *t);

/* Returns CLOCK_MONOTONIC when the clocksource was at CYCLES. *RET_OF is the moment whose clock
 * offsets applied then; borrowed until the next change. There must be at least one moment. */
uint64_t hv_timekeeping_ns(const struct hv_timekeeping *t, uint64_t cycles,
			   const struct hv_timekeeper_moment **ret_of);
