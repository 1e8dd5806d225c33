/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/events/backlog.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/guard.h"

#define CAP_MIN 64

void hv_backlog_deinit(struct hv_backlog *b)
{
	free(b->run);
	free(b->heap);
	*b = (struct hv_backlog){0};
}

static bool before(uint64_t position, uint64_t other)
{
	return (int64_t)(position - other) < 0;
}

static bool older(const struct hv_kept *a, const struct hv_kept *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns;
	return before(a->position, b->position);
}

/* -- the run ------------------------------------------------------------------------------- */

void hv_backlog_grow(struct hv_backlog *b)
{
	size_t cap = b->run_cap ? 2 * b->run_cap : CAP_MIN;
	struct hv_kept *run = hv_realloc_array(NULL, cap, sizeof(*run));

	for (size_t i = b->run_first; i < b->run_end; i++)
		run[i & (cap - 1)] = *hv_backlog_run_at(b, i);
	free(b->run);
	b->run = run;
	b->run_cap = cap;
}

/* -- the heap ------------------------------------------------------------------------------ */

void hv_backlog_heap_add(struct hv_backlog *b, const struct hv_kept *kept)
{
	size_t at = b->nr_heap++;

	if (at == b->heap_cap) {
		b->heap_cap = b->heap_cap ? 2 * b->heap_cap : CAP_MIN;
		b->heap = hv_realloc_array(b->heap, b->heap_cap, sizeof(*b->heap));
	}
	while (at > 0 && older(kept, &b->heap[(at - 1) / 2])) {
		b->heap[at] = b->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	b->heap[at] = *kept;
}

static void heap_drop_first(struct hv_backlog *b)
{
	const struct hv_kept *last = &b->heap[--b->nr_heap];
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= b->nr_heap)
			break;
		if (child + 1 < b->nr_heap && older(&b->heap[child + 1], &b->heap[child]))
			child++;
		if (!older(&b->heap[child], last))
			break;
		b->heap[at] = b->heap[child];
		at = child;
	}
	b->heap[at] = *last;
}

/* ------------------------------------------------------------------------------------------ */

static bool heap_is_first(const struct hv_backlog *b)
{
	if (!b->nr_heap || b->run_first == b->run_end)
		return b->nr_heap > 0;
	return older(&b->heap[0], hv_backlog_run_at(b, b->run_first));
}

const struct hv_kept *hv_backlog_first_of_both(const struct hv_backlog *b)
{
	return heap_is_first(b) ? &b->heap[0] : hv_backlog_run_at(b, b->run_first);
}

void hv_backlog_drop_first_of_both(struct hv_backlog *b)
{
	if (heap_is_first(b))
		heap_drop_first(b);
	else
		b->run_first++;
}

/* A record in the heap arrived after a younger one, which is still in the run. So unless positions
 * went back, the first record of the run has the lowest position. */
uint64_t hv_backlog_lowest(const struct hv_backlog *b, uint64_t position)
{
	size_t end = b->goes_back ? b->run_end : b->run_first + 1;

	for (size_t i = b->run_first; i < end && i < b->run_end; i++)
		if (before(hv_backlog_run_at(b, i)->position, position))
			position = hv_backlog_run_at(b, i)->position;
	return position;
}
