/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ends the reading of a guest's data when nobody wants the result any more. The amount that is read
 * is bounded, but the bounds allow for the largest kernels, so that a hostile guest can make
 * reading take seconds. Loops that read guest data ask here from time to time whether to give up.
 * Leaves to others: writing into a guest and detaching, which are never given up (patcher/). */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* From now on this thread gives up when IS_CANCELLED returns true. After that IS_CANCELLED must
 * return true until another call of this function replaces it. NULL: the thread never gives up. CTX
 * is borrowed. */
void hv_cancel_when(bool (*is_cancelled)(void *ctx), void *ctx);
/* Fails with ECANCELED when this thread should give up. */
struct hv_err *hv_cancel_check(void) hv_must_use;
/* The same for loops that cannot return an error. It asks only once in HV_CANCEL_STEPS steps. After
 * the loop, hv_cancel_check() tells whether the loop gave up. */
#define HV_CANCEL_STEPS 8192u
bool hv_cancel_now(size_t step);
