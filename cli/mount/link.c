/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/mount/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

struct request {
	uint32_t tag;
	link_done done;
	void *arg;
};

struct link {
	int fd;
	struct hv_text in;
	struct hv_text out;
	size_t out_sent_bytes;
	struct request *waiting; /* owned */
	size_t nr_waiting;
	uint32_t next_tag;
	bool gone;
};

struct link *link_new(int fd)
{
	struct link *l = hv_alloc(sizeof(*l));

	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	l->fd = fd;
	l->next_tag = 1;
	hv_text_add(&l->in, ""); /* decoded even before data arrives */
	return l;
}

void link_free(struct link *l)
{
	if (!l)
		return;
	close(l->fd);
	hv_text_deinit(&l->in);
	hv_text_deinit(&l->out);
	free(l->waiting);
	free(l);
}

int link_fd(const struct link *l)
{
	return l->fd;
}

short link_events(const struct link *l)
{
	return POLLIN | (l->out_sent_bytes < l->out.len_bytes ? POLLOUT : 0);
}

uint32_t link_send(struct link *l, const struct wire_frame *frame, link_done done, void *arg)
{
	struct wire_frame tagged = *frame;

	tagged.tag = l->next_tag++;
	l->waiting = hv_realloc_array(l->waiting, l->nr_waiting + 1, sizeof(*l->waiting));
	l->waiting[l->nr_waiting++] = (struct request){tagged.tag, done, arg};
	wire_encode(&l->out, &tagged);
	return tagged.tag;
}

static void send_out(struct link *l)
{
	while (!l->gone && l->out_sent_bytes < l->out.len_bytes) {
		ssize_t n = send(l->fd, l->out.data + l->out_sent_bytes,
				 l->out.len_bytes - l->out_sent_bytes, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			l->gone = true;
		else
			l->out_sent_bytes += (size_t)n;
	}
	hv_text_clear(&l->out);
	l->out_sent_bytes = 0;
}

/* Receives at most one buffer, so undecoded data never exceeds a frame plus a buffer. */
static void receive(struct link *l)
{
	char buf[65536];
	ssize_t n;

	do
		n = recv(l->fd, buf, sizeof(buf), 0);
	while (n < 0 && errno == EINTR);
	if (n > 0)
		hv_text_add_bytes(&l->in, buf, (size_t)n);
	else if (n == 0 || errno != EAGAIN)
		l->gone = true;
}

static void answer(struct link *l, const struct wire_frame *frame)
{
	size_t i = 0;

	if (frame->kind != WIRE_OK && frame->kind != WIRE_ERROR)
		return;
	while (i < l->nr_waiting && l->waiting[i].tag != frame->tag)
		i++;
	if (i < l->nr_waiting) {
		struct request r = l->waiting[i];

		l->nr_waiting--;
		memmove(&l->waiting[i], &l->waiting[i + 1],
			(l->nr_waiting - i) * sizeof(*l->waiting));
		if (r.done)
			r.done(r.arg, frame);
	}
}

bool link_step(struct link *l)
{
	enum wire_result result = WIRE_FRAME;
	struct wire_frame frame;
	size_t done = 0, used;

	send_out(l);
	receive(l);
	while (result == WIRE_FRAME) {
		result = wire_decode(
			(struct hv_span){(uint8_t *)l->in.data + done, l->in.len_bytes - done},
			&frame, &used);
		if (result != WIRE_FRAME)
			break;
		answer(l, &frame);
		done += used;
	}
	if (done) {
		memmove(l->in.data, l->in.data + done, l->in.len_bytes - done);
		l->in.len_bytes -= done;
	}
	send_out(l);
	return !l->gone && result != WIRE_BAD;
}
