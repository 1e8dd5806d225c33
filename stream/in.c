/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stream/in.h"

#include <string.h>
#include <sys/epoll.h>

/* -- TCP --------------------------------------------------------------------------------------- */

/* Receives frames over TCP connections. */

#define ROOM_BYTES (4u * HV_STREAM_FRAME_MAX)
#define READS_MAX  16
#define BACKLOG	   16

struct connection {
	int fd; /* -1 if unused */
	struct hv_stream_address from;
	uint64_t came_ns;
	uint8_t *bytes; /* owned; ROOM_BYTES */
	size_t len_bytes;
};

struct tcp {
	struct hv_stream_in base; /* its fd is an epoll instance */
	int listen_fd;
	struct connection connections[HV_STREAM_CONNECTIONS_MAX];
};

static void end(struct connection *c)
{
	hv_close_at(&c->fd);
	free(c->bytes);
	*c = (struct connection){.fd = -1};
}

static void begin(struct tcp *t, struct connection *c, int fd, const struct hv_stream_address *from,
		  uint64_t now_ns)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)(c - t->connections)};

	*c = (struct connection){.fd = fd, .from = *from, .came_ns = now_ns};
	c->bytes = hv_alloc(ROOM_BYTES);
	if (epoll_ctl(t->base.fd, EPOLL_CTL_ADD, fd, &event) != 0)
		end(c);
}

static void accept_one(struct tcp *t, struct hv_stream_collector *collector, uint64_t now_ns)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);
	struct hv_stream_address from;
	int fd =
		accept4(t->listen_fd, (struct sockaddr *)&addr, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	from = hv_stream_address_of(&addr);
	if (!hv_stream_collector_allows(collector, &from)) {
		collector->nr_strangers++;
		close(fd);
		return;
	}
	for (unsigned i = 0; i < HV_STREAM_CONNECTIONS_MAX; i++)
		if (t->connections[i].fd < 0) {
			begin(t, &t->connections[i], fd, &from, now_ns);
			return;
		}
	close(fd);
}

/* Passes complete frames to the collector. Returns false if the data is invalid or refused. */
static bool take_frames(struct connection *c, struct hv_stream_collector *collector,
			uint64_t now_ns)
{
	size_t at = 0, len;
	bool ok = true;

	while (ok) {
		struct hv_span in = {c->bytes + at, c->len_bytes - at};

		if (!hv_stream_frame_bytes(in, &len)) {
			collector->refused[HV_STREAM_NOT_OURS]++;
			return false;
		}
		if (!len || len > in.len_bytes)
			break;
		ok = hv_stream_collector_take(collector, &c->from, (struct hv_span){in.data, len},
					      now_ns);
		at += len;
		c->came_ns = now_ns;
	}
	memmove(c->bytes, c->bytes + at, c->len_bytes - at);
	c->len_bytes -= at;
	return ok;
}

static void take_from(struct connection *c, struct hv_stream_collector *collector, uint64_t now_ns)
{
	for (unsigned i = 0; i < READS_MAX && c->fd >= 0; i++) {
		ssize_t n = recv(c->fd, c->bytes + c->len_bytes, ROOM_BYTES - c->len_bytes, 0);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n > 0)
			c->len_bytes += (size_t)n;
		if (n <= 0 || !take_frames(c, collector, now_ns))
			end(c);
	}
}

static void end_quiet(struct tcp *t, uint64_t now_ns)
{
	for (unsigned i = 0; i < HV_STREAM_CONNECTIONS_MAX; i++) {
		struct connection *c = &t->connections[i];

		if (c->fd >= 0 && now_ns - c->came_ns >= HV_STREAM_QUIET_NS)
			end(c);
	}
}

static void tcp_take(struct hv_stream_in *in, struct hv_stream_collector *collector,
		     uint64_t now_ns)
{
	struct tcp *t = (struct tcp *)in;
	struct epoll_event events[16];
	int nr = epoll_wait(in->fd, events, HV_ARRAY_LEN(events), 0);

	for (int i = 0; i < nr; i++) {
		uint32_t which = events[i].data.u32;

		if (which == HV_STREAM_CONNECTIONS_MAX)
			accept_one(t, collector, now_ns);
		else if (t->connections[which].fd >= 0)
			take_from(&t->connections[which], collector, now_ns);
	}
	end_quiet(t, now_ns);
}

static void tcp_free(struct hv_stream_in *in)
{
	struct tcp *t = (struct tcp *)in;

	for (unsigned i = 0; i < HV_STREAM_CONNECTIONS_MAX; i++)
		end(&t->connections[i]);
	hv_close_at(&t->listen_fd);
	hv_close_at(&in->fd);
	free(t);
}

static bool listen_at(struct tcp *t, const struct hv_stream_at *at)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = HV_STREAM_CONNECTIONS_MAX};
	int yes = 1;

	t->base.fd = epoll_create1(EPOLL_CLOEXEC);
	t->listen_fd = socket(at->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return t->base.fd >= 0 && t->listen_fd >= 0 &&
	       setsockopt(t->listen_fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
	       bind(t->listen_fd, (const struct sockaddr *)&at->addr, at->addr_len) == 0 &&
	       listen(t->listen_fd, BACKLOG) == 0 &&
	       epoll_ctl(t->base.fd, EPOLL_CTL_ADD, t->listen_fd, &event) == 0;
}

struct hv_err *hv_stream_in_tcp(const struct hv_stream_at *at, struct hv_stream_in **ret)
{
	struct tcp *t = hv_alloc(sizeof(*t));

	t->base = (struct hv_stream_in){.fd = -1, .take = tcp_take, .free = tcp_free};
	t->listen_fd = -1;
	for (unsigned i = 0; i < HV_STREAM_CONNECTIONS_MAX; i++)
		t->connections[i].fd = -1;
	if (!listen_at(t, at)) {
		struct hv_err *err = hv_err_new(errno, "%s: TCP: %s", at->where, strerror(errno));

		tcp_free(&t->base);
		return err;
	}
	*ret = &t->base;
	return NULL;
}

/* -- UDP --------------------------------------------------------------------------------------- */

/* Receives frames as UDP datagrams, in batches. */

#define BATCH	     64
#define ROUNDS_MAX   16
#define PACKET_BYTES (HV_STREAM_FRAME_MAX + 1u) /* to detect longer datagrams */
#define RCVBUF_BYTES (32 << 20)

struct udp {
	struct hv_stream_in base;
	struct mmsghdr messages[BATCH];
	struct iovec parts[BATCH];
	struct sockaddr_storage from[BATCH];
	uint8_t *packets; /* owned */
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
	free(u->packets);
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
	u->packets = hv_alloc((size_t)BATCH * PACKET_BYTES);
	for (unsigned i = 0; i < BATCH; i++) {
		u->parts[i] = (struct iovec){u->packets + (size_t)i * PACKET_BYTES, PACKET_BYTES};
		u->messages[i].msg_hdr.msg_iov = &u->parts[i];
		u->messages[i].msg_hdr.msg_iovlen = 1;
		u->messages[i].msg_hdr.msg_name = &u->from[i];
	}
	*ret = &u->base;
	return NULL;
}

/* -- all transports ---------------------------------------------------------------------------- */

void hv_stream_in_take(struct hv_stream_in *in, struct hv_stream_collector *c, uint64_t now_ns)
{
	in->take(in, c, now_ns);
}

void hv_stream_in_free(struct hv_stream_in *in)
{
	if (in)
		in->free(in);
}
