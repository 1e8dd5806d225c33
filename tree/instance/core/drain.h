/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Takes events out of the guest's rings and passes each of them to all sinks, with the events of
 * the host between them by their times. Without a drain nobody takes them: the rings keep the
 * newest events, and the host does no work. Leaves to others: which sink wants an event (the sink
 * itself), when it runs. One thread. */
#pragma once

#include "tracer/events/cursor.h"

struct hv_drain;
struct hv_host_item;
struct hv_session;

struct hv_sink {
	struct hv_sink *next;
	void *ctx;
	/* CURSOR is the one that returned EVENT; hv_buffer_put() needs it. */
	void (*take)(struct hv_sink *sink, const struct hv_cursor *cursor,
		     const struct hv_event *event);
	/* Of which kinds (HV_BRIEF_KIND) the sink takes calls and returns in brief; asked before
	 * each lot of them. NULL: of none. All sinks get them so, or none does. */
	unsigned (*brief_kinds)(const struct hv_sink *sink);
	/* NR of them, which CURSOR has shown; hv_buffer_put_briefs() needs it. */
	void (*take_briefs)(struct hv_sink *sink, const struct hv_cursor *cursor,
			    const struct hv_brief *briefs, size_t nr);
	/* As TAKE, for an event of the host. */
	void (*take_host)(struct hv_sink *sink, const struct hv_host_item *item);
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
 * which a sink decides. The host's newest events wait until the guest's of that time are complete
 * (HV_MERGE_WAIT_NS), or until one comes that is later. */
#define HV_DRAIN_MAX 1000000
void hv_drain_run(struct hv_drain *d);
