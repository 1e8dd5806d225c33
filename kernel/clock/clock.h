/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's trace clock "local": sched_clock(), computed from a CPU's counter as the guest
 * computes it. The parameters come from guest memory and are untrusted: any values yield a number,
 * never a fault. clock_source.h finds the parameters. */
#pragma once

#include "kernel/arch/clock_source.h"
#include "kernel/clock/timekeeper.h"

struct hv_kernel;

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
	bool is_stable;	    /* it is this clock plus an offset */
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
