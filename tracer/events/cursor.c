/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/events/cursor.h"

#include <string.h>

#include "base/clock.h"
#include "base/guard.h"
#include "tracer/events/buffer_state.h"
#include "tracer/events/decoder.h"
#include "tracer/events/host_event.h"

struct hv_cursor {
	struct hv_buffer *buffer; /* the cursor holds a reference */
	struct hv_merge *merge;
	enum hv_cursor_mode mode;
	struct hv_lanes lanes;		 /* merged lanes; the merge calls their numbers vCPUs */
	struct hv_buffer_lane *returned; /* owned, per lane: returned since the last consume */
	struct hv_parts *parts; /* owned, per lane: parts of an event that is not yet returned */
	/* Memory that events borrow. Consecutive events use alternate elements. */
	struct storage {
		struct hv_gva callers[HV_CALLERS_MAX];
		uint8_t entry[HV_ENTRY_LEN_MAX];
	} storage[2];
	unsigned current;	   /* index for the last event */
	uint64_t no_markers;	   /* lane 0's head when no marker was left in it */
	unsigned run_lane;	   /* lane of the last hv_cursor_briefs() */
	const struct hv_kept *run; /* its records, borrowed from the merge */
	unsigned *nr_clears;	   /* owned, per lane: the buffer's value when the merge began */
	unsigned nr_all_clears;	   /* the buffer's value for all lanes */
	struct hv_merge_checkpoint *checkpoints; /* owned, per lane, for hv_cursor_consume() */
	struct hv_merge_item item;		 /* the last event */
	struct hv_record records[HV_EVENT_RECORDS_MAX]; /* of the last event, if it has parts */
	unsigned nr_records;
};

/* A drain orders events by the guest's clock, whatever clock the buffer shows. */
static enum hv_trace_clock clock_of(const struct hv_cursor *c)
{
	return c->mode == HV_CURSOR_DRAIN ? HV_TRACE_CLOCK_GUEST : c->buffer->clock;
}

static void clock_ns(void *ctx, unsigned lane, uint64_t *times, size_t nr)
{
	const struct hv_cursor *c = ctx;

	hv_clocks_events_ns(c->buffer->decoder->clocks, clock_of(c), hv_cpu_of_lane(lane), times,
			    nr);
}

/* Like clock_ns(), for durations. If the buffer shows the time stamp counter, durations are still
 * in ns of the guest's clock, as in the guest's own trace. */
static void span_clock_ns(const struct hv_cursor *c, unsigned lane, uint64_t *times, size_t nr)
{
	enum hv_trace_clock clock = clock_of(c);

	hv_clocks_events_ns(c->buffer->decoder->clocks,
			    clock == HV_TRACE_CLOCK_TSC ? HV_TRACE_CLOCK_GUEST : clock,
			    hv_cpu_of_lane(lane), times, nr);
}

/* Returns the time of the call that ended with EXIT at TIME_NS. TIME_NS was computed when the
 * record was read, and a clock's parameters may have changed since, so both ends of the duration
 * are converted again. */
static uint64_t call_ns(const struct hv_cursor *c, unsigned lane, const struct hv_record *exit,
			uint64_t time_ns)
{
	uint64_t ends[] = {hv_record_call_tsc(exit), hv_record_tsc(exit)};

	span_clock_ns(c, lane, ends, HV_ARRAY_LEN(ends));
	return time_ns - (ends[1] - ends[0]);
}

/* Starts merging at CHECKPOINTS, one per lane. */
static void begin(struct hv_cursor *c, const struct hv_merge_checkpoint *checkpoints)
{
	HV_AUTO_FREE struct hv_ring *rings = hv_alloc(c->lanes.nr * sizeof(*rings));

	for (unsigned i = 0; i < c->lanes.nr; i++) {
		hv_buffer_ring(c->buffer, c->lanes.first + i, &rings[i]);
		c->nr_clears[i] = c->buffer->lanes[c->lanes.first + i].nr_clears;
	}
	c->nr_all_clears = c->buffer->nr_clears;
	c->no_markers = UINT64_MAX;
	for (unsigned i = 0; i < c->lanes.nr; i++)
		c->parts[i].nr = 0;
	hv_merge_free(c->merge);
	c->merge = hv_merge_new(rings, c->lanes.first, c->lanes.nr, checkpoints,
				(struct hv_merge_clock){clock_ns, c});
	if (c->mode == HV_CURSOR_DUMP || c->mode == HV_CURSOR_TAKE)
		hv_merge_stop_here(c->merge);
}

static bool is_cleared(const struct hv_cursor *c, unsigned i)
{
	return c->nr_clears[i] != c->buffer->lanes[c->lanes.first + i].nr_clears;
}

/* Continues after the clear in cleared lanes, and at the present position in the others. */
static void follow_clears(struct hv_cursor *c)
{
	HV_AUTO_FREE struct hv_merge_checkpoint *checkpoints = NULL;
	unsigned nr = 0;

	c->nr_all_clears = c->buffer->nr_clears;
	for (unsigned i = 0; c->mode == HV_CURSOR_DRAIN && i < c->lanes.nr; i++)
		c->nr_clears[i] = c->buffer->lanes[c->lanes.first + i].nr_clears;
	for (unsigned i = 0; i < c->lanes.nr; i++)
		nr += is_cleared(c, i);
	if (!nr)
		return;
	checkpoints = hv_alloc(c->lanes.nr * sizeof(*checkpoints));
	hv_merge_checkpoints(c->merge, checkpoints);
	for (unsigned i = 0; i < c->lanes.nr; i++) {
		if (!is_cleared(c, i))
			continue;
		checkpoints[i] = c->buffer->lanes[c->lanes.first + i].consumed;
		c->returned[i] = (struct hv_buffer_lane){0};
	}
	begin(c, checkpoints);
}

struct hv_cursor *hv_cursor_new(struct hv_buffer *b, int only_cpu, enum hv_cursor_mode mode)
{
	HV_AUTO_FREE struct hv_merge_checkpoint *checkpoints = NULL;
	struct hv_cursor *c = hv_alloc(sizeof(*c));

	c->buffer = hv_buffer_ref(b);
	c->lanes = hv_lanes_of(b, only_cpu);
	c->mode = mode;
	c->nr_clears = hv_alloc(c->lanes.nr * sizeof(*c->nr_clears));
	c->returned = hv_alloc(c->lanes.nr * sizeof(*c->returned));
	checkpoints = hv_alloc(c->lanes.nr * sizeof(*checkpoints));
	for (unsigned i = 0; i < c->lanes.nr; i++)
		checkpoints[i] = b->lanes[c->lanes.first + i].consumed;
	c->parts = hv_alloc(c->lanes.nr * sizeof(*c->parts));
	c->checkpoints = hv_alloc(c->lanes.nr * sizeof(*c->checkpoints));
	begin(c, checkpoints);
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
	free(c->checkpoints);
	hv_buffer_unref(c->buffer);
	free(c);
}

static struct hv_parts *parts_at(const struct hv_cursor *c, unsigned lane)
{
	return &c->parts[lane - c->lanes.first];
}

static void note_part(struct hv_cursor *c, const struct hv_merge_item *item)
{
	hv_parts_add(parts_at(c, item->cpu), &item->record, item->position, item->run);
}

/* Returns the parts of the event ITEM. NULL: none, or some are missing. */
static inline const struct hv_parts *parts_of(const struct hv_cursor *c,
					      const struct hv_merge_item *item)
{
	const struct hv_parts *parts = parts_at(c, item->cpu);

	if (!parts->nr)
		return NULL;
	return hv_parts_are_of(parts, &item->record, item->position, item->run) ? parts : NULL;
}

/* Sets the call time of the exit RET, whose own time is known. */
static void decode_call(const struct hv_cursor *c, const struct hv_merge_item *item,
			struct hv_event *ret)
{
	ret->call_ns = call_ns(c, item->cpu, &item->record, item->time_ns);
	if (ret->host_ns > ret->time_ns - ret->call_ns)
		ret->host_ns = ret->time_ns - ret->call_ns;
}

/* Decodes everything except the name of the task. */
static inline void decode(struct hv_cursor *c, const struct hv_merge_item *item,
			  const struct hv_parts *parts, struct hv_event *ret)
{
	hv_decoder_event(c->buffer->decoder, &item->record, parts, ret);
	ret->cpu = hv_cpu_of_lane(item->cpu);
	ret->time_ns = item->time_ns;
	ret->lost_before = item->lost_before;
	if (ret->kind == HV_EVENT_GRAPH_EXIT)
		decode_call(c, item, ret);
	else if (ret->kind == HV_EVENT_GUESTS && hv_host_event_is(ret->id))
		hv_host_event_decode(&item->record, ret);
}

/* PARTS may be NULL. */
static inline void note_records(struct hv_cursor *c, const struct hv_parts *parts)
{
	c->nr_records = 0;
	for (unsigned i = 0; parts && i < parts->nr; i++)
		c->records[c->nr_records++] = parts->list[i];
	if (parts)
		c->records[c->nr_records++] = c->item.record;
}

static bool is_guests(const struct hv_merge_item *item)
{
	return hv_record_kind(&item->record) == HV_RECORD_EVENT;
}

static struct storage *next_storage(struct hv_cursor *c)
{
	return &c->storage[c->current ^= 1];
}

static void fill_entry(struct hv_cursor *c, const struct hv_parts *parts, struct hv_event *e)
{
	struct hv_decode decode = c->buffer->decoder->decode;

	if (hv_host_event_is(e->id)) /* host entries do not have the layout of the guest's kernel */
		decode.lazy_count_off = 0;
	hv_decode_entry(&decode, &c->item.record, parts ? parts->list : NULL, e,
			next_storage(c)->entry);
}

/* Fills in the data of the item's event that the cursor stores. */
static inline void fill_storage(struct hv_cursor *c, const struct hv_parts *parts,
				struct hv_event *e)
{
	if (is_guests(&c->item))
		fill_entry(c, parts, e);
	else if (e->kind == HV_EVENT_STACK && c->mode != HV_CURSOR_DRAIN &&
		 c->mode != HV_CURSOR_TAKE)
		hv_decoder_callers(c->buffer->decoder, parts, next_storage(c)->callers, e);
}

static bool is_hosts(const struct hv_merge_item *item)
{
	return is_guests(item) && hv_host_event_is(hv_record_event_id(&item->record));
}

static inline bool needs_name(const struct hv_cursor *c, const struct hv_merge_item *item)
{
	return c->mode != HV_CURSOR_UNNAMED && hv_record_kind(&item->record) != HV_RECORD_MARK &&
	       !is_hosts(item);
}

/* Returns whether the item is in a guest's ring but claims to come from the host. */
static inline bool is_forged(const struct hv_cursor *c)
{
	bool claims = hv_record_kind(&c->item.record) == HV_RECORD_MARK || is_hosts(&c->item);

	return claims && c->buffer->markers && c->item.cpu;
}

/* Returns false if the item is a guest event with missing parts. */
static bool has_all(const struct hv_cursor *c, const struct hv_parts *parts)
{
	const struct hv_record *record = &c->item.record;

	return !is_guests(&c->item) ||
	       (hv_record_has_entry(record) && (parts || !hv_record_number(record)));
}

/* Completes the event of the item, which is returned. Returns false if it is unusable. */
static inline bool finish(struct hv_cursor *c, struct hv_event *ret)
{
	const struct hv_merge_item *item = &c->item;
	const struct hv_parts *parts = parts_of(c, item);
	struct hv_buffer_lane *returned = &c->returned[item->cpu - c->lanes.first];

	if (is_forged(c) || !has_all(c, parts)) {
		parts_at(c, item->cpu)->nr = 0;
		hv_merge_lose(c->merge, item);
		return false;
	}
	decode(c, item, parts, ret);
	note_records(c, parts);
	fill_storage(c, parts, ret);
	if (needs_name(c, item))
		hv_decoder_name_task(c->buffer->decoder, ret);
	parts_at(c, item->cpu)->nr = 0;
	returned->nr_lost += item->lost_before;
	returned->nr_read++;
	return true;
}

/* The last record is the stack's own. */
void hv_cursor_callers(const struct hv_cursor *c, struct hv_gva *list, struct hv_event *e)
{
	struct hv_parts words = {.nr = c->nr_records ? c->nr_records - 1 : 0};

	memcpy(words.list, c->records, words.nr * sizeof(words.list[0]));
	hv_decoder_callers(c->buffer->decoder, words.nr ? &words : NULL, list, e);
}

void hv_cursor_words(const struct hv_cursor *c, struct hv_stack_words *ret)
{
	hv_decode_words(&c->buffer->decoder->decode, c->records,
			c->nr_records ? c->nr_records - 1 : 0, ret);
}

static enum hv_merge_until until_of(const struct hv_cursor *c)
{
	return c->mode == HV_CURSOR_DUMP ? HV_MERGE_FINAL : HV_MERGE_LIVE;
}

/* Most records have already been read, so avoid reading the time. */
static inline bool next_item(struct hv_cursor *c)
{
	return hv_merge_take(c->merge, &c->item) ||
	       hv_merge_next(c->merge, hv_last_tick_ns(), until_of(c), &c->item);
}

/* Does not replace a name by an older one: a drain has noted the names in host memory, and a dump
 * of the guest's rings looks for the latest ones first (hv_buffer_note_names). */
static void note_task(struct hv_cursor *c)
{
	struct hv_decoder *decoder = c->buffer->decoder;

	if (c->buffer->memory || c->mode == HV_CURSOR_DUMP)
		hv_decoder_note_old_task(decoder, &c->item.record);
	else
		hv_decoder_note_task(decoder, &c->item.record);
}

enum hv_next hv_cursor_next(struct hv_cursor *c, struct hv_event *ret)
{
	if (c->nr_all_clears != c->buffer->nr_clears)
		follow_clears(c);
	while (next_item(c)) {
		if (hv_record_is_event(&c->item.record)) {
			if (finish(c, ret))
				return HV_NEXT_EVENT;
			continue;
		}
		switch (hv_record_kind(&c->item.record)) {
		case HV_RECORD_TASK:
			note_task(c);
			break;
		case HV_RECORD_COMMAND:
			/* Only a drain returns commands. */
			decode(c, &c->item, NULL, ret);
			note_records(c, NULL);
			if (c->mode == HV_CURSOR_DRAIN)
				return HV_NEXT_EVENT;
			break;
		default:
			note_part(c, &c->item);
		}
	}
	return HV_NEXT_EMPTY;
}

/* Converts the call times of BRIEFS from counter values, like call_ns(). */
static void convert_calls(const struct hv_cursor *c, unsigned lane, const struct hv_kept *kept,
			  struct hv_brief *briefs, size_t nr)
{
	uint64_t ends[2 * HV_BRIEFS_MAX]; /* pairs: call and return */
	size_t nr_ends = 0;

	for (size_t i = 0; i < nr; i++) {
		if (briefs[i].kind != HV_EVENT_GRAPH_EXIT)
			continue;
		ends[nr_ends++] = briefs[i].call_ns;
		ends[nr_ends++] = hv_record_tsc(&kept[i].record);
	}
	if (!nr_ends)
		return;
	span_clock_ns(c, lane, ends, nr_ends);
	nr_ends = 0;
	for (size_t i = 0; i < nr; i++) {
		if (briefs[i].kind != HV_EVENT_GRAPH_EXIT)
			continue;
		briefs[i].call_ns = kept[i].time_ns - (ends[nr_ends + 1] - ends[nr_ends]);
		nr_ends += 2;
	}
}

/* Finds the next records of one vCPU that may be returned, at most MAX, and returns their number.
 * Excludes events with parts: parts are not events and end the run. */
static inline size_t find_run(struct hv_cursor *c, size_t max)
{
	size_t nr;

	if (c->nr_all_clears != c->buffer->nr_clears)
		return 0;
	c->run = hv_merge_run(c->merge, max < HV_BRIEFS_MAX ? max : HV_BRIEFS_MAX, &c->run_lane,
			      &nr);
	return c->run && !parts_at(c, c->run_lane)->nr ? nr : 0;
}

size_t hv_cursor_briefs(struct hv_cursor *c, size_t max, unsigned kinds, struct hv_brief *ret)
{
	size_t nr = find_run(c, max);

	if (!nr)
		return 0;
	nr = hv_decode_briefs(&c->buffer->decoder->decode, &c->run->record, sizeof(*c->run), nr,
			      kinds, ret);
	for (size_t i = 0; i < nr; i++)
		ret[i].time_ns = c->run[i].time_ns;
	convert_calls(c, c->run_lane, c->run, ret, nr);
	return nr;
}

const struct hv_kept *hv_cursor_brief_records(const struct hv_cursor *c, unsigned *ret_cpu)
{
	*ret_cpu = hv_cpu_of_lane(c->run_lane);
	return c->run;
}

void hv_cursor_take_briefs(struct hv_cursor *c, size_t nr)
{
	if (!nr)
		return;
	hv_merge_take_run(c->merge, nr);
	c->returned[c->run_lane - c->lanes.first].nr_read += nr;
}

/* Returns whether a marker precedes an event of vCPU 0 at TIME_NS. Usually there are no markers,
 * and none is added before the next call. */
static bool mark_comes_first(struct hv_cursor *c, unsigned cpu, uint64_t time_ns)
{
	struct hv_merge_item marker;
	struct hv_ring markers;
	uint64_t head;

	if (cpu || c->lanes.first)
		return false;
	hv_buffer_ring(c->buffer, 0, &markers);
	head = hv_ring_head(&markers);
	if (head == c->no_markers)
		return false;
	if (hv_merge_peek(c->merge, 0, hv_last_tick_ns(), until_of(c), &marker))
		return marker.time_ns <= time_ns;
	c->no_markers = head;
	return false;
}

/* Takes a record that precedes an exit, in order to look at the exit. */
bool hv_cursor_peek(struct hv_cursor *c, unsigned cpu, struct hv_event *ret)
{
	unsigned lane = hv_lane_of_cpu(cpu);
	uint64_t now_ns = hv_last_tick_ns();
	struct hv_merge_item item;

	if (!hv_merge_peek(c->merge, lane, now_ns, until_of(c), &item) || item.lost_before)
		return false;
	if (mark_comes_first(c, cpu, item.time_ns))
		return false;
	if (hv_record_kind(&item.record) == HV_RECORD_MORE) {
		note_part(c, &item);
		hv_merge_skip(c->merge, lane, now_ns, until_of(c));
		if (!hv_merge_peek(c->merge, lane, now_ns, until_of(c), &item) || item.lost_before)
			return false;
	}
	if (!hv_record_is_event(&item.record))
		return false;
	decode(c, &item, parts_of(c, &item), ret);
	return true;
}

void hv_cursor_skip(struct hv_cursor *c, unsigned cpu)
{
	unsigned lane = hv_lane_of_cpu(cpu);

	hv_merge_skip(c->merge, lane, hv_last_tick_ns(), until_of(c));
	c->returned[lane - c->lanes.first].nr_read++;
}

void hv_cursor_consume(struct hv_cursor *c)
{
	hv_merge_checkpoints(c->merge, c->checkpoints);
	for (unsigned i = 0; i < c->lanes.nr; i++) {
		struct hv_buffer_lane *lane = &c->buffer->lanes[c->lanes.first + i];

		if (is_cleared(c, i))
			continue;
		lane->consumed = c->checkpoints[i];
		lane->nr_lost += c->returned[i].nr_lost;
		lane->nr_read += c->returned[i].nr_read;
		c->buffer->decoder->nr_lost += c->returned[i].nr_lost;
		c->returned[i] = (struct hv_buffer_lane){0};
	}
}

const struct hv_record *hv_cursor_records(const struct hv_cursor *c, unsigned *ret_nr)
{
	*ret_nr = c->nr_records ? c->nr_records : 1;
	return c->nr_records ? c->records : &c->item.record;
}

struct hv_record hv_cursor_last_record(const struct hv_cursor *c)
{
	unsigned nr;
	const struct hv_record *records = hv_cursor_records(c, &nr);

	return records[nr - 1];
}

static void count(struct hv_buffer_stat *stat, uint64_t first_ns, uint64_t last_ns, size_t nr)
{
	if (!stat->entries)
		stat->oldest_ns = first_ns;
	stat->youngest_ns = last_ns;
	stat->entries += nr;
}

/* Counts the next calls and returns without decoding them. Returns how many. */
static size_t count_calls(struct hv_cursor *c, struct hv_buffer_stat *stat)
{
	size_t nr_run = find_run(c, HV_BRIEFS_MAX), nr = 0;

	while (nr < nr_run && hv_record_is_call(&c->run[nr].record))
		nr++;
	if (nr)
		count(stat, c->run[0].time_ns, c->run[nr - 1].time_ns, nr);
	hv_cursor_take_briefs(c, nr);
	return nr;
}

void hv_buffer_stat(struct hv_buffer *b, int only_cpu, size_t (*len_of)(const struct hv_event *),
		    struct hv_buffer_stat *ret)
{
	struct hv_cursor *c = hv_cursor_new(b, only_cpu, HV_CURSOR_DUMP);
	struct hv_buffer_stat stat = {0};
	struct hv_event event;

	for (;;) {
		while (!len_of && count_calls(c, &stat))
			;
		if (hv_cursor_next(c, &event) != HV_NEXT_EVENT)
			break;
		count(&stat, event.time_ns, event.time_ns, 1);
		stat.bytes += len_of ? len_of(&event) : 0;
	}
	stat.overrun = hv_merge_lost(c->merge);
	for (unsigned i = 0; i < c->lanes.nr; i++) {
		stat.overrun += b->lanes[c->lanes.first + i].nr_lost +
				b->lanes[c->lanes.first + i].consumed.lost;
		stat.read += b->lanes[c->lanes.first + i].nr_read;
		stat.dropped += b->lanes[c->lanes.first + i].nr_dropped;
	}
	hv_cursor_free(c);
	*ret = stat;
}
