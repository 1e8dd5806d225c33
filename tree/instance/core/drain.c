/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/core/drain.h"

#include <stdlib.h>

#include "base/guard.h"
#include "tracer/events/cursor.h"
#include "tracer/host_tracer.h"
#include "tracer/session.h"

struct hv_drain {
	struct hv_buffer *source;
	struct hv_cursor *cursor;
	struct hv_host_tracer *host; /* borrowed */
	struct hv_consumer *consumers;
};

struct hv_drain *hv_drain_new(struct hv_session *s)
{
	struct hv_drain *d = hv_alloc(sizeof(*d));

	d->source = s->buffer;
	d->host = s->host;
	d->cursor = hv_cursor_new(d->source, -1, HV_CURSOR_DRAIN);
	return d;
}

void hv_drain_free(struct hv_drain *d)
{
	if (!d)
		return;
	hv_cursor_free(d->cursor);
	free(d);
}

void hv_drain_add(struct hv_drain *d, struct hv_consumer *consumer)
{
	consumer->next = d->consumers;
	d->consumers = consumer;
}

void hv_drain_remove(struct hv_drain *d, struct hv_consumer *consumer)
{
	struct hv_consumer **at = &d->consumers;

	while (*at && *at != consumer)
		at = &(*at)->next;
	if (*at)
		*at = consumer->next;
}

/* Passes host events up to UNTIL_NS. */
static void pass_hosts(struct hv_drain *d, uint64_t until_ns)
{
	struct hv_host_item item;

	while (hv_host_tracer_next(d->host, until_ns, &item))
		for (struct hv_consumer *s = d->consumers; s; s = s->next)
			s->take_host(s, &item);
}

/* Passes up to MAX brief records while all consumers accept them. Returns their number. */
static size_t pass_briefs(struct hv_drain *d, size_t max)
{
	struct hv_brief briefs[HV_BRIEFS_MAX];
	unsigned kinds = HV_BRIEF_ALL;
	size_t nr;

	for (const struct hv_consumer *s = d->consumers; s; s = s->next)
		kinds &= s->brief_kinds ? s->brief_kinds(s) : 0;
	nr = kinds ? hv_cursor_briefs(d->cursor, max, kinds, briefs) : 0;
	for (struct hv_consumer *s = d->consumers; nr && s; s = s->next)
		s->take_briefs(s, d->cursor, briefs, nr);
	hv_cursor_take_briefs(d->cursor, nr);
	return nr;
}

void hv_drain_run(struct hv_drain *d)
{
	const bool has_hosts = hv_host_tracer_has_any(d->host);
	uint64_t settled_ns = has_hosts ? hv_host_tracer_settled_ns(d->host) : 0;
	struct hv_event event;
	size_t left = HV_DRAIN_MAX, nr_brief;

	for (; left; left--) {
		while (!has_hosts && left && (nr_brief = pass_briefs(d, left)))
			left -= nr_brief;
		if (!left || hv_cursor_next(d->cursor, &event) != HV_NEXT_EVENT)
			break;
		if (has_hosts)
			pass_hosts(d, event.time_ns);
		for (struct hv_consumer *s = d->consumers; s; s = s->next)
			s->take(s, d->cursor, &event);
	}
	if (has_hosts && left)
		pass_hosts(d, settled_ns);
	hv_cursor_consume(d->cursor);
}
