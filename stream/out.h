/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends the frames of a sender over UDP, TCP or AF_XDP (xdp.h). Frames are built in place in the
 * send buffer to avoid a copy.
 *
 * A frame that cannot be sent is dropped. The collector detects this by the sequence numbers of
 * frames and events. sender.h builds the frames.
 *
 * One thread. */
#pragma once

#include <sys/socket.h>

#include "base/err.h"

struct hv_stream_out;

struct hv_stream_out_ops {
	uint8_t *(*room)(struct hv_stream_out *out);
	void (*put)(struct hv_stream_out *out, size_t len_bytes);
	void (*flush)(struct hv_stream_out *out);
	void (*drain)(struct hv_stream_out *out);
	void (*free)(struct hv_stream_out *out);
};

/* Embedded as the first member in the structure of each transport. */
struct hv_stream_out {
	const struct hv_stream_out_ops *ops;
	size_t want_bytes; /* preferred length of a frame; fits into a packet */
	size_t max_bytes;  /* maximum length of a frame */
	int code;	   /* errno of the last frame or connection; 0 on success */
	uint64_t nr_unsent;
};

struct hv_stream_target {
	const char *where; /* HOST:PORT, for errors; borrowed */
	struct sockaddr_storage addr;
	socklen_t addr_len;
	unsigned mtu; /* packet size including IP and UDP headers */
	/* Replaces hv_stream_dial() in a process that cannot create sockets. Can be NULL. */
	int (*dial)(void *ctx);
	void *dial_ctx;
};

/* Starts a TCP connection. Returns a nonblocking socket, or -1 and sets errno. */
int hv_stream_dial(const struct hv_stream_target *to);

#define HV_STREAM_MTU	  1500u
#define HV_STREAM_MTU_MIN 576u
#define HV_STREAM_MTU_MAX 9000u

struct hv_err *hv_stream_out_udp(const struct hv_stream_target *to,
				 struct hv_stream_out **ret) hv_must_use;
/* Connects, and reconnects after a failure, in the background. */
struct hv_err *hv_stream_out_tcp(const struct hv_stream_target *to,
				 struct hv_stream_out **ret) hv_must_use;

/* Returns a buffer of max_bytes for the next frame. Valid until the next call. */
uint8_t *hv_stream_out_room(struct hv_stream_out *out);
/* Sends the frame in the buffer, now or at the next flush. */
void hv_stream_out_put(struct hv_stream_out *out, size_t len_bytes);
void hv_stream_out_flush(struct hv_stream_out *out);
/* Flushes, and waits a limited time for the transmission to finish. */
void hv_stream_out_drain(struct hv_stream_out *out);
/* OUT can be NULL. */
void hv_stream_out_free(struct hv_stream_out *out);
