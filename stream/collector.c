/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stream/collector.h"

#include "base/clock.h"

#define NOTE_NS (10 * HV_NS_PER_S)

static void remove_at(struct hv_stream_collector *c, unsigned i)
{
	hv_stream_guest_deinit(c->guests[i]);
	free(c->guests[i]);
	c->guests[i] = c->guests[--c->nr_guests];
}

void hv_stream_collector_deinit(struct hv_stream_collector *c)
{
	while (c->nr_guests)
		remove_at(c, c->nr_guests - 1);
	free(c->guests);
	c->guests = NULL;
}

bool hv_stream_collector_allows(const struct hv_stream_collector *c,
				const struct hv_stream_address *from)
{
	for (unsigned i = 0; i < c->nr_allow; i++)
		if (hv_stream_network_has(&c->allow[i], from))
			return true;
	return !c->nr_allow;
}

static struct hv_stream_guest *find(struct hv_stream_collector *c, uint64_t session)
{
	if (c->last < c->nr_guests && c->guests[c->last]->session == session)
		return c->guests[c->last];
	for (unsigned i = 0; i < c->nr_guests; i++)
		if (c->guests[i]->session == session) {
			c->last = i;
			return c->guests[i];
		}
	return NULL;
}

/* Returns whether another stream fits, if necessary by dropping a stream that has ended. */
static bool has_room(struct hv_stream_collector *c)
{
	if (c->nr_guests < c->max_guests)
		return true;
	for (unsigned i = 0; i < c->nr_guests; i++)
		if (c->guests[i]->phase == HV_STREAM_ENDED) {
			remove_at(c, i);
			return true;
		}
	return false;
}

static struct hv_stream_guest *add(struct hv_stream_collector *c, uint64_t session,
				   const struct hv_stream_address *from)
{
	struct hv_stream_guest *g;

	if (!has_room(c))
		return NULL;
	g = hv_alloc(sizeof(*g));
	c->store.budget = &c->budget;
	hv_stream_guest_init(g, session, &c->store, from);
	c->guests = hv_realloc_array(c->guests, c->nr_guests + 1, sizeof(struct hv_stream_guest *));
	c->last = c->nr_guests;
	c->guests[c->nr_guests++] = g;
	return g;
}

bool hv_stream_collector_take(struct hv_stream_collector *c, const struct hv_stream_address *from,
			      struct hv_span frame, uint64_t now_ns)
{
	struct hv_stream_guest *g;
	struct hv_stream_frame f;
	enum hv_stream_verdict v;

	if (!hv_stream_collector_allows(c, from)) {
		c->nr_strangers++;
		return false;
	}
	v = hv_stream_decode(frame, &c->key, &f);
	if (v != HV_STREAM_GOOD) {
		c->refused[v]++;
		return false;
	}
	g = find(c, f.session);
	if (!g)
		g = add(c, f.session, from);
	if (!g) {
		c->nr_too_many++;
		return false;
	}
	hv_stream_guest_take(g, frame, now_ns);
	return true;
}

static uint64_t nr_refused(const struct hv_stream_collector *c)
{
	uint64_t nr = c->nr_strangers + c->nr_too_many;

	for (unsigned v = 0; v < HV_STREAM_NR_VERDICTS; v++)
		nr += c->refused[v];
	return nr;
}

static void note_refused(struct hv_stream_collector *c)
{
	HV_AUTO_TEXT struct hv_text line = {0};
	uint64_t nr = nr_refused(c);

	if (nr == c->noted || !c->store.note)
		return;
	hv_text_printf(&line, "%llu frame%s refused in total", (unsigned long long)nr,
		       hv_plural(nr));
	for (unsigned v = 0; v < HV_STREAM_NR_VERDICTS; v++)
		if (c->refused[v])
			hv_text_printf(&line, ", %llu: %s", (unsigned long long)c->refused[v],
				       hv_stream_verdict_name(v));
	if (c->nr_strangers)
		hv_text_printf(&line, ", %llu: from addresses that are not allowed",
			       (unsigned long long)c->nr_strangers);
	if (c->nr_too_many)
		hv_text_printf(&line, ", %llu: over the limit of %u guests",
			       (unsigned long long)c->nr_too_many, c->max_guests);
	c->noted = nr;
	c->store.note(line.data);
}

void hv_stream_collector_turn(struct hv_stream_collector *c, uint64_t now_ns)
{
	for (unsigned i = c->nr_guests; i-- > 0;) {
		struct hv_stream_guest *g = c->guests[i];

		hv_stream_guest_turn(g, now_ns);
		if (now_ns - g->came_ns < c->idle_ns)
			continue;
		hv_stream_guest_end(g, "silence");
		remove_at(c, i);
	}
	/* Note the first refusal immediately, later ones at intervals. */
	if (!c->noted || now_ns - c->noted_ns >= NOTE_NS) {
		note_refused(c);
		c->noted_ns = now_ns;
	}
}

void hv_stream_collector_end(struct hv_stream_collector *c)
{
	for (unsigned i = 0; i < c->nr_guests; i++)
		hv_stream_guest_end(c->guests[i], "the collector ends");
	note_refused(c);
}
