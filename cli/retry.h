/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For how long, and how often, detach and recover try again to take hvtrace's changes out of a
 * guest. Each try holds the guest, so there are few. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define RETRY_FOR_NS   UINT64_C(10000000000)
#define RETRY_FIRST_NS UINT64_C(50000000)   /* between the first two tries */
#define RETRY_LAST_NS  UINT64_C(1600000000) /* at most */

/* ERR is not NULL. Another try may succeed if the guest still needs a stub, or a hold ended too
 * early. */
static inline bool retry_may_succeed(const struct hv_err *err)
{
	return err->code == EBUSY || err->code == ETIMEDOUT;
}

static inline uint64_t retry_next_ns(uint64_t delay_ns)
{
	return delay_ns < RETRY_LAST_NS ? 2 * delay_ns : delay_ns;
}
