/* Takes events out of the guest's rings and hands each of them to all sinks. Without a drain
 * nothing is taken: the rings keep the newest events, and cost the host nothing.
 * Leaves to others: which sink wants an event (the sink itself), when it runs. One thread. */
#pragma once

#include "tracer/events/cursor.h"

struct hv_drain;
struct hv_session;

struct hv_sink {
	struct hv_sink *next;
	void *ctx;
	/* CURSOR returned EVENT, as hv_buffer_put() needs to know. */
	void (*take)(struct hv_sink *sink, const struct hv_cursor *cursor,
		     const struct hv_event *event);
};

/* Begins with what is not yet consumed or cleared in the session's buffer, and consumes it. To be
 * freed before the session. */
struct hv_drain *hv_drain_new(struct hv_session *s);
void hv_drain_free(struct hv_drain *d);

/* SINK is borrowed until it is removed. */
void hv_drain_add(struct hv_drain *d, struct hv_sink *sink);
void hv_drain_remove(struct hv_drain *d, struct hv_sink *sink);

/* Hands on what is there now, but at most HV_DRAIN_MAX events, since a guest may write faster than
 * they are handed on. To be called often, and before anything changes that a sink judges by. */
#define HV_DRAIN_MAX 1000000
void hv_drain_run(struct hv_drain *d);
