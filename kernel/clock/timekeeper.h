/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A snapshot of the guest's timekeeper: how its kernel computes CLOCK_MONOTONIC and other clocks
 * from clocksource cycles (kernel/time/timekeeping.c). Read from tk_fast_mono, the kernel's copy
 * for lockless readers; the offsets of CLOCK_BOOTTIME and CLOCK_TAI come from tk_core. All numbers
 * come from the guest and are untrusted. clock.h converts event times to cycles;
 * tracer/events/clocks.h computes times between two snapshots. */
#pragma once

#include <stdbool.h>

#include "kernel/core/core.h"

#define HV_CLOCKSOURCE_NAME_LEN 32 /* including the NUL; longer names are truncated */

/* Layout in a kernel. Numbers without a comment are offsets of members. */
struct hv_timekeeper_layout {
	struct hv_gva fast; /* tk_fast_mono; 0: the layout is unknown */
	uint32_t fast_bytes;
	uint32_t seq, base; /* struct tk_fast */
	uint32_t base_bytes;
	/* struct tk_read_base: */
	uint32_t clock, cycle_last, mult, shift, xtime_nsec, base_mono, base_real;
	uint32_t name;		       /* struct clocksource */
	struct hv_gva boot_at, tai_at; /* addresses of the offsets to CLOCK_MONOTONIC; 0: unknown */
};

/* At clocksource value CYCLES, CLOCK_MONOTONIC was hv_moment_mono_ns(m, 0); DELTA cycles later it
 * is hv_moment_mono_ns(m, DELTA). */
struct hv_timekeeper_moment {
	uint64_t cycles;
	uint64_t base_ns;
	uint64_t shifted_ns; /* added to the product before the shift */
	uint32_t mult, shift;
	uint64_t realtime_ns;	  /* CLOCK_REALTIME, since 1970 */
	uint64_t boot_ns, tai_ns; /* CLOCK_BOOTTIME and CLOCK_TAI, minus CLOCK_MONOTONIC */
	char clocksource[HV_CLOCKSOURCE_NAME_LEN]; /* "tsc", "kvm-clock" */
};

/* Fails with ENOENT if the kernel has no tk_fast_mono or its layout is unknown. */
struct hv_err *hv_timekeeper_find(const struct hv_kernel_core *core,
				  struct hv_timekeeper_layout *ret) hv_must_use;
/* Fails with EAGAIN if the guest kept writing it. */
struct hv_err *hv_timekeeper_read(const struct hv_kernel_core *core,
				  const struct hv_timekeeper_layout *l,
				  struct hv_timekeeper_moment *ret) hv_must_use;

static inline uint64_t hv_moment_mono_ns(const struct hv_timekeeper_moment *m, uint64_t delta)
{
	unsigned __int128 ns = (unsigned __int128)delta * m->mult + m->shifted_ns;

	return m->base_ns + (m->shift < 128 ? (uint64_t)(ns >> m->shift) : 0);
}
