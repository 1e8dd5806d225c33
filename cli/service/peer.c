/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/peer.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

struct peer *peer_accept(int listen_fd)
{
	return peer_of(accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

struct peer *peer_of(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);
	struct peer *p;

	if (fd < 0)
		return NULL;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) != 0) {
		close(fd);
		return NULL;
	}
	p = hv_alloc(sizeof(*p));
	p->fd = fd;
	p->cred = cred;
	p->files_max = PEER_FILES_MAX;
	p->waits_max = PEER_WAITS_MAX;
	return p;
}

void peer_free(struct peer *p)
{
	if (!p)
		return;
	close(p->fd);
	hv_text_deinit(&p->in);
	hv_text_deinit(&p->out);
	free(p->files);
	free(p->waits);
	free(p->mount_dir);
	free(p->name);
	free(p);
}

static bool is_whole(const struct peer *p)
{
	struct wire_frame frame;
	size_t used;

	return wire_decode((struct hv_span){(uint8_t *)p->in.data, p->in.len_bytes}, &frame,
			   &used) != WIRE_MORE;
}

short peer_events(const struct peer *p)
{
	if (peer_has_output(p))
		return POLLOUT;
	if (is_whole(p))
		return POLLRDHUP;
	/* A client that closes its end while a request waits has died. In other cases, its earlier
	 * requests are still handled. */
	return p->nr_waits ? POLLIN | POLLRDHUP : POLLIN;
}

void peer_receive(struct peer *p)
{
	char buf[16384];
	ssize_t n;

	while (!p->gone && !is_whole(p)) {
		n = recv(p->fd, buf, sizeof(buf), 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0)
			p->gone = true;
		else
			hv_text_add_bytes(&p->in, buf, (size_t)n);
	}
}

void peer_send(struct peer *p)
{
	while (!p->gone && peer_has_output(p)) {
		ssize_t n = send(p->fd, p->out.data + p->out_sent_bytes,
				 p->out.len_bytes - p->out_sent_bytes, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			p->gone = true;
		else
			p->out_sent_bytes += (size_t)n;
	}
	p->gone |= p->leaves;
	hv_text_clear(&p->out);
	p->out_sent_bytes = 0;
}

bool peer_next(struct peer *p, struct wire_frame *ret, size_t *ret_used)
{
	enum wire_result result;

	if (p->gone || peer_has_output(p))
		return false;
	result = wire_decode((struct hv_span){(uint8_t *)p->in.data, p->in.len_bytes}, ret,
			     ret_used);
	if (result == WIRE_BAD)
		p->gone = true;
	return result == WIRE_FRAME;
}

void peer_next_done(struct peer *p, size_t used)
{
	memmove(p->in.data, p->in.data + used, p->in.len_bytes - used);
	p->in.len_bytes -= used;
}

void peer_answer(struct peer *p, const struct wire_frame *frame)
{
	struct wire_frame tagged = *frame;

	tagged.tag = p->tag;
	wire_encode(&p->out, &tagged);
	peer_send(p);
}

void peer_answer_bytes(struct peer *p, const void *data, size_t len_bytes)
{
	size_t len = len_bytes < WIRE_DATA_MAX ? len_bytes : WIRE_DATA_MAX;

	peer_answer(p, &(struct wire_frame){.kind = WIRE_OK, .data = {data, len}});
}

void peer_answer_error(struct peer *p, struct hv_err *err)
{
	size_t len = strlen(err->message);

	peer_answer(p, &(struct wire_frame){
			       .kind = WIRE_ERROR,
			       .handle = (uint32_t)(err->reason - err->message),
			       .arg = (uint32_t)err->code,
			       .data = {(uint8_t *)err->message,
					len < WIRE_DATA_MAX ? len : WIRE_DATA_MAX},
		       });
	hv_err_free(err);
}

void peer_note(struct peer *p, const char *text)
{
	peer_answer(p, &(struct wire_frame){
			       .kind = WIRE_NOTE,
			       .data = {(const uint8_t *)text, strlen(text)},
		       });
}

int peer_free_handle(struct peer *p)
{
	size_t i = 0;

	while (i < p->nr_files && p->files[i].path)
		i++;
	if (i == p->files_max)
		return -1;
	if (i == p->nr_files) {
		p->files = hv_realloc_array(p->files, i + 1, sizeof(*p->files));
		p->files[i] = (struct peer_file){0};
		p->nr_files++;
	}
	return (int)i;
}

struct peer_file *peer_file(struct peer *p, uint32_t handle)
{
	if (handle >= p->nr_files || !p->files[handle].path)
		return NULL;
	return &p->files[handle];
}

bool peer_add_wait(struct peer *p, const struct peer_wait *wait)
{
	if (p->nr_waits == p->waits_max)
		return false;
	p->waits = hv_realloc_array(p->waits, p->nr_waits + 1, sizeof(*p->waits));
	p->waits[p->nr_waits++] = *wait;
	return true;
}

void peer_drop_wait(struct peer *p, size_t index)
{
	/* Keeps the order: the reader that has waited longest gets data first. */
	p->nr_waits--;
	memmove(&p->waits[index], &p->waits[index + 1], (p->nr_waits - index) * sizeof(*p->waits));
}
