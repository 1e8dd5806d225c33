/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/broker/channel.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

/* Kinds of answers. Kinds of questions start at 2. */
enum { ANSWER_OK = 0, ANSWER_ERROR = 1 };

struct header {
	uint32_t kind;
	uint32_t nr_fds;
	uint64_t len_bytes;
	uint64_t args[4];
};

void hv_message_deinit(struct hv_message *m)
{
	free(m->bytes);
	for (size_t i = 0; i < m->nr_fds; i++)
		hv_close_at(&m->fds[i]);
	*m = (struct hv_message){0};
}

void hv_message_add_fd(struct hv_message *m, int fd)
{
	int copy;

	if (fd < 0 || m->nr_fds == HV_MESSAGE_FDS_MAX)
		return;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy >= 0)
		m->fds[m->nr_fds++] = copy;
}

static struct hv_err *gone(void)
{
	return hv_err_new(EPIPE, "the other process of the session has ended");
}

/* Sends the header and the files. */
static ssize_t send_head(int socket, struct header *head, const int *fds)
{
	struct iovec iov = {head, sizeof(*head)};
	union {
		char bytes[CMSG_SPACE(HV_MESSAGE_FDS_MAX * sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (head->nr_fds) {
		size_t len = head->nr_fds * sizeof(int);
		struct cmsghdr *c;

		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(len);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(len);
		memcpy(CMSG_DATA(c), fds, len);
	}
	return sendmsg(socket, &msg, MSG_NOSIGNAL);
}

static struct hv_err *send_rest(int socket, const uint8_t *bytes, size_t len_bytes)
{
	while (len_bytes) {
		ssize_t n = send(socket, bytes, len_bytes, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return gone();
		bytes += n;
		len_bytes -= (size_t)n;
	}
	return NULL;
}

struct hv_err *hv_channel_send(int socket, const struct hv_message *m)
{
	struct header head = {.kind = m->kind, (uint32_t)m->nr_fds, m->len_bytes, {0}};
	struct hv_err *err;
	ssize_t n;

	memcpy(head.args, m->args, sizeof(head.args));
	do
		n = send_head(socket, &head, m->fds);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return gone();
	err = send_rest(socket, (uint8_t *)&head + n, sizeof(head) - (size_t)n);
	return err ? err : send_rest(socket, m->bytes, m->len_bytes);
}

static void take_files(struct msghdr *msg, struct hv_message *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t nr = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < nr; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
			if (m->nr_fds < HV_MESSAGE_FDS_MAX)
				m->fds[m->nr_fds++] = fd;
			else
				close(fd);
		}
	}
}

/* Waits without limit if DEADLINE_NS is 0. */
static struct hv_err *wait_for_bytes(int socket, uint64_t deadline_ns)
{
	struct pollfd fd = {socket, POLLIN, 0};

	if (!deadline_ns)
		return NULL;
	do
		if (hv_now_ns() >= deadline_ns)
			return hv_err_new(
				ETIMEDOUT,
				"the other process of the session does not answer in time");
	while (poll(&fd, 1, hv_left_ms(deadline_ns)) <= 0);
	return NULL;
}

/* The files arrive with the first byte. */
static struct hv_err *receive_bytes(int socket, void *to, size_t len_bytes, uint64_t deadline_ns,
				    struct hv_message *m)
{
	char *at = to;

	while (len_bytes) {
		union {
			char bytes[CMSG_SPACE(HV_MESSAGE_FDS_MAX * sizeof(int))];
			struct cmsghdr align;
		} control;
		struct iovec iov = {at, len_bytes};
		struct msghdr msg = {.msg_iov = &iov,
				     .msg_iovlen = 1,
				     .msg_control = control.bytes,
				     .msg_controllen = sizeof(control.bytes)};
		struct hv_err *err = wait_for_bytes(socket, deadline_ns);
		ssize_t n;

		if (err)
			return err;
		n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return gone();
		take_files(&msg, m);
		at += n;
		len_bytes -= (size_t)n;
	}
	return NULL;
}

struct hv_err *hv_channel_receive(int socket, struct hv_message *ret)
{
	return hv_channel_receive_by(socket, 0, ret);
}

struct hv_err *hv_channel_receive_by(int socket, uint64_t deadline_ns, struct hv_message *ret)
{
	struct header head;
	struct hv_err *err;

	*ret = (struct hv_message){0};
	err = receive_bytes(socket, &head, sizeof(head), deadline_ns, ret);
	if (!err && (head.len_bytes > HV_MESSAGE_BYTES_MAX || head.nr_fds != ret->nr_fds))
		err = hv_err_new(
			EPROTO,
			"a message of %llu bytes and %u files is malformed; %zu files arrived",
			(unsigned long long)head.len_bytes, head.nr_fds, ret->nr_fds);
	if (!err) {
		ret->kind = head.kind;
		memcpy(ret->args, head.args, sizeof(ret->args));
		ret->len_bytes = head.len_bytes;
		/* NUL-terminates a string in the payload. */
		ret->bytes = hv_alloc(ret->len_bytes + 1);
		err = receive_bytes(socket, ret->bytes, ret->len_bytes, deadline_ns, ret);
	}
	if (err) {
		hv_message_deinit(ret);
		/* The stream is out of sync now. */
		shutdown(socket, SHUT_RDWR);
	}
	return err;
}

static struct hv_err *error_of(const struct hv_message *m)
{
	return hv_err_received(&(struct hv_err_sent){
		.code = m->args[0],
		.facts = m->args[1],
		.reason_off = m->args[2],
		.text = m->bytes,
		.len_bytes = m->len_bytes,
	});
}

struct hv_err *hv_channel_ask(int socket, const struct hv_message *question, struct hv_message *ret)
{
	struct hv_err *err = hv_channel_send(socket, question);

	if (!err)
		err = hv_channel_receive(socket, ret);
	if (err || ret->kind == ANSWER_OK)
		return err;
	err = error_of(ret);
	hv_message_deinit(ret);
	return err;
}

struct hv_err *hv_channel_answer(int socket, struct hv_err *err, const struct hv_message *answer)
{
	struct hv_message m = *answer;
	struct hv_err *lost;

	m.kind = ANSWER_OK;
	if (!err && m.len_bytes > HV_MESSAGE_BYTES_MAX)
		err = hv_err_new(EMSGSIZE, "an answer of %zu bytes is too long", m.len_bytes);
	if (err)
		m = (struct hv_message){
			.kind = ANSWER_ERROR,
			.args = {(uint64_t)err->code, err->facts,
				 (uint64_t)(err->reason - err->message)},
			.bytes = (uint8_t *)err->message,
			.len_bytes = strlen(err->message),
		};
	lost = hv_channel_send(socket, &m);
	hv_err_free(err);
	return lost;
}
