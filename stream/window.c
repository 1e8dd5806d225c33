/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stream/window.h"

#include "base/guard.h"

void hv_stream_window_deinit(struct hv_stream_window *w)
{
	for (unsigned i = 0; i < HV_STREAM_WINDOW; i++)
		free(w->held[i].bytes);
	*w = (struct hv_stream_window){0};
}

static struct hv_stream_held *frame_of(struct hv_stream_window *w, uint64_t sequence)
{
	return &w->held[sequence % HV_STREAM_WINDOW];
}

static void pop(struct hv_stream_window *w, struct hv_stream_held *ret)
{
	struct hv_stream_held *held = frame_of(w, w->next++);

	*ret = *held;
	*held = (struct hv_stream_held){0};
	w->nr_held--;
	w->held_bytes -= ret->len_bytes;
}

bool hv_stream_window_flush(struct hv_stream_window *w, struct hv_stream_held *ret)
{
	if (!w->nr_held)
		return false;
	for (; !frame_of(w, w->next)->bytes; w->next++)
		w->nr_lost++;
	pop(w, ret);
	return true;
}

bool hv_stream_window_make_room(struct hv_stream_window *w, uint64_t sequence,
				struct hv_stream_held *ret)
{
	if (!w->has_begun || sequence < w->next || sequence - w->next < HV_STREAM_WINDOW)
		return false;
	if (hv_stream_window_flush(w, ret))
		return true;
	w->nr_lost += sequence - w->next;
	w->next = sequence;
	return false;
}

enum hv_stream_order hv_stream_window_add(struct hv_stream_window *w, uint64_t sequence,
					  struct hv_span frame, uint64_t now_ns)
{
	struct hv_stream_held *held = frame_of(w, sequence);

	if (!w->has_begun)
		w->next = sequence;
	w->has_begun = true;
	if (sequence < w->next || held->bytes) {
		w->nr_repeated++;
		return HV_STREAM_REPEATED;
	}
	if (sequence == w->next) {
		w->next++;
		w->waits_since_ns = now_ns;
		return HV_STREAM_IN_ORDER;
	}
	if (!w->nr_held)
		w->waits_since_ns = now_ns;
	*held = (struct hv_stream_held){hv_alloc(frame.len_bytes), frame.len_bytes};
	memcpy(held->bytes, frame.data, frame.len_bytes);
	w->nr_held++;
	w->held_bytes += frame.len_bytes;
	return HV_STREAM_HELD;
}

bool hv_stream_window_take(struct hv_stream_window *w, uint64_t now_ns, struct hv_stream_held *ret)
{
	if (!w->nr_held)
		return false;
	if (!frame_of(w, w->next)->bytes && w->held_bytes <= HV_STREAM_WINDOW_BYTES &&
	    now_ns - w->waits_since_ns < HV_STREAM_WINDOW_NS)
		return false;
	w->waits_since_ns = now_ns;
	return hv_stream_window_flush(w, ret);
}
