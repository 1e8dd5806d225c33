/* Takes what the guest's stubs write as it comes, and hands every event to all who want it: buffers
 * of instances, and whoever counts.
 * Until it is made, nothing is taken: the rings keep the newest, and cost the host nothing.
 * Leaves to others: whose event it is (the sink judges by the event), when it runs. One thread. */
#pragma once

#include "tracer/buffer.h"

struct hv_drain;

struct hv_sink {
	struct hv_sink *next;
	void *ctx;
	/* CURSOR: for hv_buffer_put. */
	void (*take)(struct hv_sink *sink, const struct hv_cursor *cursor,
		     const struct hv_event *event);
};

/* From what is not yet consumed or cleared in the session's buffer on; consumes it. Freed before
 * the session. */
struct hv_drain *hv_drain_new(struct hv_session *s);
void hv_drain_free(struct hv_drain *d);

/* SINK is the caller's, and stays where it is until it is removed. */
void hv_drain_add(struct hv_drain *d, struct hv_sink *sink);
void hv_drain_remove(struct hv_drain *d, struct hv_sink *sink);

/* Hands on what is there now; no more than HV_DRAIN_MAX events, for a guest may write faster. To be
 * called often, and before anything changes that a sink judges by. */
#define HV_DRAIN_MAX 1000000
void hv_drain_run(struct hv_drain *d);
