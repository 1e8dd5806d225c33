/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's clocks, computed as its kernel computes them: the timekeeper, the trace clock, and an
 * estimate of the present time from outside. The parameters come from guest memory and are
 * untrusted: any values yield a number, never a fault.
 *
 * kernel_arch.h describes the source of a trace clock; tracer/events/clocks.h converts event times
 * to each clock. */
#pragma once

#include <stdbool.h>

#include "kernel/arch/kernel_arch.h"

struct hv_kernel;

/* -- the timekeeper ---------------------------------------------------------------------------- */

/* A snapshot of the guest's timekeeper: how its kernel computes CLOCK_MONOTONIC and other clocks
 * from clocksource cycles (kernel/time/timekeeping.c). Read from tk_fast_mono, the kernel's copy
 * for lockless readers; the offsets of CLOCK_BOOTTIME and CLOCK_TAI come from tk_core. */

#define HV_CLOCKSOURCE_NAME_LEN 32 /* including the NUL; longer names are truncated */

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

static inline uint64_t hv_moment_mono_ns(const struct hv_timekeeper_moment *m, uint64_t delta)
{
	unsigned __int128 ns = (unsigned __int128)delta * m->mult + m->shifted_ns;

	return m->base_ns + (m->shift < 128 ? (uint64_t)(ns >> m->shift) : 0);
}

/* -- the trace clock --------------------------------------------------------------------------- */

/* The guest's trace clock "local": sched_clock(), computed from a CPU's counter as the guest
 * computes it. */

#define HV_CLOCK_CPUS_MAX 1024

struct hv_clock;

struct hv_err *hv_clock_new(struct hv_kernel *k, struct hv_clock **ret) hv_must_use;
void hv_clock_free(struct hv_clock *c);
enum hv_clock_kind hv_clock_kind(const struct hv_clock *c);
/* Reads the parameters again; call this about once a second while tracing. */
struct hv_err *hv_clock_refresh(struct hv_clock *c) hv_must_use;
/* Returns the guest's time of day in ns since 1970 at time 0 of its trace clock, computed from both
 * current clocks. Returns false if the guest keeps time with another counter or in an unknown
 * way. */
bool hv_clock_epoch_ns(const struct hv_clock *c, uint64_t *ret);

/* The unit of the guest's clocksource: counter cycles, or this clock's ns minus an offset. */
struct hv_cycles {
	bool are_ns;
	uint64_t offset_ns;
};
/* Reads the guest's current timekeeper. Fails with ENOENT and the reason if the guest keeps time
 * with another counter than its trace clock, or in an unknown way. */
struct hv_err *hv_clock_read_keeper(const struct hv_clock *c, struct hv_timekeeper_moment *ret,
				    struct hv_cycles *ret_cycles) hv_must_use;
/* How the guest's trace clock "global" (sched_clock_cpu()) relates to this clock. */
struct hv_clock_global {
	bool is_stable;	    /* the global clock is this clock plus an offset */
	uint64_t offset_ns; /* the offset, if is_stable */
	/* Otherwise it follows the guest's timekeeper at each tick: at the newest tick, this clock
	 * was TICK_NS and the global clock GLOBAL_NS. Wrong if the tick was being written. */
	uint64_t tick_ns, global_ns;
};
/* Fails with ENOENT if unknown. */
struct hv_err *hv_clock_read_global(const struct hv_clock *c,
				    struct hv_clock_global *ret) hv_must_use;

/* Converts TSC, as read on CPU, to cycles. */
uint64_t hv_clock_cycles(const struct hv_clock *c, const struct hv_cycles *what, unsigned cpu,
			 uint64_t tsc);

/* Converts TSC, as read on CPU, to ns (HV_CLOCK_RAW: returns TSC units). */
uint64_t hv_clock_ns(const struct hv_clock *c, unsigned cpu, uint64_t tsc);
/* Converts NR values in TIMES to ns in place, like hv_clock_ns(). */
void hv_clock_all_ns(const struct hv_clock *c, unsigned cpu, uint64_t *times, size_t nr);
/* Converts a duration of TICKS to ns (HV_CLOCK_RAW: returns TSC units). */
uint64_t hv_clock_span_ns(const struct hv_clock *c, uint64_t ticks);
/* Returns the minimum number of TSC units in a duration of NS (HV_CLOCK_RAW: NS itself). */
uint64_t hv_clock_ticks(const struct hv_clock *c, uint64_t ns);

/* -- the present time -------------------------------------------------------------------------- */

/* Estimates the guest's current trace clock from outside, for guests whose TSC cannot be read. Each
 * CPU's run queue contains the sched_clock() of its last tick or switch (struct rq.clock). The
 * estimate is the host's clock plus the greatest recent difference between the newest of these and
 * the host's clock.
 *
 * The estimate is late by the age of the freshest sample: less than a tick on a busy CPU (4 ms at
 * 250 Hz), more while all CPUs sleep, and less with each sample. It is early only if the guest was
 * stopped. Call hv_now_restart() after a stop; otherwise the old samples expire after two
 * windows. */

#define HV_NOW_WINDOW_NS UINT64_C(10000000000)

struct hv_now {
	struct hv_kernel *k;	 /* borrowed */
	uint64_t clock_percpu;	 /* per-CPU offset of struct rq.clock; 0: unknown */
	struct hv_gva offset_at; /* address of __sched_clock_offset, which rq.clock includes and
				    trace_clock_local does not */
	bool has_offset;
	struct {
		bool valid;
		uint64_t begun_ns; /* host clock */
		int64_t lead_ns;   /* guest clock - host clock */
	} windows[2];		   /* the current and the previous one */
};

void hv_now_init(struct hv_now *n, struct hv_kernel *k);
/* Takes a sample. HOST_NS is the host's CLOCK_MONOTONIC before the call. Samples are cheap, and
 * more samples improve the estimate. */
void hv_now_sample(struct hv_now *n, uint64_t host_ns);
/* Discards the samples after the guest was stopped. */
void hv_now_restart(struct hv_now *n);
/* Returns the guest clock at host time HOST_NS in *RET, or false if unknown. */
bool hv_now_at(const struct hv_now *n, uint64_t host_ns, uint64_t *ret);
