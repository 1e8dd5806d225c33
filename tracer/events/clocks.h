/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clocks of a guest's events: converts event times to each clock, and returns the guest's
 * present time.
 *
 * kernel/clock/clock.h computes the guest's clock, host_clock.h relates its counter to the host's,
 * and kernel/clock/now.h estimates the guest's time if neither is known. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/clock/clock.h"

struct hv_hold_stat;
struct hv_host_clock;
struct hv_kernel;
struct hv_clocks;

enum hv_trace_clock {
	HV_TRACE_CLOCK_GUEST, /* the guest's own trace clock */
	HV_TRACE_CLOCK_TSC,   /* the guest's time stamp counter */
	HV_TRACE_CLOCK_HOST,  /* the host's CLOCK_MONOTONIC; needs hv_clocks_has_host */
	/* These need hv_clocks_why_not() to return NULL: */
	HV_TRACE_CLOCK_MONO,   /* CLOCK_MONOTONIC of the guest, like its trace clock "mono" */
	HV_TRACE_CLOCK_BOOT,   /* CLOCK_BOOTTIME of the guest */
	HV_TRACE_CLOCK_TAI,    /* CLOCK_TAI of the guest */
	HV_TRACE_CLOCK_GLOBAL, /* the guest's trace clock "global", common to all its CPUs */
	HV_NR_TRACE_CLOCKS
};

/* Takes ownership of GUEST and HOST. HOST is NULL if the relation between the guest's and the
 * host's counter is unknown. Borrows K and HOLDS (patcher.h), the guest's holds since attach; each
 * of them stops its clock. */
struct hv_clocks *hv_clocks_new(struct hv_clock *guest, struct hv_host_clock *host,
				struct hv_kernel *k, const struct hv_hold_stat *holds);
void hv_clocks_free(struct hv_clocks *c);
/* Rereads the parameters of the clocks. Call it about once a second. */
void hv_clocks_refresh(struct hv_clocks *c);

enum hv_clock_kind hv_clocks_guest_kind(const struct hv_clocks *c);
bool hv_clocks_has_host(const struct hv_clocks *c);
/* Returns why CLOCK is unavailable (a static string), or NULL. */
const char *hv_clocks_why_not(const struct hv_clocks *c, enum hv_trace_clock clock);
/* Returns the initial clock of the guest's own tracing: HV_TRACE_CLOCK_GUEST, or
 * HV_TRACE_CLOCK_GLOBAL if its clock is known to be unstable. */
enum hv_trace_clock hv_clocks_default(const struct hv_clocks *c);

/* Returns the time on CLOCK when CPU's counter was TSC. */
uint64_t hv_clocks_event_ns(const struct hv_clocks *c, enum hv_trace_clock clock, unsigned cpu,
			    uint64_t tsc);
/* Like hv_clocks_event_ns(), for the NR counter values in TIMES, which it replaces by times. */
void hv_clocks_events_ns(const struct hv_clocks *c, enum hv_trace_clock clock, unsigned cpu,
			 uint64_t *times, size_t nr);
/* Returns the lowest value of CPU's counter at which the guest's clock shows TIME_NS, or the
 * largest value. */
uint64_t hv_clocks_tsc_at(const struct hv_clocks *c, unsigned cpu, uint64_t time_ns);

/* Finds the present time on CLOCK, for a line that the host adds. It is never later than the
 * guest's next event, except by a moment in which the guest was stopped; kernel/clock/now.h
 * documents how far it can lag. Returns false if unknown. */
bool hv_clocks_now_ns(struct hv_clocks *c, enum hv_trace_clock clock, uint64_t *ret);
/* Finds the guest's wall-clock time, in ns since 1970, when its clock (HV_TRACE_CLOCK_GUEST) was 0.
 * Returns false if unknown. */
bool hv_clocks_epoch_ns(const struct hv_clocks *c, uint64_t *ret);
/* Finds the present value of CPU's time stamp counter. Returns false if unknown. */
bool hv_clocks_now_tsc(const struct hv_clocks *c, unsigned cpu, uint64_t *ret);
/* Returns CPU's time stamp counter when the host's was HOST_TICKS. Needs hv_clocks_has_host. */
uint64_t hv_clocks_tsc_of_host(const struct hv_clocks *c, unsigned cpu, uint64_t host_ticks);
/* Samples the guest's clock and timekeeper; this makes hv_clocks_now_ns more accurate. Cheap; call
 * it about every 100 ms. */
void hv_clocks_sample(struct hv_clocks *c);
