/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cancels the reading of guest data whose result is no longer needed. The amount of data is
 * bounded, but the bounds allow for the largest kernels, so a hostile guest can make reading take
 * seconds. Loops that read guest data therefore check for cancellation. Writes into a guest and
 * detaching (patcher/) cannot be cancelled. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* Makes this thread cancel when IS_CANCELLED returns true. IS_CANCELLED must then keep returning
 * true until the next call of this function. NULL disables cancellation. CTX is borrowed. */
void hv_cancel_when(bool (*is_cancelled)(void *ctx), void *ctx);
/* Fails with ECANCELED if this thread should cancel. */
struct hv_err *hv_cancel_check(void) hv_must_use;
/* For loops that cannot return an error. Calls IS_CANCELLED only once in HV_CANCEL_STEPS steps.
 * Call hv_cancel_check() after the loop to learn whether it was cancelled. */
#define HV_CANCEL_STEPS 8192u
bool hv_cancel_now(size_t step);
