/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Receives frames for a collector over UDP, TCP or AF_XDP (xdp.h). collector.h checks and
 * dispatches them.
 *
 * One thread. */
#pragma once

#include <sys/socket.h>

#include "stream/collector.h"

struct hv_stream_in {
	int fd; /* poll(2) for POLLIN */
	void (*take)(struct hv_stream_in *in, struct hv_stream_collector *c, uint64_t now_ns);
	void (*free)(struct hv_stream_in *in);
};

struct hv_stream_at {
	const char *where; /* ADDRESS:PORT, for errors; borrowed */
	struct sockaddr_storage addr;
	socklen_t addr_len;
};

#define HV_STREAM_CONNECTIONS_MAX 256
#define HV_STREAM_QUIET_NS	  (UINT64_C(30) * 1000000000)

struct hv_err *hv_stream_in_udp(const struct hv_stream_at *at,
				struct hv_stream_in **ret) hv_must_use;
/* Accepts up to HV_STREAM_CONNECTIONS_MAX connections. Closes a connection when it sends a frame
 * that is refused, or no frame for HV_STREAM_QUIET_NS. */
struct hv_err *hv_stream_in_tcp(const struct hv_stream_at *at,
				struct hv_stream_in **ret) hv_must_use;

/* Passes available frames to C, up to a limit. Does not block. */
void hv_stream_in_take(struct hv_stream_in *in, struct hv_stream_collector *c, uint64_t now_ns);
/* IN can be NULL. */
void hv_stream_in_free(struct hv_stream_in *in);
