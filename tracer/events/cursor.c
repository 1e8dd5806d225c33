#include "tracer/events/cursor.h"

#include <string.h>

#include "base/clock.h"
#include "base/guard.h"
#include "tracer/events/buffer_state.h"
#include "tracer/events/decoder.h"

struct hv_cursor {
	struct hv_buffer *buffer; /* counted: the cursor has one of its references */
	struct hv_merge *merge;
	enum hv_cursor_mode mode;
	unsigned first_cpu; /* of the rings merged */
	unsigned nr_cpus;
	struct hv_buffer_cpu *returned;	       /* owned, one a vCPU: since the last consume */
	struct hv_parts *parts;		       /* likewise: of an event that is not returned yet */
	struct hv_gva callers[HV_CALLERS_MAX]; /* of the last event */
	unsigned *nr_clears; /* owned, one a vCPU: the buffer's when the merge was made */
	struct hv_record records[HV_EVENT_RECORDS_MAX]; /* of the last event */
	unsigned nr_records;
};

/* A drain orders events by the guest's clock, whatever clock the buffer shows them with. */
static uint64_t clock_ns(void *ctx, unsigned cpu, uint64_t tsc)
{
	const struct hv_cursor *c = ctx;
	bool drains = c->mode == HV_CURSOR_DRAIN;

	return hv_clocks_event_ns(c->buffer->decoder->clocks,
				  drains ? HV_TRACE_CLOCK_GUEST : c->buffer->clock, cpu, tsc);
}

/* When the call began that ended with EXIT at TIME_NS. Where the buffer shows the counter, the
 * call's duration is in ns of the guest's clock all the same, as in the guest's own trace. */
static uint64_t call_ns(const struct hv_cursor *c, unsigned cpu, const struct hv_record *exit,
			uint64_t time_ns)
{
	const struct hv_clocks *clocks = c->buffer->decoder->clocks;
	uint64_t call_tsc = hv_record_call_tsc(exit);

	if (c->buffer->clock != HV_TRACE_CLOCK_TSC)
		return clock_ns((void *)c, cpu, call_tsc);
	return time_ns -
	       (hv_clocks_event_ns(clocks, HV_TRACE_CLOCK_GUEST, cpu, hv_record_tsc(exit)) -
		hv_clocks_event_ns(clocks, HV_TRACE_CLOCK_GUEST, cpu, call_tsc));
}

/* From MARKS on, one a vCPU. */
static void begin(struct hv_cursor *c, const struct hv_merge_mark *marks)
{
	HV_AUTO_FREE struct hv_ring *rings = hv_alloc(c->nr_cpus * sizeof(*rings));

	for (unsigned i = 0; i < c->nr_cpus; i++) {
		hv_buffer_ring(c->buffer, c->first_cpu + i, &rings[i]);
		c->nr_clears[i] = c->buffer->cpus[c->first_cpu + i].nr_clears;
	}
	memset(c->parts, 0, c->nr_cpus * sizeof(*c->parts));
	hv_merge_free(c->merge);
	c->merge = hv_merge_new(rings, c->first_cpu, c->nr_cpus, marks,
				(struct hv_merge_clock){clock_ns, c});
	if (c->mode == HV_CURSOR_DUMP || c->mode == HV_CURSOR_TAKE)
		hv_merge_stop_here(c->merge);
}

static bool is_cleared(const struct hv_cursor *c, unsigned i)
{
	return c->nr_clears[i] != c->buffer->cpus[c->first_cpu + i].nr_clears;
}

/* vCPUs that were cleared go on from there, the others where they are. */
static void follow_clears(struct hv_cursor *c)
{
	HV_AUTO_FREE struct hv_merge_mark *marks = NULL;
	unsigned nr = 0;

	for (unsigned i = 0; c->mode == HV_CURSOR_DRAIN && i < c->nr_cpus; i++)
		c->nr_clears[i] = c->buffer->cpus[c->first_cpu + i].nr_clears;
	for (unsigned i = 0; i < c->nr_cpus; i++)
		nr += is_cleared(c, i);
	if (!nr)
		return;
	marks = hv_alloc(c->nr_cpus * sizeof(*marks));
	hv_merge_marks(c->merge, marks);
	for (unsigned i = 0; i < c->nr_cpus; i++) {
		if (!is_cleared(c, i))
			continue;
		marks[i] = c->buffer->cpus[c->first_cpu + i].mark;
		c->returned[i] = (struct hv_buffer_cpu){0};
	}
	begin(c, marks);
}

struct hv_cursor *hv_cursor_new(struct hv_buffer *b, int only_cpu, enum hv_cursor_mode mode)
{
	HV_AUTO_FREE struct hv_merge_mark *marks = NULL;
	struct hv_cursor *c = hv_alloc(sizeof(*c));

	c->buffer = hv_buffer_ref(b);
	c->first_cpu = only_cpu < 0 ? 0 : (unsigned)only_cpu;
	c->nr_cpus = only_cpu < 0 ? b->nr_cpus : 1;
	c->mode = mode;
	c->nr_clears = hv_alloc(c->nr_cpus * sizeof(*c->nr_clears));
	c->returned = hv_alloc(c->nr_cpus * sizeof(*c->returned));
	marks = hv_alloc(c->nr_cpus * sizeof(*marks));
	for (unsigned i = 0; i < c->nr_cpus; i++)
		marks[i] = b->cpus[c->first_cpu + i].mark;
	c->parts = hv_alloc(c->nr_cpus * sizeof(*c->parts));
	begin(c, marks);
	return c;
}

void hv_cursor_free(struct hv_cursor *c)
{
	if (!c)
		return;
	hv_merge_free(c->merge);
	free(c->nr_clears);
	free(c->returned);
	free(c->parts);
	hv_buffer_unref(c->buffer);
	free(c);
}

static struct hv_parts *parts_at(const struct hv_cursor *c, unsigned cpu)
{
	return &c->parts[cpu - c->first_cpu];
}

static void note_part(struct hv_cursor *c, const struct hv_merge_item *item)
{
	hv_parts_add(parts_at(c, item->cpu), &item->record, item->position, item->run);
}

/* What belongs to the event ITEM. NULL: nothing, or some of it is missing. */
static const struct hv_parts *parts_of(const struct hv_cursor *c, const struct hv_merge_item *item)
{
	const struct hv_parts *parts = parts_at(c, item->cpu);

	return hv_parts_are_of(parts, &item->record, item->position, item->run) ? parts : NULL;
}

/* All but the name of the task. */
static void decode(struct hv_cursor *c, const struct hv_merge_item *item, struct hv_event *ret)
{
	hv_decoder_event(c->buffer->decoder, &item->record, parts_of(c, item), ret);
	ret->cpu = item->cpu;
	ret->time_ns = item->time_ns;
	if (ret->kind == HV_EVENT_GRAPH_EXIT)
		ret->call_ns = call_ns(c, item->cpu, &item->record, item->time_ns);
	ret->lost_before = item->lost_before;
}

static void note_records(struct hv_cursor *c, const struct hv_merge_item *item)
{
	const struct hv_parts *parts = parts_of(c, item);

	c->nr_records = 0;
	for (unsigned i = 0; parts && i < parts->nr; i++)
		c->records[c->nr_records++] = parts->list[i];
	c->records[c->nr_records++] = item->record;
}

static void find_callers(struct hv_cursor *c, const struct hv_merge_item *item,
			 struct hv_event *ret)
{
	ret->nr_callers =
		hv_decoder_callers(c->buffer->decoder, ret, parts_of(c, item), c->callers);
	ret->callers = c->callers;
}

/* ITEM is returned. */
static void finish(struct hv_cursor *c, const struct hv_merge_item *item, struct hv_event *ret)
{
	decode(c, item, ret);
	note_records(c, item);
	if (ret->kind == HV_EVENT_STACK && c->mode != HV_CURSOR_DRAIN && c->mode != HV_CURSOR_TAKE)
		find_callers(c, item, ret);
	if (hv_record_kind(&item->record) != HV_RECORD_MARK)
		hv_decoder_name_task(c->buffer->decoder, ret);
	parts_at(c, item->cpu)->nr = 0;
	c->returned[item->cpu - c->first_cpu].nr_lost += item->lost_before;
	c->returned[item->cpu - c->first_cpu].nr_read++;
}

static enum hv_merge_until until_of(const struct hv_cursor *c)
{
	return c->mode == HV_CURSOR_DUMP ? HV_MERGE_FINAL : HV_MERGE_LIVE;
}

enum hv_next hv_cursor_next(struct hv_cursor *c, struct hv_event *ret)
{
	enum hv_merge_until until = until_of(c);
	uint64_t now_ns = hv_now_ns();
	struct hv_merge_item item;

	follow_clears(c);
	while (hv_merge_next(c->merge, now_ns, until, &item)) {
		if (hv_record_is_event(&item.record)) {
			finish(c, &item, ret);
			return HV_NEXT_EVENT;
		}
		switch (hv_record_kind(&item.record)) {
		case HV_RECORD_TASK:
			hv_decoder_note_task(c->buffer->decoder, &item.record);
			break;
		case HV_RECORD_COMMAND:
			/* For who takes it; for all others it is nothing. */
			decode(c, &item, ret);
			if (c->mode == HV_CURSOR_DRAIN)
				return HV_NEXT_EVENT;
			break;
		default:
			note_part(c, &item);
		}
	}
	return HV_NEXT_EMPTY;
}

/* What precedes an exit is taken, to look at the exit itself. */
bool hv_cursor_peek(struct hv_cursor *c, unsigned cpu, struct hv_event *ret)
{
	uint64_t now_ns = hv_now_ns();
	struct hv_merge_item item;

	if (!hv_merge_peek(c->merge, cpu, now_ns, until_of(c), &item) || item.lost_before)
		return false;
	if (hv_record_kind(&item.record) == HV_RECORD_MORE) {
		note_part(c, &item);
		hv_merge_skip(c->merge, cpu, now_ns, until_of(c));
		if (!hv_merge_peek(c->merge, cpu, now_ns, until_of(c), &item) || item.lost_before)
			return false;
	}
	if (!hv_record_is_event(&item.record))
		return false;
	decode(c, &item, ret);
	return true;
}

void hv_cursor_skip(struct hv_cursor *c, unsigned cpu)
{
	hv_merge_skip(c->merge, cpu, hv_now_ns(), until_of(c));
	c->returned[cpu - c->first_cpu].nr_read++;
}

void hv_cursor_consume(struct hv_cursor *c)
{
	HV_AUTO_FREE struct hv_merge_mark *marks = hv_alloc(c->nr_cpus * sizeof(*marks));

	hv_merge_marks(c->merge, marks);
	for (unsigned i = 0; i < c->nr_cpus; i++) {
		struct hv_buffer_cpu *cpu = &c->buffer->cpus[c->first_cpu + i];

		if (is_cleared(c, i))
			continue;
		cpu->mark = marks[i];
		cpu->nr_lost += c->returned[i].nr_lost;
		cpu->nr_read += c->returned[i].nr_read;
		c->buffer->decoder->nr_lost += c->returned[i].nr_lost;
		c->returned[i] = (struct hv_buffer_cpu){0};
	}
}

const struct hv_record *hv_cursor_records(const struct hv_cursor *c, unsigned *ret_nr)
{
	*ret_nr = c->nr_records;
	return c->records;
}

void hv_buffer_stat(struct hv_buffer *b, int only_cpu, size_t (*len_of)(const struct hv_event *),
		    struct hv_buffer_stat *ret)
{
	struct hv_cursor *c = hv_cursor_new(b, only_cpu, HV_CURSOR_DUMP);
	struct hv_buffer_stat stat = {0};
	struct hv_event event;

	while (hv_cursor_next(c, &event) == HV_NEXT_EVENT) {
		if (!stat.entries++)
			stat.oldest_ns = event.time_ns;
		stat.youngest_ns = event.time_ns;
		stat.bytes += len_of ? len_of(&event) : 0;
	}
	stat.overrun = hv_merge_lost(c->merge);
	for (unsigned i = 0; i < c->nr_cpus; i++) {
		stat.overrun +=
			b->cpus[c->first_cpu + i].nr_lost + b->cpus[c->first_cpu + i].mark.lost;
		stat.read += b->cpus[c->first_cpu + i].nr_read;
		stat.dropped += b->cpus[c->first_cpu + i].nr_dropped;
	}
	hv_cursor_free(c);
	*ret = stat;
}
