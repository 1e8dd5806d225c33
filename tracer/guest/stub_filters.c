/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/guest/stub_filters.h"

#include <string.h>

#define NUMBER_BITS 16 /* low bits of the word in a file */

_Static_assert(HV_REGION_NR_FILTERS <= 1 << NUMBER_BITS, "number of a program");
_Static_assert(HV_REGION_NR_EVENTS < UINT16_MAX, "index of a file");
_Static_assert(sizeof(struct hv_filter_step) % sizeof(uint64_t) == 0, "words of a step");

/* Returns the number of the program with the owner OF, or HV_REGION_NR_FILTERS. */
static unsigned find(const struct hv_stub_filters *s, unsigned of)
{
	unsigned number = 0;

	while (number < HV_REGION_NR_FILTERS && s->owners[number] != of)
		number++;
	return number;
}

/* A stub may be executing these steps. It reads each field in its old or new state; both lead
 * forward in the program. */
static void write_steps(struct hv_filter_step *to, const struct hv_filter_step *from)
{
	uint64_t word;

	for (size_t i = 0; i < HV_FILTER_STEPS_MAX * sizeof(*to) / sizeof(word); i++) {
		memcpy(&word, (const uint64_t *)from + i, sizeof(word));
		__atomic_store_n((uint64_t *)to + i, word, __ATOMIC_RELAXED);
	}
}

void hv_stub_filters_set(struct hv_stub_filters *s, const struct hv_region *r, unsigned index,
			 const struct hv_stub_filter *filter)
{
	uint64_t *word = &hv_region_event_file(r, index)->filter;
	unsigned number = find(s, index + 1);
	bool has_one = number < HV_REGION_NR_FILTERS;
	struct hv_filter_step *steps;

	if (!has_one && (!filter || !filter->nr))
		return;
	if (!has_one)
		number = find(s, 0);
	if (number == HV_REGION_NR_FILTERS)
		return;
	steps = hv_region_filter(r, number);
	if (has_one && filter && *word && memcmp(steps, filter->steps, sizeof(filter->steps)) == 0)
		return;
	__atomic_store_n(word, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE); /* clear the word before the steps change */
	s->owners[number] = filter && filter->nr ? (uint16_t)(index + 1) : 0;
	if (!s->owners[number])
		return;
	write_steps(steps, filter->steps);
	__atomic_store_n(word, ++s->nr_changes << NUMBER_BITS | number, __ATOMIC_RELEASE);
}
