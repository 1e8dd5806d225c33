/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dispatches the frames that a collector receives to their streams, and refuses unauthorized
 * frames. The in_*.c files receive frames; guest.h processes the frames of a stream.
 *
 * One thread. */
#pragma once

#include "stream/guest.h"

#define HV_STREAM_ALLOW_MAX 64

struct hv_stream_collector {
	struct hv_stream_store store;
	struct hv_stream_key key;
	struct hv_stream_network allow[HV_STREAM_ALLOW_MAX];
	unsigned nr_allow;   /* 0: any sender with the key */
	unsigned max_guests; /* concurrent streams */
	uint64_t idle_ns;    /* a stream ends if no frame arrives for this long */

	/* The fields below start zeroed, except the limits in `budget`. */
	struct hv_stream_budget budget;	 /* the caller sets its limits */
	struct hv_stream_guest **guests; /* owned */
	unsigned nr_guests, last; /* `last`: index of the stream that received the previous frame */
	uint64_t refused[HV_STREAM_NR_VERDICTS];
	uint64_t nr_strangers;	  /* frames from addresses outside `allow` */
	uint64_t nr_too_many;	  /* frames of streams beyond max_guests */
	uint64_t noted_ns, noted; /* time and total of the last refusal note */
};

void hv_stream_collector_deinit(struct hv_stream_collector *c);

bool hv_stream_collector_allows(const struct hv_stream_collector *c,
				const struct hv_stream_address *from);
/* Takes one frame received from FROM. Returns false if the frame is refused; refusals are
 * counted. */
bool hv_stream_collector_take(struct hv_stream_collector *c, const struct hv_stream_address *from,
			      struct hv_span frame, uint64_t now_ns);
/* Call at least ten times a second. */
void hv_stream_collector_turn(struct hv_stream_collector *c, uint64_t now_ns);
/* Ends all streams and completes their files. */
void hv_stream_collector_end(struct hv_stream_collector *c);
