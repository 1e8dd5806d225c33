/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/qemu/free_place.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "vmm/qemu/text_line.h"

#define GIB	    (1ull << 30)
#define BITS_MIN    36
#define BITS_MAX    52
#define SPACE_BYTES (1ull << 51)
#define HT_BYTES    (16 * GIB) /* size of HyperTransport's hole, rounded up */

void hv_taken_add(struct hv_taken_list *t, uint64_t start, uint64_t end)
{
	t->list = hv_grow(t->list, t->nr, &t->cap, 256, sizeof(*t->list));
	t->list[t->nr++] = (struct hv_taken){start, end};
}

void hv_taken_deinit(struct hv_taken_list *t)
{
	free(t->list);
	*t = (struct hv_taken_list){0};
}

bool hv_taken_parse(struct hv_taken_list *t, const char *text)
{
	struct hv_text_line line;

	while (hv_text_line_next(&text, &line)) {
		uint64_t start, last;

		if (sscanf(line.bytes, " %16" SCNx64 "-%16" SCNx64 " (prio", &start, &last) != 2 ||
		    last < start || last - start >= SPACE_BYTES)
			continue;
		if (t->nr == HV_TAKEN_MAX)
			return false;
		hv_taken_add(t, start, last + 1);
	}
	return true;
}

static int by_end_descending(const void *a, const void *b)
{
	const struct hv_taken *one = a, *other = b;

	return one->end > other->end ? -1 : one->end < other->end;
}

/* Moves *AT down until the LEN bytes there overlap none of the NR ranges in T. Returns false if
 * there is not enough room. */
static bool move_down(struct hv_taken *t, size_t nr, uint64_t len_bytes, uint64_t *at)
{
	qsort(t, nr, sizeof(*t), by_end_descending);
	for (size_t i = 0; i < nr && *at < t[i].end; i++) {
		if (t[i].start >= *at + len_bytes)
			continue;
		if (t[i].start < len_bytes)
			return false;
		*at = (t[i].start - len_bytes) & ~(HV_PLACE_UNIT - 1);
	}
	return true;
}

bool hv_place_choose(const struct hv_taken_list *taken, unsigned phys_bits, uint64_t floor,
		     uint64_t len_bytes, struct hv_gpa *ret)
{
	HV_AUTO_FREE struct hv_taken *sorted = hv_alloc((taken->nr + 1) * sizeof(*sorted));
	uint64_t at;

	if (phys_bits < BITS_MIN || !len_bytes || len_bytes > GIB)
		return false;
	if (phys_bits > BITS_MAX)
		phys_bits = BITS_MAX;
	if (floor < 4 * GIB)
		floor = 4 * GIB;
	at = ((3ull << (phys_bits - 2)) - HT_BYTES - len_bytes) & ~(HV_PLACE_UNIT - 1);
	if (taken->nr)
		memcpy(sorted, taken->list, taken->nr * sizeof(*sorted));
	if (!move_down(sorted, taken->nr, len_bytes, &at) || at < floor)
		return false;
	*ret = hv_gpa(at);
	return true;
}
