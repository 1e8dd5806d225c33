/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks in a hold whether the guest still uses region memory of an event that was switched off
 * (plug.h). One thread. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct hv_event_calls;
struct hv_tracee;

/* Checks that no task is on its way to a stub from the plugs in WHICH, by index; NULL: from any
 * plug. EBUSY: a task is, or its state is unknown. */
struct hv_err *hv_event_use_check(struct hv_tracee *t, const struct hv_event_calls *calls,
				  const bool *which) hv_must_use;
/* Like hv_event_use_check(), but retries for about 40 ms. */
struct hv_err *hv_event_use_await_end(struct hv_tracee *t, const struct hv_event_calls *calls,
				      const bool *which) hv_must_use;
