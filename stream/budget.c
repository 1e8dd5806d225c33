/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stream/budget.h"

bool hv_stream_budget_charge(struct hv_stream_budget *b, uint64_t *charged, uint64_t bytes)
{
	uint64_t others = b->memory - *charged;

	if (b->memory_max && bytes > *charged &&
	    (bytes > b->memory_max / HV_STREAM_MEMORY_PART || bytes > b->memory_max - others))
		return false;
	b->memory = others + bytes;
	*charged = bytes;
	return true;
}

bool hv_stream_budget_file(struct hv_stream_budget *b, uint64_t *charged, uint64_t bytes)
{
	if (bytes > *charged) {
		b->files += bytes - *charged;
		*charged = bytes;
	}
	return !b->files_max || b->files <= b->files_max;
}
