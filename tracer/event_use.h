/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether anybody in the guest still uses what an event had in the region, after it was switched
 * off: it is seen in a hold (plug.h). One thread. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct hv_event_calls;
struct hv_tracee;

/* Nobody is on the way to a stub from the plugs WHICH, by index; NULL: from any. EBUSY: somebody
 * is, or it is not known. */
struct hv_err *hv_event_use_check(struct hv_tracee *t, const struct hv_event_calls *calls,
				  const bool *which) hv_must_use;
/* Likewise, and waits for some 40 ms until it is so. */
struct hv_err *hv_event_use_await_end(struct hv_tracee *t, const struct hv_event_calls *calls,
				      const bool *which) hv_must_use;
