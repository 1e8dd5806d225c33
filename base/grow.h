/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays that grow by appending. */
#pragma once

#include "base/guard.h"

/* Makes room in LIST for one more than its NR elements of SIZE bytes. *CAP is its capacity: 0, then
 * FIRST, then doubled as needed. Returns LIST, which may have moved. */
static inline void *hv_grow(void *list, size_t nr, size_t *cap, size_t first, size_t size)
{
	if (nr < *cap)
		return list;
	*cap = *cap ? *cap * 2 : first;
	return hv_realloc_array(list, *cap, size);
}
