/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/guard.h"
#include "tracer/events/buffer_state.h"
#include "tracer/events/decoder.h"

struct hv_buffer *hv_buffer_over(struct hv_decoder *d, unsigned nr_cpus)
{
	struct hv_buffer *b = hv_alloc(sizeof(*b));

	*b = (struct hv_buffer){
		.decoder = d,
		.nr_cpus = nr_cpus,
		.cpus = hv_alloc(nr_cpus * sizeof(struct hv_buffer_cpu)),
		.nr_refs = 1,
	};
	return b;
}

struct hv_buffer *hv_buffer_ref(struct hv_buffer *b)
{
	b->nr_refs++;
	return b;
}

void hv_buffer_unref(struct hv_buffer *b)
{
	if (!b || --b->nr_refs)
		return;
	if (b->memory)
		munmap(b->memory, b->memory_bytes);
	free(b->cpus);
	free(b);
}

void hv_buffer_set_ring(struct hv_buffer *b, unsigned cpu, const struct hv_state *state,
			uint64_t ring_bytes, uint64_t size_bytes)
{
	b->cpus[cpu] = (struct hv_buffer_cpu){
		.state = state,
		.records = (const struct hv_record *)(state + 1),
		.nr_slots = ring_bytes / sizeof(struct hv_record),
		.size_bytes = size_bytes,
		.nr_kept = size_bytes / sizeof(struct hv_record),
		.mark = hv_merge_mark_at(0),
	};
}

uint64_t hv_buffer_size(const struct hv_buffer *b, unsigned cpu)
{
	return b->cpus[cpu].size_bytes;
}

void hv_buffer_use_clock(struct hv_buffer *b, enum hv_trace_clock clock)
{
	b->clock = clock;
}

void hv_buffer_when_full(struct hv_buffer *b, enum hv_when_full what)
{
	b->when_full = what;
}

void hv_buffer_ring(const struct hv_buffer *b, unsigned cpu, struct hv_ring *ret)
{
	const struct hv_buffer_cpu *c = &b->cpus[cpu];

	hv_ring_init(ret, c->state, c->records, c->nr_slots);
	ret->nr_kept = c->nr_kept;
}

uint64_t hv_buffer_head(const struct hv_buffer *b, unsigned cpu)
{
	struct hv_ring ring;

	hv_buffer_ring(b, cpu, &ring);
	return hv_ring_head(&ring);
}

uint64_t hv_buffer_overwritten(const struct hv_buffer *b, unsigned cpu)
{
	uint64_t head = hv_buffer_head(b, cpu);
	uint64_t mark = b->cpus[cpu].mark.position, nr_kept = b->cpus[cpu].nr_kept;

	if (head < mark || head - mark <= nr_kept)
		return 0;
	return head - mark - nr_kept;
}

uint64_t hv_buffer_unread(const struct hv_buffer *b, unsigned cpu)
{
	uint64_t head = hv_buffer_head(b, cpu), mark = b->cpus[cpu].mark.position;
	uint64_t nr_kept = b->cpus[cpu].nr_kept;

	if (head < mark || head - mark >= nr_kept)
		return hv_buffer_size(b, cpu);
	return (head - mark) * sizeof(struct hv_record);
}

static void clear_cpu(struct hv_buffer *b, unsigned cpu)
{
	struct hv_buffer_cpu *c = &b->cpus[cpu];
	struct hv_ring ring;

	hv_buffer_ring(b, cpu, &ring);
	b->decoder->nr_lost += hv_buffer_overwritten(b, cpu);
	c->mark = hv_merge_mark_at(hv_ring_head(&ring));
	c->nr_clears++;
	b->nr_clears++;
	c->nr_lost = 0;
	c->nr_read = 0;
	c->nr_dropped = 0;
	c->named_pid = 0;
}

void hv_buffer_clear(struct hv_buffer *b, int only_cpu)
{
	if (only_cpu >= 0)
		clear_cpu(b, (unsigned)only_cpu);
	for (unsigned cpu = 0; only_cpu < 0 && cpu < b->nr_cpus; cpu++)
		clear_cpu(b, cpu);
}
