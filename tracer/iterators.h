/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's functions that call all probes of a tracepoint, one after the other, by an array
 * (__traceiter_*). Whoever is in one may still be going through an array that the guest has
 * replaced since, until its RCU frees that. Leaves to others: who is in one (kernel/tasks.h). */
#pragma once

#include <stddef.h>

#include "base/addr.h"

struct hv_kernel;

struct hv_iterators {
	struct hv_gva_range *list; /* owned, sorted */
	size_t nr;
};

/* Those of the kernel and of its modules. */
void hv_iterators_find(const struct hv_kernel *k, struct hv_iterators *ret);
void hv_iterators_deinit(struct hv_iterators *i);
