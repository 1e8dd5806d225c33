/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's functions that call all probes of a tracepoint in order from an array
 * (__traceiter_*). A task inside one may still use an array that the guest has replaced, until the
 * guest's RCU frees it.
 *
 * kernel/tasks/tasks.h finds these tasks. */
#pragma once

#include <stddef.h>

#include "base/addr.h"

struct hv_kernel;

struct hv_iterators {
	struct hv_gva_range *list; /* owned, sorted */
	size_t nr;
};

/* Finds the iterators of the kernel and its modules. */
void hv_iterators_find(const struct hv_kernel *k, struct hv_iterators *ret);
void hv_iterators_deinit(struct hv_iterators *i);
