/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/sections/section_log.h"

#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "kernel/kernel.h"
#include "ringbuf/ring.h"
#include "tracer/events/decoder.h"

/* -- records of a section ---------------------------------------------------------------------- */

/* Enough for a stack, a task record before it, and records of interrupts in between. */
#define STACK_RECORDS_MAX 1024

static struct hv_ring ring_of(const struct hv_section_ring *r)
{
	struct hv_ring ring;

	hv_ring_init(&ring, r->state, (const struct hv_record *)(r->state + 1), r->nr_slots);
	return ring;
}

static uint64_t position_of(const struct hv_section_ring *r, uint64_t head)
{
	return head / sizeof(struct hv_record) - r->nr_slots;
}

/* Returns false if there is no complete record, or if it was overwritten. */
static bool read_at(struct hv_ring *ring, uint64_t position, struct hv_record *ret)
{
	uint64_t lost;

	ring->position = position;
	return hv_ring_read(ring, 0, ret, &lost) == HV_RING_RECORD;
}

static uint64_t ns_of(const struct hv_section_ring *r, uint64_t tsc)
{
	return hv_clocks_event_ns(r->decoder->clocks, HV_TRACE_CLOCK_GUEST, r->cpu, tsc);
}

static void decode(const struct hv_section_ring *r, const struct hv_record *record,
		   struct hv_event *ret)
{
	hv_decoder_event(r->decoder, record, NULL, ret);
	ret->cpu = r->cpu;
	ret->time_ns = ns_of(r, hv_record_tsc(record));
	if (ret->kind == HV_EVENT_GRAPH_EXIT)
		ret->call_ns = ns_of(r, hv_record_call_tsc(record));
	hv_decoder_name_task(r->decoder, ret);
}

/* The task record of the section's task may be so old that the ring no longer contains it. */
static void name(const struct hv_section *section, struct hv_event *event)
{
	if (event->pid == section->to.pid)
		memcpy(event->comm, section->to.comm, sizeof(event->comm));
}

/* Excludes the two ends of the section, which are already known. */
static bool is_call(const struct hv_event *event)
{
	return event->kind == HV_EVENT_GRAPH_ENTRY || event->kind == HV_EVENT_GRAPH_EXIT ||
	       (event->kind == HV_EVENT_FUNCTION && !event->of_section);
}

void hv_section_log_calls(const struct hv_section_ring *r, const struct hv_sections *kept,
			  hv_section_wants wants, void *ctx, struct hv_section *ret)
{
	struct hv_ring ring = ring_of(r);
	uint64_t from = position_of(r, kept->from_head), to = position_of(r, kept->to_head);
	uint64_t max = r->nr_slots < HV_SECTION_CALLS_MAX ? r->nr_slots : HV_SECTION_CALLS_MAX;
	struct hv_record record;
	struct hv_event event;

	if (to - from > UINT64_MAX / 2) /* invalid positions */
		return;
	if (to - from > max) {
		ret->nr_lost = to - from - max;
		from = to - max;
	}
	ret->calls = hv_alloc((to - from + 1) * sizeof(*ret->calls));
	for (; from != to; from++) {
		if (!read_at(&ring, from, &record)) {
			ret->nr_lost++;
			continue;
		}
		if (hv_record_kind(&record) == HV_RECORD_TASK)
			hv_decoder_note_old_task(r->decoder, &record);
		if (!hv_record_is_event(&record))
			continue;
		decode(r, &record, &event);
		if (!is_call(&event) || (wants && !wants(ctx, &event)))
			continue;
		name(ret, &event);
		ret->calls[ret->nr_calls++] = event;
	}
}

static void find_callers(const struct hv_section_ring *r, const struct hv_parts *parts,
			 struct hv_event *event, struct hv_section *ret)
{
	struct hv_gva list[HV_CALLERS_MAX];

	hv_decoder_callers(r->decoder, parts, list, event);
	ret->nr_callers = event->nr_callers;
	ret->callers_end_early = event->callers_end_early;
	ret->callers = hv_alloc((event->nr_callers + 1) * sizeof(*list));
	memcpy(ret->callers, list, event->nr_callers * sizeof(*list));
}

void hv_section_log_stack(const struct hv_section_ring *r, const struct hv_sections *kept,
			  struct hv_section *ret)
{
	struct hv_ring ring = ring_of(r);
	uint64_t at = position_of(r, kept->to_head);
	struct hv_parts parts = {.nr = 0};
	struct hv_record record;
	struct hv_event event;

	for (uint64_t end = at + STACK_RECORDS_MAX; at != end; at++) {
		if (!read_at(&ring, at, &record))
			return;
		if (hv_record_kind(&record) == HV_RECORD_WORDS)
			hv_parts_add(&parts, &record, at, 0);
		if (hv_record_kind(&record) != HV_RECORD_STACK)
			continue;
		decode(r, &record, &event);
		if (event.of_section && hv_parts_are_of(&parts, &record, at, 0))
			find_callers(r, &parts, &event, ret);
		if (event.of_section)
			return;
	}
}

/* -- names of a section's addresses ------------------------------------------------------------ */

/* There is room for all addresses of a section. */
static void add(struct hv_section *s, const struct hv_kernel *k, struct hv_gva at)
{
	if (at.v && !hv_gva_in(at, k->text))
		s->names[s->nr_names++] = (struct hv_section_name){.at = at};
}

static void add_event(struct hv_section *s, const struct hv_kernel *k, const struct hv_event *e)
{
	add(s, k, e->ip);
	add(s, k, e->parent_ip);
}

static void remove_doubles(struct hv_section *s)
{
	size_t nr = 0;

	qsort(s->names, s->nr_names, sizeof(*s->names), hv_section_by_address);
	for (size_t i = 0; i < s->nr_names; i++)
		if (!nr || s->names[nr - 1].at.v != s->names[i].at.v)
			s->names[nr++] = s->names[i];
	s->nr_names = nr;
	s->names = hv_realloc_array(s->names, nr + 1, sizeof(*s->names));
}

static void look_up(struct hv_section_name *n, const struct hv_kernel *k)
{
	const char *name, *module;

	if (!hv_kernel_symbol_at(k, n->at, &name, &module, &n->off))
		return;
	n->name = hv_strdup(name);
	n->module = module ? hv_strdup(module) : NULL;
	n->len_bytes = hv_kernel_symbol_size(k, n->at);
}

void hv_section_keep_names(struct hv_section *s, const struct hv_kernel *k)
{
	s->names = hv_alloc((2 * (s->nr_calls + 2) + s->nr_callers) * sizeof(*s->names));
	add_event(s, k, &s->from);
	add_event(s, k, &s->to);
	for (size_t i = 0; i < s->nr_calls; i++)
		add_event(s, k, &s->calls[i]);
	for (size_t i = 0; i < s->nr_callers; i++)
		add(s, k, s->callers[i]);
	remove_doubles(s);
	for (size_t i = 0; i < s->nr_names; i++)
		look_up(&s->names[i], k);
}
