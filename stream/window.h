/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts the frames of a session back in order, because a network can reorder and duplicate packets.
 * If a frame is missing, later frames are buffered until it arrives; time and space are limited.
 * Pure. */
#pragma once

#include "base/bytes.h"

#define HV_STREAM_WINDOW       256u		   /* frames */
#define HV_STREAM_WINDOW_BYTES (4u << 20)	   /* limit for buffered frames */
#define HV_STREAM_WINDOW_NS    UINT64_C(200000000) /* time to wait for a missing frame */

struct hv_stream_held {
	uint8_t *bytes; /* owned; NULL if empty */
	size_t len_bytes;
};

/* An empty window is all zeros. */
struct hv_stream_window {
	struct hv_stream_held held[HV_STREAM_WINDOW];
	bool has_begun;
	uint64_t next; /* sequence number of the next expected frame */
	unsigned nr_held;
	size_t held_bytes;
	uint64_t waits_since_ns;
	uint64_t nr_lost;     /* frames that did not arrive in time */
	uint64_t nr_repeated; /* duplicates and late frames */
};

enum hv_stream_order {
	HV_STREAM_IN_ORDER, /* process it now */
	HV_STREAM_HELD,	    /* copied; hv_stream_window_take() returns it later */
	HV_STREAM_REPEATED, /* duplicate or late */
};

void hv_stream_window_deinit(struct hv_stream_window *w);

/* Makes room for the frame SEQUENCE by giving up on missing frames. Returns true if a buffered
 * frame has to be processed first: the caller processes and frees *RET and calls again. */
bool hv_stream_window_make_room(struct hv_stream_window *w, uint64_t sequence,
				struct hv_stream_held *ret);
/* Adds a frame after hv_stream_window_make_room() returned false. The first frame of a session is
 * in order regardless of its number. */
enum hv_stream_order hv_stream_window_add(struct hv_stream_window *w, uint64_t sequence,
					  struct hv_span frame, uint64_t now_ns);
/* Returns the next buffered frame in *RET, which the caller frees. Returns false if there is none
 * or a frame before it can still arrive. */
bool hv_stream_window_take(struct hv_stream_window *w, uint64_t now_ns, struct hv_stream_held *ret);
/* Like hv_stream_window_take(), but does not wait for missing frames. */
bool hv_stream_window_flush(struct hv_stream_window *w, struct hv_stream_held *ret);
