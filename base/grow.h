/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists that grow by one element after the other. */
#pragma once

#include "base/guard.h"

/* Makes room in LIST for one more than NR elements of SIZE bytes each, of which *CAP fit. The first
 * time there is room for FIRST, then for twice as many each time. Returns the list, which may have
 * moved. */
static inline void *hv_grow(void *list, size_t nr, size_t *cap, size_t first, size_t size)
{
	if (nr < *cap)
		return list;
	*cap = *cap ? *cap * 2 : first;
	return hv_realloc_array(list, *cap, size);
}
