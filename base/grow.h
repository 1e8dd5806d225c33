/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays that grow by appending. */
#pragma once

#include "base/guard.h"

/* Ensures that LIST has room for NR + 1 elements of SIZE bytes. *CAP is its capacity; it starts
 * with FIRST and doubles when needed. Returns LIST, which may have moved. */
static inline void *hv_grow(void *list, size_t nr, size_t *cap, size_t first, size_t size)
{
	if (nr < *cap)
		return list;
	*cap = *cap ? *cap * 2 : first;
	return hv_realloc_array(list, *cap, size);
}
