/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ways by which frames come to a collector. Leaves to others: what is in frames, and which are
 * refused (collector.h).
 *
 * One thread. */
#pragma once

#include <sys/socket.h>

#include "stream/collector.h"

struct hv_stream_in {
	int fd; /* poll(2) it for reading */
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
/* At most HV_STREAM_CONNECTIONS_MAX connections. One ends with the first frame that is refused, and
 * when no frame comes for HV_STREAM_QUIET_NS. */
struct hv_err *hv_stream_in_tcp(const struct hv_stream_at *at,
				struct hv_stream_in **ret) hv_must_use;

/* Gives C what there is, if it is not very much; waits for nothing. */
void hv_stream_in_take(struct hv_stream_in *in, struct hv_stream_collector *c, uint64_t now_ns);
/* IN may be NULL. */
void hv_stream_in_free(struct hv_stream_in *in);
