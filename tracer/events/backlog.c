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

static void run_make_room(struct hv_backlog *b)
{
	size_t nr = b->run_end - b->run_first;

	if (b->run_end < b->run_cap)
		return;
	if (b->run_first < b->run_cap / 2 || !b->run_cap) {
		b->run_cap = b->run_cap ? 2 * b->run_cap : CAP_MIN;
		b->run = hv_realloc_array(b->run, b->run_cap, sizeof(*b->run));
		return;
	}
	memmove(b->run, b->run + b->run_first, nr * sizeof(*b->run));
	b->run_first = 0;
	b->run_end = nr;
}

static void run_drop_first(struct hv_backlog *b)
{
	if (++b->run_first == b->run_end)
		b->run_first = b->run_end = 0;
}

/* -- the heap ------------------------------------------------------------------------------ */

static void heap_add(struct hv_backlog *b, const struct hv_kept *kept)
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

void hv_backlog_add(struct hv_backlog *b, const struct hv_kept *kept)
{
	if (b->run_first < b->run_end && older(kept, &b->run[b->run_end - 1])) {
		heap_add(b, kept);
		return;
	}
	run_make_room(b);
	b->run[b->run_end++] = *kept;
}

static bool heap_is_first(const struct hv_backlog *b)
{
	if (!b->nr_heap || b->run_first == b->run_end)
		return b->nr_heap > 0;
	return older(&b->heap[0], &b->run[b->run_first]);
}

const struct hv_kept *hv_backlog_first(const struct hv_backlog *b)
{
	if (heap_is_first(b))
		return &b->heap[0];
	return b->run_first < b->run_end ? &b->run[b->run_first] : NULL;
}

void hv_backlog_drop_first(struct hv_backlog *b)
{
	assert(hv_backlog_nr(b) > 0);
	if (heap_is_first(b))
		heap_drop_first(b);
	else
		run_drop_first(b);
}

/* A record in the heap came after a younger one, which is still in the run. */
uint64_t hv_backlog_lowest(const struct hv_backlog *b, uint64_t position)
{
	for (size_t i = b->run_first; i < b->run_end; i++)
		if (before(b->run[i].position, position))
			position = b->run[i].position;
	return position;
}
