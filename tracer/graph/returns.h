/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The open frames of a graph: return addresses on the guest's stacks that were replaced by our
 * handler. The originals are in the region's return stacks (docs/users/graph.md). The region is
 * untrusted: a frame is used only if the word at its retp is our handler's address and the original
 * is an address of kernel code outside our range.
 *
 * graph_tracer.h and attach.c decide when to restore addresses; patcher/ makes holds. */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct hv_hold;
struct hv_tracee;

/* EOPNOTSUPP with the reason: this guest's return addresses cannot be restored. */
struct hv_err *hv_returns_check(struct hv_tracee *t) hv_must_use;

/* Returns the number of open frames, including frames of tasks that died in traced functions. */
size_t hv_returns_open(const struct hv_tracee *t);

/* In a hold: restores every return address and empties the return stacks. *RET_NR is the number of
 * addresses. EBUSY: nothing is written, because a vCPU is in a trampoline or may return into one
 * without a known frame. */
struct hv_err *hv_returns_put_back(struct hv_tracee *t, struct hv_hold *hold,
				   size_t *ret_nr) hv_must_use;

/* -- return stacks of dead tasks --------------------------------------------------------------- */

/* Frees the return stacks of tasks that died in traced functions. graph_tracer.h decides whether
 * frames are being added. */

/* If there are many return stacks whose kernel stack is no longer mapped, empties them in a hold.
 * Those that cannot be emptied now are left for the next call. */
void hv_sweep(struct hv_tracee *t);
