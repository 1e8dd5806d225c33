/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moves events from the guest's rings to all consumers, merged with host events by time. Without a
 * drain, the rings keep the newest events and the host does no work. Each consumer selects its
 * events; the caller decides when to run. One thread. */
#pragma once

#include "tracer/events/cursor.h"

struct hv_drain;
struct hv_host_item;
struct hv_session;

struct hv_consumer {
	struct hv_consumer *next;
	void *ctx;
	/* Receives EVENT, the last one that CURSOR returned. hv_buffer_put() needs CURSOR. */
	void (*take)(struct hv_consumer *consumer, const struct hv_cursor *cursor,
		     const struct hv_event *event);
	/* Returns the kinds (HV_BRIEF_KIND) of calls and returns that the consumer accepts in brief
	 * form. Called before each batch. NULL: none. Brief form is used only if all consumers
	 * accept it. */
	unsigned (*brief_kinds)(const struct hv_consumer *consumer);
	/* Receives the NR brief records of CURSOR's last hv_cursor_briefs(). */
	void (*take_briefs)(struct hv_consumer *consumer, const struct hv_cursor *cursor,
			    const struct hv_brief *briefs, size_t nr);
	/* Like take(), for a host event. */
	void (*take_host)(struct hv_consumer *consumer, const struct hv_host_item *item);
};

/* The drain begins with the oldest event of the session's buffer that was not consumed or cleared,
 * and consumes events from there. Free it before the session. */
struct hv_drain *hv_drain_new(struct hv_session *s);
void hv_drain_free(struct hv_drain *d);

/* CONSUMER is borrowed until it is removed. */
void hv_drain_add(struct hv_drain *d, struct hv_consumer *consumer);
void hv_drain_remove(struct hv_drain *d, struct hv_consumer *consumer);

/* Passes the events now in the rings to the consumers, at most HV_DRAIN_MAX because a guest may
 * write faster than the host reads. Call it often, and before each change of a setting that a
 * consumer depends on. Recent host events wait for guest events of the same time
 * (HV_MERGE_WAIT_NS), or until a later guest event arrives. */
#define HV_DRAIN_MAX 1000000
void hv_drain_run(struct hv_drain *d);
