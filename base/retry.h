/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trying again, for a bounded time, what fails for a reason that passes: a guest that still needs a
 * stub, or a hold that a busy host let run out. Each try holds the guest, so the tries are few, and
 * come later and later.
 * Leaves to others: what is tried, and which reasons pass for it. */
#pragma once

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"

#define HV_RETRY_FOR_NS	  (10 * HV_NS_PER_S)
#define HV_RETRY_FIRST_NS (50 * HV_NS_PER_MS)	/* between the first two tries */
#define HV_RETRY_LAST_NS  (1600 * HV_NS_PER_MS) /* at most */

struct hv_retry {
	uint64_t began_ns;
	uint64_t until_ns; /* no try begins later, unless a delay ends later */
	uint64_t delay_ns;
	uint64_t next_ns; /* when the next try is due */
	unsigned nr_failed;
};

/* The first try is due now; after FOR_NS there is no other. */
static inline struct hv_retry hv_retry_begin(uint64_t for_ns)
{
	uint64_t now_ns = hv_now_ns();

	return (struct hv_retry){.began_ns = now_ns,
				 .until_ns = now_ns + for_ns,
				 .delay_ns = HV_RETRY_FIRST_NS,
				 .next_ns = now_ns};
}

/* ERR is not NULL. */
static inline bool hv_retry_may_succeed(const struct hv_err *err)
{
	return err->code == EBUSY || err->code == ETIMEDOUT;
}

/* After a try that failed for a reason that may pass. False: it was the last one. */
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

/* Waits until the next try is due. */
static inline void hv_retry_wait(const struct hv_retry *r)
{
	int left_ms;

	while ((left_ms = hv_left_ms(r->next_ns)) > 0)
		poll(NULL, 0, left_ms);
}

/* While the guest's kernel changes something, it has it locked for a moment. What cannot be done
 * meanwhile is tried again so often, 2 ms after the last try, so for some 40 ms. */
#define HV_MOMENT_TRIES 20u

static inline void hv_wait_a_moment(void)
{
	poll(NULL, 0, 2);
}
