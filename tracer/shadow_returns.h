/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Return addresses of a graph on shadow call stacks. A function saves what it is to return to in
 * its frame record and on the shadow call stack, and returns to the latter. So both must be put
 * back. The two stacks have the calls in the same order, by which the addresses are told apart.
 * Leaves to others: which calls are open, and what is written (returns.h). */
#pragma once

#include <stddef.h>

#include "tracer/return_places.h"

/* Whether the addresses on the shadow call stacks are those of frame records, for the most part. */
bool hv_shadow_returns_agree(const struct hv_return_places *p);

/* Finds the addresses on shadow call stacks that are our handler's. LIST: the NR calls that have a
 * frame of ours, sorted by place, with their callers; the address in a record is our handler's, or
 * the caller's if a detach was interrupted. *RET: *RET_NR calls, with places on shadow call stacks;
 * the caller frees it with free(). EBUSY: an address of ours, there or in a record, belongs to no
 * known call, as while a function makes or leaves its frame. */
struct hv_err *hv_shadow_returns_find(const struct hv_return_places *p,
				      const struct hv_hooked *list, size_t nr,
				      struct hv_hooked **ret, size_t *ret_nr) hv_must_use;
