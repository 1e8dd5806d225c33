/* The clocks of a guest's events: the time of an event on each of them, and what the guest's clock
 * shows now.
 * Leaves to others: how the guest computes its clock (kernel/clock.h), how its counter follows the
 * host's (host_clock.h), the guest's clock where neither tells (kernel/now.h). One thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/clock.h"

struct hv_hold_stat;
struct hv_host_clock;
struct hv_kernel;
struct hv_clocks;

enum hv_trace_clock {
	HV_TRACE_CLOCK_GUEST, /* the guest's own trace clock */
	HV_TRACE_CLOCK_TSC,   /* what its time stamp counter said */
	HV_TRACE_CLOCK_HOST,  /* the host's CLOCK_MONOTONIC; needs hv_clocks_has_host */
};

/* Takes GUEST and HOST, which is NULL when the guest's counter cannot be followed. Borrows K and
 * HOLDS (patcher.h), the guest's holds so far: each of them stops its clock. */
struct hv_clocks *hv_clocks_new(struct hv_clock *guest, struct hv_host_clock *host,
				struct hv_kernel *k, const struct hv_hold_stat *holds);
void hv_clocks_free(struct hv_clocks *c);
/* Reads again what the clocks depend on: each second or so. */
void hv_clocks_refresh(struct hv_clocks *c);

enum hv_clock_kind hv_clocks_guest_kind(const struct hv_clocks *c);
bool hv_clocks_has_host(const struct hv_clocks *c);

/* The time on CLOCK of what CPU stamped with TSC. */
uint64_t hv_clocks_event_ns(const struct hv_clocks *c, enum hv_trace_clock clock, unsigned cpu,
			    uint64_t tsc);
/* The first tsc at which the guest's clock shows TIME_NS on CPU, or the last of all. */
uint64_t hv_clocks_tsc_at(const struct hv_clocks *c, unsigned cpu, uint64_t time_ns);

/* What the guest reads from CLOCK now: the time of a line that the host itself adds. Never ahead of
 * what the guest's next event will have, except by a moment in which the guest stood still; behind
 * it by what kernel/now.h says. False: it cannot be told. */
bool hv_clocks_now_ns(struct hv_clocks *c, enum hv_trace_clock clock, uint64_t *ret);
/* What CPU's time stamp counter shows now. False: it cannot be told. */
bool hv_clocks_now_tsc(const struct hv_clocks *c, unsigned cpu, uint64_t *ret);
/* Looks at the guest's clock, so that hv_clocks_now_ns is nearer to it. Cheap; each 100 ms or so.
 */
void hv_clocks_sample(struct hv_clocks *c);
