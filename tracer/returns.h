/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The open frames of a graph: return addresses on the guest's stacks that are our handler's. The
 * originals are in the region's return stacks (docs/users/graph.md). The region is hostile: a frame
 * is used only if the word at its slot is our handler's address, and the original is an address of
 * kernel code outside of our range.
 * Leaves to others: when to put addresses back (graph_tracer.h, detach.c), taking holds
 * (patcher/). */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct hv_hold;
struct hv_tracee;

/* EOPNOTSUPP with the reason: this guest's return addresses could not be put back. */
struct hv_err *hv_returns_check(struct hv_tracee *t) hv_must_use;

/* Returns the number of open frames, including those of tasks that died in traced functions. */
size_t hv_returns_open(const struct hv_tracee *t);

/* In a hold: puts every return address back and empties the return stacks. *RET_NR is the number of
 * addresses. EBUSY, and nothing is written: a vCPU is in a stub, or may return into one in another
 * way than by a known frame. */
struct hv_err *hv_returns_put_back(struct hv_tracee *t, struct hv_hold *hold,
				   size_t *ret_nr) hv_must_use;
