/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Receives frames as UDP datagrams, in batches. */
#include <string.h>

#include "stream/in.h"

#define BATCH	     64
#define ROUNDS_MAX   16
#define SLOT_BYTES   (HV_STREAM_FRAME_MAX + 1u) /* to detect longer datagrams */
#define RCVBUF_BYTES (32 << 20)

struct udp {
	struct hv_stream_in base;
	struct mmsghdr messages[BATCH];
	struct iovec parts[BATCH];
	struct sockaddr_storage from[BATCH];
	uint8_t *slots; /* owned */
};

static int receive(struct udp *u)
{
	for (unsigned i = 0; i < BATCH; i++)
		u->messages[i].msg_hdr.msg_namelen = sizeof(u->from[i]);
	return recvmmsg(u->base.fd, u->messages, BATCH, MSG_DONTWAIT, NULL);
}

static void udp_take(struct hv_stream_in *in, struct hv_stream_collector *c, uint64_t now_ns)
{
	struct udp *u = (struct udp *)in;
	int nr = BATCH;

	for (unsigned round = 0; round < ROUNDS_MAX && nr == BATCH; round++) {
		nr = receive(u);
		for (int i = 0; i < nr; i++) {
			struct hv_stream_address from = hv_stream_address_of(&u->from[i]);

			hv_stream_collector_take(
				c, &from,
				(struct hv_span){u->parts[i].iov_base, u->messages[i].msg_len},
				now_ns);
		}
	}
}

static void udp_free(struct hv_stream_in *in)
{
	struct udp *u = (struct udp *)in;

	hv_close_at(&in->fd);
	free(u->slots);
	free(u);
}

/* With CAP_NET_ADMIN, the buffer can exceed the system limit. */
static void enlarge(int fd)
{
	int size = RCVBUF_BYTES;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) != 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
}

struct hv_err *hv_stream_in_udp(const struct hv_stream_at *at, struct hv_stream_in **ret)
{
	struct udp *u = hv_alloc(sizeof(*u));

	u->base = (struct hv_stream_in){.take = udp_take, .free = udp_free};
	u->base.fd = socket(at->addr.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (u->base.fd < 0 ||
	    bind(u->base.fd, (const struct sockaddr *)&at->addr, at->addr_len) != 0) {
		struct hv_err *err = hv_err_new(errno, "%s: UDP: %s", at->where, strerror(errno));

		udp_free(&u->base);
		return err;
	}
	enlarge(u->base.fd);
	u->slots = hv_alloc((size_t)BATCH * SLOT_BYTES);
	for (unsigned i = 0; i < BATCH; i++) {
		u->parts[i] = (struct iovec){u->slots + (size_t)i * SLOT_BYTES, SLOT_BYTES};
		u->messages[i].msg_hdr.msg_iov = &u->parts[i];
		u->messages[i].msg_hdr.msg_iovlen = 1;
		u->messages[i].msg_hdr.msg_name = &u->from[i];
	}
	*ret = &u->base;
	return NULL;
}
