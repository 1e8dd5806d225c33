/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides whether one stall can be the reason of another, from their kinds and times. verdict.h
 * chooses among several reasons. Pure. */
#pragma once

#include "latency/stall.h"

bool hv_stall_is_io(const struct hv_stall *s);
/* Returns whether S is a request to a device that the guest itself provides, locally or over its
 * network (loop, nbd). */
bool hv_stall_is_guests_own(const struct hv_stall *s);
bool hv_stall_same_task(const struct hv_stall *a, const struct hv_stall *b);
/* Returns whether S is a series of waits (docs/users/latency.md: reclaim and page faults). */
bool hv_stall_is_series(const struct hv_stall *s);
/* Returns whether a stall like BY can be the reason of one like S, if their intervals overlap. */
bool hv_stall_explains(const struct hv_stall *by, const struct hv_stall *s);
/* Returns how much of S's interval BY took. For a series, the gaps between its waits do not
 * count. */
uint64_t hv_stall_explained_ns(const struct hv_stall *by, const struct hv_stall *s);
