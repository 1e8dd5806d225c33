/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clocks of a guest's events: converts event times to each clock, and returns the guest's
 * present time.
 *
 * kernel/clock/clock.h computes the guest's clock, and estimates the guest's time if neither that
 * clock nor the host's is known. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/clock/clock.h"
#include "vmm/guest.h"

struct hv_clocks;
struct hv_hold_stat;
struct hv_host_clock;
struct hv_kernel;

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
 * host's counter is unknown. Borrows K and HOLDS (patcher.h): the guest's holds since
 * attach. Each hold stops the guest's clock. */
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
 * guest's next event, except by a moment in which the guest was stopped; kernel/clock/clock.h
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

/* -- the host's clock -------------------------------------------------------------------------- */

/* Converts a guest CPU's time stamp counter to the host's CLOCK_MONOTONIC: reverses KVM's offset
 * and scaling of the host's counter (hv_guest_tsc), then interpolates between samples of that
 * counter and the clock (vmm/tsc.h).
 *
 * Assumes that CPU n of the guest is vCPU n. Each refresh rereads KVM's values. After a change,
 * events from before it use the old values. Events between the change and the next refresh may use
 * either. */

/* Returns NULL if the relation of this guest's counter to the host's is unknown. Borrows G. */
struct hv_host_clock *hv_host_clock_new(struct hv_guest *g);
void hv_host_clock_free(struct hv_host_clock *c);
/* Call it about once a second while the clock is used. If calls were missed, the next one catches
 * up. */
void hv_host_clock_refresh(struct hv_host_clock *c);

/* Returns the time in ns of CPU's time stamp TICKS. */
uint64_t hv_host_clock_ns(const struct hv_host_clock *c, unsigned cpu, uint64_t ticks);
/* Returns CPU's counter now. */
uint64_t hv_host_clock_guest_ticks(const struct hv_host_clock *c, unsigned cpu);

/* -- the guest's timekeeper -------------------------------------------------------------------- */

/* The guest's CLOCK_MONOTONIC, CLOCK_BOOTTIME and CLOCK_TAI at the time of an event, computed from
 * snapshots ("moments") of its timekeeper in the same way as its kernel does. The result is exact
 * at a moment. After the newest and before the oldest moment, it is extrapolated from that one.
 * Between two moments, NTP adjustments are spread evenly.
 *
 * When more than HV_MOMENTS_MAX are kept, every other one of the older half is dropped.
 *
 * kernel/clock/clock.h reads the moments. */

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
