/* The open frames of a graph: return addresses on the guest's stacks that are our handler's, with
 * what they were in the region's return stacks (docs/graph.md). The region is hostile: a frame is
 * believed only when the word at its slot is our handler's address and what it was is code of the
 * kernel outside of our range.
 * Leaves to others: when (graph_tracer.h, detach.c), holding (patcher/). */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct hv_hold;
struct hv_tracee;

/* Frames raised and not lowered, those of tasks that died in them included. */
size_t hv_returns_open(const struct hv_tracee *t);

/* In a hold: every return address back, the return stacks emptied. EBUSY, and nothing is written,
 * while a vCPU is in a stub or may come back into one otherwise than by a known frame. *RET_NR
 * addresses were put back. */
struct hv_err *hv_returns_put_back(struct hv_tracee *t, struct hv_hold *hold,
				   size_t *ret_nr) hv_must_use;
