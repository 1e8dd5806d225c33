/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes events out of the guest's rings and passes each of them to all sinks. Without a drain
 * nobody takes them: the rings keep the newest events, and the host does no work.
 * Leaves to others: which sink wants an event (the sink itself), when it runs. One thread. */
#pragma once

#include "tracer/events/cursor.h"

struct hv_drain;
struct hv_session;

struct hv_sink {
	struct hv_sink *next;
	void *ctx;
	/* CURSOR is the one that returned EVENT; hv_buffer_put() needs it. */
	void (*take)(struct hv_sink *sink, const struct hv_cursor *cursor,
		     const struct hv_event *event);
};

/* The drain begins with the oldest event of the session's buffer that was not consumed or cleared,
 * and consumes events from there on. The caller frees it before the session. */
struct hv_drain *hv_drain_new(struct hv_session *s);
void hv_drain_free(struct hv_drain *d);

/* SINK is borrowed until it is removed. */
void hv_drain_add(struct hv_drain *d, struct hv_sink *sink);
void hv_drain_remove(struct hv_drain *d, struct hv_sink *sink);

/* Passes the events that are in the rings now to the sinks, but at most HV_DRAIN_MAX of them, since
 * a guest may write them faster. The caller does this often, and before each change of a setting by
 * which a sink decides. */
#define HV_DRAIN_MAX 1000000
void hv_drain_run(struct hv_drain *d);
