/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's trace clock "local": sched_clock(), computed from a CPU's counter as the guest does
 * it. The parameters are read from guest memory and are hostile: any values give some number, never
 * a fault.
 * Leaves to others: where a kernel has the parameters (clock_source.h). */
#pragma once

#include "kernel/clock_source.h"
#include "kernel/timekeeper.h"

struct hv_kernel;

#define HV_CLOCK_CPUS_MAX 1024

struct hv_clock;

struct hv_err *hv_clock_new(struct hv_kernel *k, struct hv_clock **ret) hv_must_use;
void hv_clock_free(struct hv_clock *c);
enum hv_clock_kind hv_clock_kind(const struct hv_clock *c);
/* Reads the parameters again; call now and then (each second) while tracing. */
struct hv_err *hv_clock_refresh(struct hv_clock *c) hv_must_use;
/* The guest's time of day, in ns since 1970, when its clock was 0, by what both show now. False: it
 * is not known, since the guest keeps the time by another counter, or in a way that is not known.
 */
bool hv_clock_epoch_ns(const struct hv_clock *c, uint64_t *ret);

/* What the cycles of the guest's clocksource are: the counter, or this clock's ns less an offset.
 */
struct hv_cycles {
	bool are_ns;
	uint64_t offset_ns;
};
/* Reads the guest's timekeeper as it is now. ENOENT, with the reason: the guest keeps the time by
 * another counter than its trace clock, or in a way that is not known. */
struct hv_err *hv_clock_read_keeper(const struct hv_clock *c, struct hv_timekeeper_moment *ret,
				    struct hv_cycles *ret_cycles) hv_must_use;
/* How the guest's trace clock "global" (sched_clock_cpu()) follows from this clock. */
struct hv_clock_global {
	bool is_stable;	    /* it is this clock and an offset */
	uint64_t offset_ns; /* that offset */
	/* Otherwise it follows the guest's timekeeper at each tick: at the newest one this clock
	 * showed TICK_NS, and that one GLOBAL_NS. A tick that was being written may be wrong. */
	uint64_t tick_ns, global_ns;
};
/* ENOENT: it is not known. */
struct hv_err *hv_clock_read_global(const struct hv_clock *c,
				    struct hv_clock_global *ret) hv_must_use;

/* The cycles of a tsc value that CPU read. */
uint64_t hv_clock_cycles(const struct hv_clock *c, const struct hv_cycles *what, unsigned cpu,
			 uint64_t tsc);

/* The ns (HV_CLOCK_RAW: tsc units) of a tsc value that CPU read. */
uint64_t hv_clock_ns(const struct hv_clock *c, unsigned cpu, uint64_t tsc);
/* The same of NR values in TIMES, which become ns. */
void hv_clock_all_ns(const struct hv_clock *c, unsigned cpu, uint64_t *times, size_t nr);
/* The ns (HV_CLOCK_RAW: tsc units) that TICKS take. */
uint64_t hv_clock_span_ns(const struct hv_clock *c, uint64_t ticks);
/* The least number of tsc units that take NS (HV_CLOCK_RAW: NS itself). */
uint64_t hv_clock_ticks(const struct hv_clock *c, uint64_t ns);
