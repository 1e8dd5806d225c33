/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's time of day, as its timekeeper had it last: tk_fast_mono, the copy of it that the
 * kernel keeps for readers that must not wait (struct tk_fast, kernel/time/timekeeping.c). All
 * numbers come from the guest and may be anything.
 * Leaves to others: what the cycles are on the trace clock (clock.h). Private to kernel/. */
#pragma once

#include "kernel/core.h"

#define HV_CLOCKSOURCE_NAME_LEN 32 /* of a clocksource, with the NUL; a longer name is cut */

/* When the clocksource showed CYCLES, CLOCK_REALTIME was REALTIME_NS. */
struct hv_wall_moment {
	uint64_t cycles;
	uint64_t realtime_ns;			   /* since 1970 */
	char clocksource[HV_CLOCKSOURCE_NAME_LEN]; /* "tsc", "kvm-clock" */
};

/* ENOENT: the kernel has no tk_fast_mono, or has it in a form that is not known. EAGAIN: it was
 * written all the time. */
struct hv_err *hv_wall_clock_read(const struct hv_kernel_core *core,
				  struct hv_wall_moment *ret) hv_must_use;
