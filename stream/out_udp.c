/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends frames as UDP datagrams, in batches. */
#include <string.h>

#include "base/clock.h"
#include "stream/out.h"

#define BATCH	     64
#define SLOT_BYTES   (HV_STREAM_MTU_MAX + 1000u)
#define HEADERS_LEN  48 /* IPv6 and UDP headers */
#define SNDBUF_BYTES (4 << 20)
#define GOOD_NS	     (3 * HV_NS_PER_S)

struct udp {
	struct hv_stream_out base;
	int fd;
	uint64_t failed_ns; /* time of the last failure */
	unsigned nr;
	struct mmsghdr messages[BATCH];
	struct iovec parts[BATCH];
	uint8_t *slots; /* owned */
};

static struct udp *udp_of(struct hv_stream_out *out)
{
	return (struct udp *)out;
}

static uint8_t *slot(struct udp *u, unsigned i)
{
	return u->slots + (size_t)i * SLOT_BYTES;
}

/* Clears the error only after some time: errors arrive asynchronously, so a single frame that is
 * sent does not prove that the collector is reachable. */
static void see_success(struct udp *u)
{
	if (u->base.code && hv_now_ns() - u->failed_ns >= GOOD_NS)
		u->base.code = 0;
}

/* If no collector listens, the kernel reports ECONNREFUSED for an earlier frame when the next one
 * is sent, without sending it. So each frame is tried twice. */
static void udp_flush(struct hv_stream_out *out)
{
	struct udp *u = udp_of(out);
	unsigned nr_tries = 0;

	for (unsigned done = 0; done < u->nr;) {
		int n = sendmmsg(u->fd, u->messages + done, u->nr - done, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n > 0) {
			done += (unsigned)n;
			nr_tries = 0;
			see_success(u);
			continue;
		}
		out->code = errno;
		u->failed_ns = hv_now_ns();
		if (nr_tries++ == 0)
			continue;
		nr_tries = 0;
		out->nr_unsent++;
		done++;
	}
	u->nr = 0;
}

static uint8_t *udp_room(struct hv_stream_out *out)
{
	struct udp *u = udp_of(out);

	if (u->nr == BATCH)
		udp_flush(out);
	return slot(u, u->nr);
}

static void udp_put(struct hv_stream_out *out, size_t len_bytes)
{
	struct udp *u = udp_of(out);

	u->parts[u->nr++].iov_len = len_bytes;
}

static void udp_free(struct hv_stream_out *out)
{
	struct udp *u = udp_of(out);

	hv_close_at(&u->fd);
	free(u->slots);
	free(u);
}

static const struct hv_stream_out_ops udp_ops = {
	.room = udp_room,
	.put = udp_put,
	.flush = udp_flush,
	.drain = udp_flush,
	.free = udp_free,
};

struct hv_err *hv_stream_out_udp(const struct hv_stream_target *to, struct hv_stream_out **ret)
{
	struct udp *u = hv_alloc(sizeof(*u));
	int size = SNDBUF_BYTES;

	u->base = (struct hv_stream_out){
		.ops = &udp_ops, .want_bytes = to->mtu - HEADERS_LEN, .max_bytes = SLOT_BYTES};
	u->slots = hv_alloc((size_t)BATCH * SLOT_BYTES);
	u->fd = socket(to->addr.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (u->fd < 0 || connect(u->fd, (const struct sockaddr *)&to->addr, to->addr_len) != 0) {
		struct hv_err *err = hv_err_new(errno, "%s: %s", to->where, strerror(errno));

		udp_free(&u->base);
		return err;
	}
	setsockopt(u->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	for (unsigned i = 0; i < BATCH; i++) {
		u->parts[i].iov_base = slot(u, i);
		u->messages[i].msg_hdr.msg_iov = &u->parts[i];
		u->messages[i].msg_hdr.msg_iovlen = 1;
	}
	*ret = &u->base;
	return NULL;
}
