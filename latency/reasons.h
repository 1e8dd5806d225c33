/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which stall can be the reason of which other one, by what both are and by their times.
 * Leaves to others: which of several reasons counts (verdict.h). Pure. */
#pragma once

#include "latency/stall.h"

bool hv_stall_is_io(const struct hv_stall *s);
/* Whether the device of the request S is in the guest, or is reached by its network: loop, nbd. */
bool hv_stall_is_guests_own(const struct hv_stall *s);
bool hv_stall_same_task(const struct hv_stall *a, const struct hv_stall *b);
/* Whether S is a series of waits (docs/users/latency.md: reclaim and page faults). */
bool hv_stall_is_series(const struct hv_stall *s);
/* Whether a stall like BY can be the reason of one like S, if their intervals overlap. */
bool hv_stall_explains(const struct hv_stall *by, const struct hv_stall *s);
/* For how long of the interval of S the stall BY lasted; of a series, only what it took. */
uint64_t hv_stall_explained_ns(const struct hv_stall *by, const struct hv_stall *s);
