/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The streams of a collector: finds whose a frame is, and refuses those of strangers. Leaves to
 * others: how frames come (cli/verbs/collect.c), what becomes of them (guest.h).
 *
 * One thread. */
#pragma once

#include "stream/guest.h"

#define HV_STREAM_ALLOW_MAX 64

struct hv_stream_collector {
	struct hv_stream_store store;
	struct hv_stream_key key;
	struct hv_stream_network allow[HV_STREAM_ALLOW_MAX];
	unsigned nr_allow;   /* 0: everybody with the key */
	unsigned max_guests; /* streams at a time */
	uint64_t idle_ns;    /* a stream of which nothing comes for so long has ended */

	/* the following are zero at the beginning, but for limits */
	struct hv_stream_budget budget;	 /* its limits are the caller's */
	struct hv_stream_guest **guests; /* owned */
	unsigned nr_guests, last;	 /* LAST: which had the last frame */
	uint64_t refused[HV_STREAM_NR_VERDICTS];
	uint64_t nr_strangers;	  /* frames of addresses that are not allowed */
	uint64_t nr_too_many;	  /* frames of streams beyond MAX_GUESTS */
	uint64_t noted_ns, noted; /* refusals up to the last note */
};

void hv_stream_collector_deinit(struct hv_stream_collector *c);

bool hv_stream_collector_allows(const struct hv_stream_collector *c,
				const struct hv_stream_address *from);
/* Takes what came from FROM as one frame. False: it is refused, and counted. */
bool hv_stream_collector_take(struct hv_stream_collector *c, const struct hv_stream_address *from,
			      struct hv_span frame, uint64_t now_ns);
/* Called often, at least ten times a second. */
void hv_stream_collector_turn(struct hv_stream_collector *c, uint64_t now_ns);
/* Completes all files. */
void hv_stream_collector_end(struct hv_stream_collector *c);
