/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/lib/fake_buffer.h"

#include <string.h>

#include "base/guard.h"
#include "kernel/tasks/unwind.h"
#include "tree/format/raw_page.h"

struct hv_cursor {
	struct hv_buffer *buffer;
	enum hv_cursor_mode mode;
	int only_cpu;
	size_t at;
	struct hv_event brief;		 /* last event returned by hv_cursor_briefs() */
	size_t brief_end;		 /* the index after that event */
	size_t taken;			 /* events before this index are consumed */
	size_t end;			 /* a dump stops here */
	size_t skipped[HV_FAKE_NR_CPUS]; /* per CPU: events before this index were skipped */
};

void fake_buffer_put(struct hv_buffer *b, const struct hv_event *e)
{
	b->events = hv_realloc_array(b->events, b->nr_events + 1, sizeof(*e));
	b->gone = hv_realloc_array(b->gone, b->nr_events + 1, 1);
	b->gone[b->nr_events] = 0;
	b->events[b->nr_events] = *e;
	if (e->text)
		b->events[b->nr_events].text =
			memcpy(hv_alloc(e->text_len + 1), e->text, e->text_len);
	if (e->entry.data)
		b->events[b->nr_events].entry.data =
			memcpy(hv_alloc(e->entry.len_bytes), e->entry.data, e->entry.len_bytes);
	if (e->results)
		b->events[b->nr_events].results =
			memcpy(hv_alloc(e->results_len), e->results, e->results_len);
	if (e->callers)
		b->events[b->nr_events].callers =
			memcpy(hv_alloc(e->nr_callers * sizeof(*e->callers)), e->callers,
			       e->nr_callers * sizeof(*e->callers));
	b->nr_events++;
}

void fake_buffer_deinit(struct hv_buffer *b)
{
	for (size_t i = 0; i < b->nr_events; i++) {
		free((char *)b->events[i].text);
		free((uint8_t *)b->events[i].entry.data);
		free((uint8_t *)b->events[i].results);
		free((struct hv_gva *)b->events[i].callers);
	}
	free(b->events);
	free(b->gone);
}

uint64_t hv_buffer_unread(const struct hv_buffer *b, unsigned cpu)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < b->nr_events; i++)
		nr += !b->gone[i] && b->events[i].cpu == cpu;
	return nr * 1024 < hv_buffer_size(b, cpu) ? nr * 1024 : hv_buffer_size(b, cpu);
}

struct hv_err *hv_buffer_new(const struct hv_buffer *beside, const uint64_t *sizes_bytes,
			     struct hv_buffer **ret)
{
	struct hv_buffer *b;

	for (unsigned cpu = 0; cpu < beside->nr_cpus; cpu++)
		if (sizes_bytes[cpu] > 1 << 30)
			return hv_err_new(ENOMEM, "no memory for %u buffers", beside->nr_cpus);
	b = hv_alloc(sizeof(*b));
	b->nr_cpus = beside->nr_cpus;
	memcpy(b->sizes_bytes, sizes_bytes, b->nr_cpus * sizeof(*sizes_bytes));
	b->nr_refs = 1;
	*ret = b;
	return NULL;
}

struct hv_buffer *hv_buffer_ref(struct hv_buffer *b)
{
	b->nr_refs += b->nr_refs > 0;
	return b;
}

void hv_buffer_unref(struct hv_buffer *b)
{
	if (!b || !b->nr_refs || --b->nr_refs)
		return;
	fake_buffer_deinit(b);
	free(b);
}

uint64_t hv_buffer_size(const struct hv_buffer *b, unsigned cpu)
{
	return b->sizes_bytes[cpu % HV_FAKE_NR_CPUS];
}

void hv_buffer_use_clock(struct hv_buffer *b hv_unused, enum hv_trace_clock clock hv_unused)
{
	/* The events of a fake buffer have fixed times. */
}

void hv_buffer_when_full(struct hv_buffer *b, enum hv_when_full what)
{
	b->when_full = what;
}

/* A vCPU's part of a fake buffer holds one event per KiB. As in a real buffer, an event keeps its
 * own depth. */
void hv_buffer_put(struct hv_buffer *b, const struct hv_cursor *cursor hv_unused,
		   const struct hv_event *event)
{
	struct hv_event kept = *event;
	size_t nr = 0;

	kept.preempt_depth = (uint8_t)(kept.preempt_depth + kept.deeper);
	for (size_t i = 0; i < b->nr_events; i++)
		nr += !b->gone[i] && b->events[i].cpu == event->cpu;
	if (b->when_full == HV_FULL_DROPS && nr >= hv_buffer_size(b, event->cpu) / 1024)
		b->dropped++;
	else
		fake_buffer_put(b, &kept);
}

void hv_buffer_put_late(struct hv_buffer *b, const struct hv_record *of hv_unused,
			const struct hv_cursor *cursor, const struct hv_event *event)
{
	hv_buffer_put(b, cursor, event);
}

struct hv_record hv_cursor_last_record(const struct hv_cursor *c hv_unused)
{
	return (struct hv_record){0};
}

struct hv_cursor *hv_cursor_new(struct hv_buffer *b, int only_cpu, enum hv_cursor_mode mode)
{
	struct hv_cursor *c = hv_alloc(sizeof(*c));

	*c = (struct hv_cursor){.buffer = hv_buffer_ref(b),
				.mode = mode,
				.only_cpu = only_cpu,
				.end = b->nr_events};
	return c;
}

void hv_cursor_free(struct hv_cursor *c)
{
	if (c)
		hv_buffer_unref(c->buffer);
	free(c);
}

struct hv_marker_time hv_buffer_put_marker(struct hv_buffer *b, enum hv_event_kind kind,
					   const char *bytes, size_t len_bytes)
{
	const struct hv_event *last = b->nr_events ? &b->events[b->nr_events - 1] : NULL;

	fake_buffer_put(b, &(struct hv_event){.kind = kind,
					      .time_ns = last ? last->time_ns + 1000 : 1000,
					      .comm = "hvtrace",
					      .text = bytes ? bytes : "",
					      .text_len = len_bytes});
	return (struct hv_marker_time){0, b->events[b->nr_events - 1].time_ns};
}

void hv_buffer_put_made(struct hv_buffer *b, uint64_t tsc, const struct hv_event *e)
{
	(void)tsc;
	fake_buffer_put(b, e);
}

static bool is_of(const struct hv_buffer *b, size_t event, int only_cpu)
{
	return only_cpu < 0 || b->events[event].cpu == (unsigned)only_cpu;
}

static size_t *skipped_of(struct hv_cursor *c, unsigned cpu)
{
	return &c->skipped[cpu % HV_FAKE_NR_CPUS];
}

enum hv_next hv_cursor_next(struct hv_cursor *c, struct hv_event *ret)
{
	struct hv_buffer *b = c->buffer;
	size_t end = c->mode == HV_CURSOR_DUMP ? c->end : b->nr_events;

	while (c->at < end) {
		size_t at = c->at++;

		if (b->gone[at] || !is_of(b, at, c->only_cpu) ||
		    at < *skipped_of(c, b->events[at].cpu))
			continue;
		*ret = b->events[at];
		if (ret->kind != HV_EVENT_COMMAND || c->mode == HV_CURSOR_DRAIN)
			return HV_NEXT_EVENT;
	}
	return HV_NEXT_EMPTY;
}

static bool is_brief(const struct hv_event *e, unsigned kinds)
{
	return kinds & HV_BRIEF_KIND(e->kind) && !e->lost_before && !e->overrun && !e->has_retval &&
	       !e->of_section && !e->host_ns;
}

/* Returns one event per call. */
size_t hv_cursor_briefs(struct hv_cursor *c, size_t max, unsigned kinds, struct hv_brief *ret)
{
	size_t at = c->at;
	struct hv_event e = {0};
	enum hv_next next = hv_cursor_next(c, &e);

	c->brief = e;
	c->brief_end = c->at;
	c->at = at;
	if (!max || next != HV_NEXT_EVENT || !is_brief(&e, kinds))
		return 0;
	*ret = (struct hv_brief){.time_ns = e.time_ns,
				 .ip = e.ip,
				 .parent_ip = e.parent_ip,
				 .call_ns = e.call_ns,
				 .pid = e.pid,
				 .depth = e.depth,
				 .kind = (uint8_t)e.kind,
				 .flags = e.flags,
				 .preempt_depth = e.preempt_depth,
				 .migrate_depth = e.migrate_depth,
				 .lazy_depth = e.lazy_depth};
	return 1;
}

const struct hv_kept *hv_cursor_brief_records(const struct hv_cursor *c, unsigned *ret_cpu)
{
	*ret_cpu = c->brief.cpu;
	return NULL;
}

void hv_buffer_put_briefs(struct hv_buffer *b, const struct hv_cursor *cursor,
			  const struct hv_brief *briefs, uint64_t which)
{
	struct hv_event event = cursor->brief;

	event.depth = briefs->depth;
	if (which)
		hv_buffer_put(b, cursor, &event);
}

void hv_cursor_take_briefs(struct hv_cursor *c, size_t nr)
{
	if (nr)
		c->at = c->brief_end;
}

static size_t take_away(struct hv_buffer *b, size_t from, size_t to, int only_cpu)
{
	size_t nr = 0;

	for (size_t i = from; i < to; i++) {
		if (b->gone[i] || !is_of(b, i, only_cpu))
			continue;
		b->gone[i] = 1;
		nr++;
	}
	return nr;
}

/* Events already contain their callers. */
void hv_cursor_callers(const struct hv_cursor *c hv_unused, struct hv_gva *list hv_unused,
		       struct hv_event *e hv_unused)
{
}

/* Puts a caller at every other word, up to the end of a 16 KiB stack. */
void hv_cursor_words(const struct hv_cursor *c, struct hv_stack_words *ret)
{
	const struct hv_event *e = &c->buffer->events[c->at - 1];

	*ret = (struct hv_stack_words){.sp = 0x14000 - 16 * (uint32_t)(e->nr_callers - 1)};
	for (; ret->nr + 1 < e->nr_callers; ret->nr++) {
		ret->list[ret->nr].at = ret->sp + 16 * (uint32_t)ret->nr;
		ret->list[ret->nr].value = (uint32_t)e->callers[ret->nr + 1].v & 0x7fffffff;
		ret->list[ret->nr].is_text = true;
	}
}

/* Returns the index of the next event of CPU, or SIZE_MAX. */
static size_t next_of(struct hv_cursor *c, unsigned cpu)
{
	const struct hv_buffer *b = c->buffer;
	size_t end = c->mode == HV_CURSOR_DUMP ? c->end : b->nr_events;

	for (size_t i = c->at; i < end; i++)
		if (b->events[i].cpu == cpu && !b->gone[i] && i >= *skipped_of(c, cpu))
			return i;
	return SIZE_MAX;
}

bool hv_cursor_peek(struct hv_cursor *c, unsigned cpu, struct hv_event *ret)
{
	size_t i = next_of(c, cpu);

	if (i == SIZE_MAX || c->buffer->events[i].lost_before)
		return false;
	*ret = c->buffer->events[i];
	return true;
}

void hv_cursor_skip(struct hv_cursor *c, unsigned cpu)
{
	size_t i = next_of(c, cpu);

	if (i != SIZE_MAX)
		*skipped_of(c, cpu) = i + 1;
}

void hv_cursor_consume(struct hv_cursor *c)
{
	c->buffer->read += take_away(c->buffer, c->taken, c->at, c->only_cpu);
	c->taken = c->at;
	for (unsigned cpu = 0; cpu < HV_FAKE_NR_CPUS; cpu++)
		if (c->skipped[cpu] > c->at)
			c->buffer->read +=
				take_away(c->buffer, c->skipped[cpu] - 1, c->skipped[cpu], -1);
}

void hv_buffer_move(struct hv_buffer *from, int only_cpu, struct hv_buffer *to)
{
	for (size_t i = 0; i < from->nr_events; i++) {
		if (from->gone[i] || !is_of(from, i, only_cpu))
			continue;
		fake_buffer_put(to, &from->events[i]);
		from->gone[i] = 1;
	}
	to->overrun += from->overrun;
	to->read += from->read;
	from->overrun = from->read = 0;
}

/* Events already contain their names. */
void hv_buffer_note_names(struct hv_buffer *b hv_unused)
{
}

void hv_buffer_clear(struct hv_buffer *b, int only_cpu)
{
	take_away(b, 0, b->nr_events, only_cpu);
	b->overrun = b->read = b->dropped = 0;
}

void hv_buffer_stat(struct hv_buffer *b, int only_cpu,
		    size_t (*len_of)(const struct hv_event *) hv_unused, struct hv_buffer_stat *ret)
{
	*ret = (struct hv_buffer_stat){
		.overrun = b->overrun, .read = b->read, .dropped = b->dropped};
	for (size_t i = 0; i < b->nr_events; i++) {
		if (b->gone[i] || !is_of(b, i, only_cpu))
			continue;
		if (!ret->entries++)
			ret->oldest_ns = b->events[i].time_ns;
		ret->youngest_ns = b->events[i].time_ns;
		ret->bytes += hv_raw_event_len(&b->events[i]);
	}
}
