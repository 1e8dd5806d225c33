/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The host's monotonic clock in ns, used for holds and timeouts. */
#pragma once

#include <stdint.h>
#include <time.h>

#define HV_NS_PER_MS UINT64_C(1000000)
#define HV_NS_PER_S  UINT64_C(1000000000)

static inline uint64_t hv_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * HV_NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* Like hv_now_ns(), but cheaper: returns the time of the host's last tick, 1 to 10 ms ago. For use
 * once per event. */
static inline uint64_t hv_last_tick_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * HV_NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* Returns the milliseconds until DEADLINE_NS for poll(2), or 0 if it has passed. Rounds up, so that
 * a wait does not end just before the deadline. */
static inline int hv_left_ms(uint64_t deadline_ns)
{
	uint64_t now_ns = hv_now_ns();
	uint64_t left_ms;

	if (now_ns >= deadline_ns)
		return 0;
	left_ms = (deadline_ns - now_ns + HV_NS_PER_MS - 1) / HV_NS_PER_MS;
	return left_ms > 1000000 ? 1000000 : (int)left_ms;
}
