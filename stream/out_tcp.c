/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends frames over a TCP connection. Frames queue in memory while the collector is slow and are
 * dropped when the queue is full. */
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "stream/out.h"

#define SLOT_BYTES    HV_STREAM_FRAME_MAX
#define PENDING_BYTES (4u << 20)
#define MUCH_BYTES    (1u << 20) /* queue length above which a flush waits */
#define PART_BYTES    8192u	 /* frame length for parts of a table */
#define WAIT_MS	      50
#define RETRY_NS      HV_NS_PER_S
#define DRAIN_NS      (3 * HV_NS_PER_S)

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
		.ops = &tcp_ops, .want_bytes = PART_BYTES, .max_bytes = SLOT_BYTES};
	t->to = *to;
	t->pending = hv_alloc(PENDING_BYTES + 2 * SLOT_BYTES);
	begin_connection(t);
	if (t->fd >= 0)
		see_whether_connected(t, 1000);
	*ret = &t->base;
	return NULL;
}
