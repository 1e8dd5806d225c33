/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Retries an operation for a bounded time with growing delays. Used for temporary failures: the
 * guest is still executing a trampoline, or a hold timed out on a busy host. Each try stops the
 * guest, so tries are few. */
#pragma once

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"

#define HV_RETRY_FOR_NS	  (10 * HV_NS_PER_S)
#define HV_RETRY_FIRST_NS (50 * HV_NS_PER_MS)	/* delay before the second try */
#define HV_RETRY_LAST_NS  (1600 * HV_NS_PER_MS) /* maximum delay */

struct hv_retry {
	uint64_t began_ns;
	uint64_t until_ns; /* a try that fails later is the last one */
	uint64_t delay_ns;
	uint64_t next_ns; /* time of the next try */
	unsigned nr_failed;
};

/* The first try is due now. A try that fails after FOR_NS is the last one. */
static inline struct hv_retry hv_retry_begin(uint64_t for_ns)
{
	uint64_t now_ns = hv_now_ns();

	return (struct hv_retry){.began_ns = now_ns,
				 .until_ns = now_ns + for_ns,
				 .delay_ns = HV_RETRY_FIRST_NS,
				 .next_ns = now_ns};
}

/* Returns whether ERR, which is not NULL, is a temporary failure. */
static inline bool hv_retry_may_succeed(const struct hv_err *err)
{
	return err->code == EBUSY || err->code == ETIMEDOUT;
}

/* Schedules the next try after a temporary failure. Returns false if the time for tries is over. */
static inline bool hv_retry_again(struct hv_retry *r)
{
	uint64_t now_ns = hv_now_ns();

	r->nr_failed++;
	if (now_ns >= r->until_ns)
		return false;
	r->next_ns = now_ns + r->delay_ns;
	if (r->delay_ns < HV_RETRY_LAST_NS)
		r->delay_ns *= 2;
	return true;
}

static inline void hv_retry_wait(const struct hv_retry *r)
{
	int left_ms;

	while ((left_ms = hv_left_ms(r->next_ns)) > 0)
		poll(NULL, 0, left_ms);
}

/* Maximum number of tries, 2 ms apart, while the guest kernel holds a lock for a short update. */
#define HV_MOMENT_TRIES 20u

static inline void hv_wait_a_moment(void)
{
	poll(NULL, 0, 2);
}
