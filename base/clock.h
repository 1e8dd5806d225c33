/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The host's monotonic clock. Holds and timeouts are measured with it. Unit: ns. */
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

/* The same as it was at the host's last tick, 1 to 10 ms ago, for what is asked for each event. */
static inline uint64_t hv_last_tick_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * HV_NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* The milliseconds until DEADLINE_NS, for poll(2). They are rounded up, so that a wait never ends
 * just before its deadline. 0: the deadline has passed. */
static inline int hv_left_ms(uint64_t deadline_ns)
{
	uint64_t now_ns = hv_now_ns();
	uint64_t left_ms;

	if (now_ns >= deadline_ns)
		return 0;
	left_ms = (deadline_ns - now_ns + HV_NS_PER_MS - 1) / HV_NS_PER_MS;
	return left_ms > 1000000 ? 1000000 : (int)left_ms;
}
