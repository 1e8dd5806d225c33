/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's timekeeper at one moment: how its kernel computes CLOCK_MONOTONIC and the others from
 * the cycles of its clocksource (kernel/time/timekeeping.c). Read from tk_fast_mono, the copy that
 * the kernel keeps for readers that must not wait, and the offsets of CLOCK_BOOTTIME and CLOCK_TAI
 * from tk_core. All numbers come from the guest and may be anything.
 * Leaves to others: what the cycles of an event are (clock.h), times between two moments
 * (tracer/events/timekeeping.h). */
#pragma once

#include <stdbool.h>

#include "kernel/core.h"

#define HV_CLOCKSOURCE_NAME_LEN 32 /* of a clocksource, with the NUL; a longer name is cut */

/* Where a kernel has it. Numbers without a comment of their own are offsets of members. */
struct hv_timekeeper_layout {
	struct hv_gva fast; /* tk_fast_mono; 0: the layout is not known */
	uint32_t fast_bytes;
	uint32_t seq, base; /* struct tk_fast */
	uint32_t base_bytes;
	/* struct tk_read_base: */
	uint32_t clock, cycle_last, mult, shift, xtime_nsec, base_mono, base_real;
	uint32_t name;		       /* struct clocksource */
	struct hv_gva boot_at, tai_at; /* of what CLOCK_MONOTONIC lacks; 0: not known */
};

/* When the clocksource showed CYCLES, CLOCK_MONOTONIC was hv_moment_mono_ns(m, 0), and after DELTA
 * cycles more it is hv_moment_mono_ns(m, DELTA). */
struct hv_timekeeper_moment {
	uint64_t cycles;
	uint64_t base_ns;
	uint64_t shifted_ns; /* to be added, with the product, before the shift */
	uint32_t mult, shift;
	uint64_t realtime_ns;	  /* CLOCK_REALTIME, since 1970 */
	uint64_t boot_ns, tai_ns; /* CLOCK_BOOTTIME, CLOCK_TAI less CLOCK_MONOTONIC */
	char clocksource[HV_CLOCKSOURCE_NAME_LEN]; /* "tsc", "kvm-clock" */
};

/* ENOENT: the kernel has no tk_fast_mono, or has it in a form that is not known. */
struct hv_err *hv_timekeeper_find(const struct hv_kernel_core *core,
				  struct hv_timekeeper_layout *ret) hv_must_use;
/* EAGAIN: it was written all the time. */
struct hv_err *hv_timekeeper_read(const struct hv_kernel_core *core,
				  const struct hv_timekeeper_layout *l,
				  struct hv_timekeeper_moment *ret) hv_must_use;

static inline uint64_t hv_moment_mono_ns(const struct hv_timekeeper_moment *m, uint64_t delta)
{
	unsigned __int128 ns = (unsigned __int128)delta * m->mult + m->shifted_ns;

	return m->base_ns + (m->shift < 128 ? (uint64_t)(ns >> m->shift) : 0);
}
