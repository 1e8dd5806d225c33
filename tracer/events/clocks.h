/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clocks of a guest's events: the time of an event on each clock, and the time on the guest's
 * clock now.
 * Leaves to others: how the guest computes its clock (kernel/clock.h), how its counter follows the
 * host's (host_clock.h), the guest's clock if neither is known (kernel/now.h). One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/clock.h"

struct hv_hold_stat;
struct hv_host_clock;
struct hv_kernel;
struct hv_clocks;

enum hv_trace_clock {
	HV_TRACE_CLOCK_GUEST, /* the guest's own trace clock */
	HV_TRACE_CLOCK_TSC,   /* its time stamp counter */
	HV_TRACE_CLOCK_HOST,  /* the host's CLOCK_MONOTONIC; needs hv_clocks_has_host */
	/* Need hv_clocks_why_not() to be NULL: */
	HV_TRACE_CLOCK_MONO,   /* the guest's CLOCK_MONOTONIC, as its trace clock "mono" shows it */
	HV_TRACE_CLOCK_BOOT,   /* likewise CLOCK_BOOTTIME */
	HV_TRACE_CLOCK_TAI,    /* likewise CLOCK_TAI */
	HV_TRACE_CLOCK_GLOBAL, /* the guest's trace clock "global", of all its CPUs together */
	HV_NR_TRACE_CLOCKS
};

/* Takes GUEST and HOST, which is NULL if it is not known how the guest's counter follows the
 * host's. Borrows K; and HOLDS (patcher.h), the guest's holds so far, each of which stops its
 * clock. */
struct hv_clocks *hv_clocks_new(struct hv_clock *guest, struct hv_host_clock *host,
				struct hv_kernel *k, const struct hv_hold_stat *holds);
void hv_clocks_free(struct hv_clocks *c);
/* Reads again what the clocks depend on. Called about once a second. */
void hv_clocks_refresh(struct hv_clocks *c);

enum hv_clock_kind hv_clocks_guest_kind(const struct hv_clocks *c);
bool hv_clocks_has_host(const struct hv_clocks *c);
/* Why there is no CLOCK; static. NULL: there is one. */
const char *hv_clocks_why_not(const struct hv_clocks *c, enum hv_trace_clock clock);
/* The clock that the guest's own tracing has at first: HV_TRACE_CLOCK_GUEST, or, where its clock is
 * not stable and known, HV_TRACE_CLOCK_GLOBAL. */
enum hv_trace_clock hv_clocks_default(const struct hv_clocks *c);

/* Returns the time on CLOCK at which CPU's counter was TSC. */
uint64_t hv_clocks_event_ns(const struct hv_clocks *c, enum hv_trace_clock clock, unsigned cpu,
			    uint64_t tsc);
/* The same for NR values of CPU's counter in TIMES, which become times. */
void hv_clocks_events_ns(const struct hv_clocks *c, enum hv_trace_clock clock, unsigned cpu,
			 uint64_t *times, size_t nr);
/* Returns the first value of CPU's counter at which the guest's clock shows TIME_NS, or the largest
 * value. */
uint64_t hv_clocks_tsc_at(const struct hv_clocks *c, unsigned cpu, uint64_t time_ns);

/* Finds the time on CLOCK now, for a line that the host itself adds. It is never later than that of
 * the guest's next event, except by a moment in which the guest was stopped; how far it can be
 * behind says kernel/now.h. False: it is not known. */
bool hv_clocks_now_ns(struct hv_clocks *c, enum hv_trace_clock clock, uint64_t *ret);
/* Finds the guest's time of day, in ns since 1970, when its clock (HV_TRACE_CLOCK_GUEST) was 0.
 * False: it is not known. */
bool hv_clocks_epoch_ns(const struct hv_clocks *c, uint64_t *ret);
/* Finds the value of CPU's time stamp counter now. False: it is not known. */
bool hv_clocks_now_tsc(const struct hv_clocks *c, unsigned cpu, uint64_t *ret);
/* Returns the value of CPU's time stamp counter when the host's was HOST_TICKS. Needs
 * hv_clocks_has_host. */
uint64_t hv_clocks_tsc_of_host(const struct hv_clocks *c, unsigned cpu, uint64_t host_ticks);
/* Samples the guest's clock, to make hv_clocks_now_ns more exact, and its timekeeper. Cheap; called
 * every 100 ms or so. */
void hv_clocks_sample(struct hv_clocks *c);
