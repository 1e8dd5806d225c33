#include "tracer/buffer_state.h"

#include "tracer/session_state.h"

void hv_buffer_init(struct hv_buffer *b, struct hv_session *s, unsigned nr_cpus,
		    const struct hv_state *states, const uint8_t *records, uint64_t ring_bytes)
{
	*b = (struct hv_buffer){
		.session = s,
		.states = states,
		.records = records,
		.ring_bytes = ring_bytes,
		.nr_slots = ring_bytes / sizeof(struct hv_record),
		.size_bytes = ring_bytes,
		.nr_kept = ring_bytes / sizeof(struct hv_record),
		.nr_cpus = nr_cpus,
		.cpus = hv_alloc(nr_cpus * sizeof(struct hv_buffer_cpu)),
	};
	for (unsigned cpu = 0; cpu < nr_cpus; cpu++)
		b->cpus[cpu].mark = hv_merge_mark_at(0);
}

void hv_buffer_use_clock(struct hv_buffer *b, enum hv_trace_clock clock)
{
	b->clock = clock;
}

void hv_buffer_deinit(struct hv_buffer *b)
{
	free(b->cpus);
	*b = (struct hv_buffer){0};
}

struct hv_buffer *hv_session_buffer(struct hv_session *s)
{
	return &s->buffer;
}

void hv_buffer_ring(const struct hv_buffer *b, unsigned cpu, struct hv_ring *ret)
{
	const uint8_t *records = b->records + cpu * b->ring_bytes;

	hv_ring_init(ret, b->states + cpu, (const struct hv_record *)records, b->nr_slots);
	ret->nr_kept = b->nr_kept;
}

static uint64_t head_of(const struct hv_buffer *b, unsigned cpu)
{
	return __atomic_load_n(&b->states[cpu].head, __ATOMIC_RELAXED);
}

uint64_t hv_buffer_overwritten(const struct hv_buffer *b, unsigned cpu)
{
	uint64_t head = head_of(b, cpu);
	uint64_t mark = b->cpus[cpu].mark.position;

	if (head < mark || head - mark <= b->nr_kept)
		return 0;
	return head - mark - b->nr_kept;
}

unsigned hv_buffer_percent(const struct hv_buffer *b, unsigned cpu)
{
	uint64_t head = head_of(b, cpu), mark = b->cpus[cpu].mark.position;

	if (head < mark || head - mark >= b->nr_kept)
		return 100;
	return (unsigned)((head - mark) * 100 / b->nr_kept);
}

static void clear_cpu(struct hv_buffer *b, unsigned cpu)
{
	struct hv_buffer_cpu *c = &b->cpus[cpu];
	struct hv_ring ring;

	hv_buffer_ring(b, cpu, &ring);
	b->session->nr_lost += hv_buffer_overwritten(b, cpu);
	c->mark = hv_merge_mark_at(hv_ring_head(&ring));
	c->nr_clears++;
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
