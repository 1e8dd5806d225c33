/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stream/out.h"

#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "stream/frame.h"

/* -- TCP --------------------------------------------------------------------------------------- */

/* Sends frames over a TCP connection. Frames queue in memory while the collector is slow and are
 * dropped when the queue is full. */

#define TCP_FRAME_BYTES HV_STREAM_FRAME_MAX
#define PENDING_BYTES	(4u << 20)
#define MUCH_BYTES	(1u << 20) /* queue length above which a flush waits */
#define PART_BYTES	8192u	   /* frame length for parts of a table */
#define WAIT_MS		50
#define RETRY_NS	HV_NS_PER_S
#define DRAIN_NS	(3 * HV_NS_PER_S)

struct tcp {
	struct hv_stream_out base;
	struct hv_stream_target to;
	int fd; /* -1 if not connected */
	bool is_connected;
	uint64_t tried_ns;
	/* owned; room for PENDING_BYTES, one frame beyond it, and the frame of tcp_room() */
	uint8_t *pending;
	size_t begin, end;
};

static struct tcp *tcp_of(struct hv_stream_out *out)
{
	return (struct tcp *)out;
}

/* Discards the queue: after a partial frame, a new connection has to start with a whole one. */
static void broken(struct tcp *t, int code)
{
	t->base.code = code;
	t->base.nr_unsent += t->end != t->begin;
	hv_close_at(&t->fd);
	t->fd = -1;
	t->is_connected = false;
	t->begin = t->end = 0;
}

int hv_stream_dial(const struct hv_stream_target *to)
{
	HV_AUTO_FD int fd =
		socket(to->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || (connect(fd, (const struct sockaddr *)&to->addr, to->addr_len) != 0 &&
		       errno != EINPROGRESS))
		return -1;
	return hv_take_fd(&fd);
}

static void begin_connection(struct tcp *t)
{
	t->tried_ns = hv_now_ns();
	t->fd = t->to.dial ? t->to.dial(t->to.dial_ctx) : hv_stream_dial(&t->to);
	if (t->fd < 0)
		broken(t, errno);
}

static void see_whether_connected(struct tcp *t, int wait_ms)
{
	struct pollfd p = {t->fd, POLLOUT, 0};
	socklen_t len = sizeof(int);
	int code = 0;

	if (poll(&p, 1, wait_ms) <= 0)
		return;
	getsockopt(t->fd, SOL_SOCKET, SO_ERROR, &code, &len);
	if (code) {
		broken(t, code);
		return;
	}
	t->is_connected = true;
	t->base.code = 0;
}

static void connect_again(struct tcp *t)
{
	if (t->fd < 0 && hv_now_ns() - t->tried_ns >= RETRY_NS)
		begin_connection(t);
	if (t->fd >= 0 && !t->is_connected)
		see_whether_connected(t, 0);
}

static void send_some(struct tcp *t)
{
	while (t->begin < t->end) {
		ssize_t n = send(t->fd, t->pending + t->begin, t->end - t->begin, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			broken(t, errno);
		if (n < 0)
			break;
		t->begin += (size_t)n;
	}
	if (t->begin == t->end)
		t->begin = t->end = 0;
}

static void tcp_flush(struct hv_stream_out *out)
{
	struct tcp *t = tcp_of(out);
	struct pollfd p = {.events = POLLOUT};

	connect_again(t);
	if (!t->is_connected)
		return;
	send_some(t);
	p.fd = t->fd;
	if (t->end - t->begin > MUCH_BYTES && poll(&p, 1, WAIT_MS) > 0)
		send_some(t);
}

static void tcp_drain(struct hv_stream_out *out)
{
	struct tcp *t = tcp_of(out);
	uint64_t until = hv_now_ns() + DRAIN_NS;

	tcp_flush(out);
	while (t->is_connected && t->begin < t->end && hv_now_ns() < until) {
		poll(NULL, 0, 1);
		send_some(t);
	}
}

static uint8_t *tcp_room(struct hv_stream_out *out)
{
	struct tcp *t = tcp_of(out);

	if (t->end > PENDING_BYTES)
		tcp_flush(out);
	if (t->end > PENDING_BYTES && t->begin) {
		memmove(t->pending, t->pending + t->begin, t->end - t->begin);
		t->end -= t->begin;
		t->begin = 0;
	}
	return t->pending + t->end;
}

static void tcp_put(struct hv_stream_out *out, size_t len_bytes)
{
	struct tcp *t = tcp_of(out);

	if (t->end > PENDING_BYTES || t->fd < 0)
		out->nr_unsent++;
	else
		t->end += len_bytes;
}

static void tcp_free(struct hv_stream_out *out)
{
	struct tcp *t = tcp_of(out);

	hv_close_at(&t->fd);
	free(t->pending);
	free(t);
}

static const struct hv_stream_out_ops tcp_ops = {
	.room = tcp_room,
	.put = tcp_put,
	.flush = tcp_flush,
	.drain = tcp_drain,
	.free = tcp_free,
};

struct hv_err *hv_stream_out_tcp(const struct hv_stream_target *to, struct hv_stream_out **ret)
{
	struct tcp *t = hv_alloc(sizeof(*t));

	t->base = (struct hv_stream_out){
		.ops = &tcp_ops, .want_bytes = PART_BYTES, .max_bytes = TCP_FRAME_BYTES};
	t->to = *to;
	t->pending = hv_alloc(PENDING_BYTES + 2 * TCP_FRAME_BYTES);
	begin_connection(t);
	if (t->fd >= 0)
		see_whether_connected(t, 1000);
	*ret = &t->base;
	return NULL;
}

/* -- UDP --------------------------------------------------------------------------------------- */

/* Sends frames as UDP datagrams, in batches. */

#define BATCH		 64
#define UDP_PACKET_BYTES (HV_STREAM_MTU_MAX + 1000u)
#define HEADERS_LEN	 48 /* IPv6 and UDP headers */
#define SNDBUF_BYTES	 (4 << 20)
#define GOOD_NS		 (3 * HV_NS_PER_S)

struct udp {
	struct hv_stream_out base;
	int fd;
	uint64_t failed_ns; /* time of the last failure */
	unsigned nr;
	struct mmsghdr messages[BATCH];
	struct iovec parts[BATCH];
	uint8_t *packets; /* owned */
};

static struct udp *udp_of(struct hv_stream_out *out)
{
	return (struct udp *)out;
}

static uint8_t *packet(struct udp *u, unsigned i)
{
	return u->packets + (size_t)i * UDP_PACKET_BYTES;
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
	return packet(u, u->nr);
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
	free(u->packets);
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

	u->base = (struct hv_stream_out){.ops = &udp_ops,
					 .want_bytes = to->mtu - HEADERS_LEN,
					 .max_bytes = UDP_PACKET_BYTES};
	u->packets = hv_alloc((size_t)BATCH * UDP_PACKET_BYTES);
	u->fd = socket(to->addr.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (u->fd < 0 || connect(u->fd, (const struct sockaddr *)&to->addr, to->addr_len) != 0) {
		struct hv_err *err = hv_err_new(errno, "%s: %s", to->where, strerror(errno));

		udp_free(&u->base);
		return err;
	}
	setsockopt(u->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	for (unsigned i = 0; i < BATCH; i++) {
		u->parts[i].iov_base = packet(u, i);
		u->messages[i].msg_hdr.msg_iov = &u->parts[i];
		u->messages[i].msg_hdr.msg_iovlen = 1;
	}
	*ret = &u->base;
	return NULL;
}

/* -- all transports ---------------------------------------------------------------------------- */

uint8_t *hv_stream_out_room(struct hv_stream_out *out)
{
	return out->ops->room(out);
}

void hv_stream_out_put(struct hv_stream_out *out, size_t len_bytes)
{
	out->ops->put(out, len_bytes);
}

void hv_stream_out_flush(struct hv_stream_out *out)
{
	out->ops->flush(out);
}

void hv_stream_out_drain(struct hv_stream_out *out)
{
	out->ops->drain(out);
}

void hv_stream_out_free(struct hv_stream_out *out)
{
	if (out)
		out->ops->free(out);
}
