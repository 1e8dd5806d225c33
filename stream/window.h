/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts the frames of a session into their order again: a network may exchange and repeat them.
 * Frames behind one that is missing are held until it comes, but not for long, and not many.
 * Leaves to others: what is in a frame. Pure. */
#pragma once

#include "base/bytes.h"

#define HV_STREAM_WINDOW       256u		   /* frames */
#define HV_STREAM_WINDOW_BYTES (4u << 20)	   /* that are held */
#define HV_STREAM_WINDOW_NS    UINT64_C(200000000) /* for which a frame is waited for */

struct hv_stream_held {
	uint8_t *bytes; /* owned; NULL: not there */
	size_t len_bytes;
};

/* A window of zeros is empty. */
struct hv_stream_window {
	struct hv_stream_held held[HV_STREAM_WINDOW];
	bool has_begun;
	uint64_t next; /* the sequence number of the frame that is waited for */
	unsigned nr_held;
	size_t held_bytes;
	uint64_t waits_since_ns;
	uint64_t nr_lost;     /* frames that did not come in time */
	uint64_t nr_repeated; /* frames that came twice, or too late */
};

enum hv_stream_order {
	HV_STREAM_IN_ORDER, /* it is the next one */
	HV_STREAM_HELD,	    /* it was copied, and comes from hv_stream_window_take() */
	HV_STREAM_REPEATED, /* it was there before, or comes too late */
};

void hv_stream_window_deinit(struct hv_stream_window *w);

/* Makes room for the frame SEQUENCE: gives up frames that are missing before those that are held.
 * True: *RET, which the caller frees, comes first; call again. */
bool hv_stream_window_make_room(struct hv_stream_window *w, uint64_t sequence,
				struct hv_stream_held *ret);
/* There is room for SEQUENCE. The first frame of a session is in order, whatever its number. */
enum hv_stream_order hv_stream_window_add(struct hv_stream_window *w, uint64_t sequence,
					  struct hv_span frame, uint64_t now_ns);
/* True: *RET, which the caller frees, is the next one. */
bool hv_stream_window_take(struct hv_stream_window *w, uint64_t now_ns, struct hv_stream_held *ret);
/* As hv_stream_window_take(), at the end: waits for nothing. */
bool hv_stream_window_flush(struct hv_stream_window *w, struct hv_stream_held *ret);
