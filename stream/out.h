/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The way by which a sender's frames leave this host. A frame is made where it is sent from, so
 * that it is not copied again. A frame that cannot be sent is dropped, and the sender goes on: the
 * collector sees that from the numbers of frames and events. Leaves to others: what is in frames
 * (sender.h).
 *
 * One thread. */
#pragma once

#include <sys/socket.h>

#include "base/err.h"
#include "stream/frame.h"

struct hv_stream_out;

struct hv_stream_out_ops {
	uint8_t *(*room)(struct hv_stream_out *out);
	void (*put)(struct hv_stream_out *out, size_t len_bytes);
	void (*flush)(struct hv_stream_out *out);
	void (*drain)(struct hv_stream_out *out);
	void (*free)(struct hv_stream_out *out);
};

/* The first member of every way's own structure. */
struct hv_stream_out {
	const struct hv_stream_out_ops *ops;
	size_t want_bytes; /* of a frame: as many as a packet has room for */
	size_t max_bytes;  /* of a frame */
	int code;	   /* errno of the last frame or connection; 0: it was sent */
	uint64_t nr_unsent;
};

struct hv_stream_target {
	const char *where; /* HOST:PORT, for errors; borrowed */
	struct sockaddr_storage addr;
	socklen_t addr_len;
	unsigned mtu; /* bytes of a packet, with the headers of IP and UDP */
	/* As hv_stream_dial(), for a process that can make no sockets. NULL: it can. */
	int (*dial)(void *ctx);
	void *dial_ctx;
};

/* Begins a connection by TCP. Returns its socket, which does not block, or -1 with errno. */
int hv_stream_dial(const struct hv_stream_target *to);

#define HV_STREAM_MTU	  1500u
#define HV_STREAM_MTU_MIN 576u
#define HV_STREAM_MTU_MAX 9000u

struct hv_err *hv_stream_out_udp(const struct hv_stream_target *to,
				 struct hv_stream_out **ret) hv_must_use;
/* The connection is made and, when it breaks, made again in the background. */
struct hv_err *hv_stream_out_tcp(const struct hv_stream_target *to,
				 struct hv_stream_out **ret) hv_must_use;

/* Returns room for max_bytes, which lasts until the next call. */
uint8_t *hv_stream_out_room(struct hv_stream_out *out);
/* Sends the frame that is in the room, now or at the next flush. */
void hv_stream_out_put(struct hv_stream_out *out, size_t len_bytes);
void hv_stream_out_flush(struct hv_stream_out *out);
/* Flushes, and waits a little for what takes longer. */
void hv_stream_out_drain(struct hv_stream_out *out);
/* OUT may be NULL. */
void hv_stream_out_free(struct hv_stream_out *out);
