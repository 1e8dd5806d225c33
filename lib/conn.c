/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/conn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "base/clock.h"
#include "lib/alloc.h"
#include "lib/frames.h"

#define READ_FIRST (64u << 10)

/* 0: no limit. */
static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
	if (!a_ns || !b_ns)
		return a_ns ? a_ns : b_ns;
	return a_ns < b_ns ? a_ns : b_ns;
}

void conn_close(struct conn *c)
{
	if (!c)
		return;
	close(c->fd);
	free(c->out);
	free(c);
}

/* Without a limit, connect(2) blocks while the service accepts no connections and its queue is
 * full. */
static void limit_connect(int fd, uint64_t deadline_ns)
{
	int left_ms = hv_left_ms(deadline_ns);
	struct timeval limit = {left_ms / 1000, left_ms % 1000 * 1000 + 1};

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

struct hvt_error *conn_connect(const char *dir, const struct conn_peer *peer, int *ret)
{
	unsigned timeout_ms = peer->timeout_ms ? peer->timeout_ms : CONN_TIMEOUT_MS;
	uint64_t deadline_ns = earlier(hv_now_ns() + timeout_ms * HV_NS_PER_MS, peer->until_ns);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	HV_AUTO_FD int fd = -1;

	if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s/sock", dir) >=
	    sizeof(address.sun_path))
		return error_new(ENAMETOOLONG, "domain '%s': the path of the socket is too long",
				 peer->domain);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return error_new(errno, "domain '%s': cannot make a socket: %s", peer->domain,
				 strerror(errno));
	limit_connect(fd, deadline_ns);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0)
		return error_new(errno, "domain '%s': service (pid %d) does not answer: %s",
				 peer->domain, (int)peer->service_pid, strerror(errno));
	*ret = hv_take_fd(&fd);
	return NULL;
}

struct hvt_error *conn_adopt(int fd, const struct conn_peer *peer, struct conn **ret)
{
	struct conn *c = lib_alloc(sizeof(*c));

	if (!c)
		return error_no_memory();
	c->fd = fd;
	c->domain = peer->domain;
	c->service_pid = peer->service_pid;
	c->timeout_ms = peer->timeout_ms ? peer->timeout_ms : CONN_TIMEOUT_MS;
	c->until_ns = peer->until_ns;
	*ret = c;
	return NULL;
}

struct hvt_error *conn_open(const char *dir, const struct conn_peer *peer, struct conn **ret)
{
	struct conn *c = NULL;
	struct hvt_error *error = conn_adopt(-1, peer, &c);

	if (error)
		return error;
	error = conn_connect(dir, peer, &c->fd);
	if (error) {
		free(c);
		return error;
	}
	*ret = c;
	return NULL;
}

/* -- frames ----------------------------------------------------------------------------------- */

static struct hvt_error *ended(struct conn *c)
{
	c->broken = ECONNRESET;
	return error_new(ECONNRESET, "domain '%s': the session has ended", c->domain);
}

/* After the error CODE of a system call. */
static struct hvt_error *failed(struct conn *c, int code)
{
	if (code == ECONNRESET || code == EPIPE)
		return ended(c);
	c->broken = code;
	return error_new(code, "domain '%s': cannot reach the session: %s", c->domain,
			 strerror(code));
}

static struct hvt_error *late(struct conn *c)
{
	c->broken = ESHUTDOWN;
	return error_new(ESHUTDOWN, "domain '%s': the session does not answer", c->domain);
}

static struct hvt_error *not_understood(struct conn *c)
{
	c->broken = EPROTO;
	return error_new(EPROTO, "domain '%s': the service's answer cannot be understood",
			 c->domain);
}

static struct hvt_error *other_version(struct conn *c, unsigned version)
{
	c->broken = EPROTO;
	return error_new(EPROTO,
			 "domain '%s': the service (pid %d) speaks protocol %u, this hvtrace %d: "
			 "use the hvtrace that attached, or end the service with SIGTERM",
			 c->domain, (int)c->service_pid, version, WIRE_VERSION);
}

static struct hvt_error *check(struct conn *c)
{
	if (c->broken == ECONNRESET)
		return ended(c);
	if (c->broken == EPROTO)
		return not_understood(c);
	if (c->broken == ESHUTDOWN)
		return late(c);
	return c->broken ? failed(c, c->broken) : NULL;
}

uint64_t conn_deadline(const struct conn *c)
{
	return earlier(hv_now_ns() + c->timeout_ms * HV_NS_PER_MS, c->until_ns);
}

/* DEADLINE_NS 0: no limit. */
static struct hvt_error *wait_for(struct conn *c, short events, uint64_t deadline_ns)
{
	struct pollfd fd = {c->fd, events, 0};

	do
		if (deadline_ns && hv_now_ns() >= deadline_ns)
			return late(c); /* even if data keeps arriving */
	while (poll(&fd, 1, deadline_ns ? hv_left_ms(deadline_ns) : -1) <= 0);
	return NULL;
}

/* Removes the first LEN_BYTES of the two parts. */
static void advance(struct iovec parts[2], size_t len_bytes)
{
	for (unsigned i = 0; i < 2; i++) {
		size_t len = len_bytes < parts[i].iov_len ? len_bytes : parts[i].iov_len;

		if (len) /* a request without data has no second part */
			parts[i].iov_base = (uint8_t *)parts[i].iov_base + len;
		parts[i].iov_len -= len;
		len_bytes -= len;
	}
}

static struct hvt_error *send_parts(struct conn *c, struct iovec parts[2])
{
	uint64_t deadline_ns = conn_deadline(c);
	struct hvt_error *error = check(c);
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

	while (!error && parts[0].iov_len + parts[1].iov_len) {
		ssize_t n = sendmsg(c->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0)
			advance(parts, (size_t)n);
		else if (errno == EAGAIN)
			error = wait_for(c, POLLOUT, deadline_ns);
		else if (errno != EINTR)
			error = failed(c, errno);
	}
	return error;
}

struct hvt_error *conn_send(struct conn *c, const struct wire_frame *request, uint32_t *ret_tag)
{
	struct wire_frame frame = *request;
	uint8_t head[WIRE_HEAD_LEN];
	struct iovec parts[2] = {{head, sizeof(head)},
				 {(void *)request->data.data, request->data.len_bytes}};
	struct hvt_error *error;

	frame.tag = ++c->tag;
	wire_head(&frame, head);
	error = send_parts(c, parts);
	if (!error)
		*ret_tag = frame.tag;
	return error;
}

struct hvt_error *conn_send_many(struct conn *c, const struct wire_frame *request, unsigned nr,
				 uint32_t *ret_first_tag)
{
	uint8_t heads[CONN_SEND_MAX * WIRE_HEAD_LEN];
	struct iovec parts[2] = {{heads, nr * WIRE_HEAD_LEN}, {NULL, 0}};
	struct wire_frame frame = *request;
	uint32_t first = c->tag + 1;
	struct hvt_error *error;

	for (unsigned i = 0; i < nr; i++) {
		frame.tag = ++c->tag;
		wire_head(&frame, heads + i * WIRE_HEAD_LEN);
	}
	error = send_parts(c, parts);
	if (!error)
		*ret_first_tag = first;
	return error;
}

struct hvt_error *conn_fill(struct conn *c, bool *ret_any)
{
	struct hvt_error *error = check(c);
	ssize_t n;

	*ret_any = false;
	if (error)
		return error;
	memmove(c->in, c->in + c->at, c->end - c->at);
	c->end -= c->at;
	c->at = 0;
	n = recv(c->fd, c->in + c->end, sizeof(c->in) - c->end, MSG_DONTWAIT);
	*ret_any = n > 0;
	if (n == 0)
		return ended(c);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return failed(c, errno);
	c->end += n > 0 ? (size_t)n : 0;
	return NULL;
}

/* A frame has at most WIRE_HEAD_LEN + WIRE_DATA_MAX bytes, so an incomplete one leaves room. */
struct hvt_error *conn_next(struct conn *c, bool *ret_has, struct wire_frame *ret)
{
	struct hv_span in = {c->in + c->at, c->end - c->at};
	size_t used;

	*ret_has = false;
	switch (wire_decode(in, ret, &used)) {
	case WIRE_MORE:
		return NULL;
	case WIRE_FRAME:
		break;
	default:
		return not_understood(c);
	}
	if (ret->version != WIRE_VERSION)
		return other_version(c, ret->version);
	if (ret->kind != WIRE_OK && ret->kind != WIRE_ERROR && ret->kind != WIRE_NOTE)
		return not_understood(c);
	c->at += used;
	*ret_has = true;
	return NULL;
}

struct hvt_error *conn_take(struct conn *c, bool *ret_has, struct wire_frame *ret)
{
	struct hvt_error *error = check(c);
	bool any = true;

	*ret_has = false;
	while (!error && any) {
		error = conn_next(c, ret_has, ret);
		if (error || *ret_has)
			return error;
		error = conn_fill(c, &any);
	}
	return error;
}

struct hvt_error *conn_receive(struct conn *c, uint64_t deadline_ns, struct wire_frame *ret)
{
	bool has;

	for (;;) {
		struct hvt_error *error = conn_take(c, &has, ret);

		if (!error && !has) {
			if (!deadline_ns && c->end > c->at)
				deadline_ns = conn_deadline(c); /* for the rest of the frame */
			error = wait_for(c, POLLIN, deadline_ns);
		}
		if (!error && has && deadline_ns && hv_now_ns() >= deadline_ns)
			error = late(c);
		if (error || has)
			return error;
	}
}

/* The time limit for the reply to a request that may wait in the service. */
static uint64_t reply_deadline(const struct conn *c, const struct wire_frame *request,
			       uint64_t deadline_ns)
{
	if (request->wait_ms == WIRE_WAIT_FOREVER)
		return c->until_ns;
	return earlier(deadline_ns + request->wait_ms * HV_NS_PER_MS, c->until_ns);
}

/* A note without memory for it is skipped. */
static void pass_note(const struct conn *c, const struct wire_frame *note)
{
	HV_AUTO_FREE char *text = NULL;

	if (!c->on_note || memchr(note->data.data, '\0', note->data.len_bytes))
		return;
	text = lib_strndup((const char *)note->data.data, note->data.len_bytes);
	if (!text)
		return;
	error_make_safe(text);
	c->on_note(text, c->note_data);
}

struct hvt_error *conn_call(struct conn *c, const struct wire_frame *request,
			    struct wire_frame *ret)
{
	uint64_t deadline_ns = reply_deadline(c, request, conn_deadline(c));
	struct wire_frame reply;
	uint32_t tag;
	struct hvt_error *error = conn_send(c, request, &tag);

	while (!error && !(error = conn_receive(c, deadline_ns, &reply))) {
		if (reply.kind == WIRE_NOTE)
			pass_note(c, &reply);
		else if (reply.tag == tag)
			break;
		else if (c->on_reply)
			c->on_reply(c->data, &reply);
	}
	if (error)
		return error;
	if (reply.kind == WIRE_ERROR)
		return error_received(&reply);
	*ret = reply;
	return NULL;
}

/* -- requests in a poll loop ------------------------------------------------------------------ */

struct hvt_error *conn_queue(struct conn *c, const struct wire_frame *request, uint32_t *ret_tag)
{
	size_t len = WIRE_HEAD_LEN + request->data.len_bytes;
	struct wire_frame frame = *request;
	uint8_t *grown;

	if (c->out_at) {
		memmove(c->out, c->out + c->out_at, c->out_end - c->out_at);
		c->out_end -= c->out_at;
		c->out_at = 0;
	}
	if (c->out_room - c->out_end < len) {
		grown = lib_realloc_array(c->out, c->out_end + len, 2);
		if (!grown)
			return error_no_memory();
		c->out = grown;
		c->out_room = (c->out_end + len) * 2;
	}
	frame.tag = ++c->tag;
	wire_head(&frame, c->out + c->out_end);
	if (frame.data.len_bytes)
		memcpy(c->out + c->out_end + WIRE_HEAD_LEN, frame.data.data, frame.data.len_bytes);
	c->out_end += len;
	*ret_tag = frame.tag;
	return NULL;
}

bool conn_has_output(const struct conn *c)
{
	return c->out_at < c->out_end;
}

struct hvt_error *conn_flush(struct conn *c)
{
	struct hvt_error *error = check(c);

	while (!error && conn_has_output(c)) {
		ssize_t n = send(c->fd, c->out + c->out_at, c->out_end - c->out_at,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0)
			c->out_at += (size_t)n;
		else if (errno == EAGAIN)
			break;
		else if (errno != EINTR)
			error = failed(c, errno);
	}
	return error;
}

/* -- files ------------------------------------------------------------------------------------ */

static struct hvt_error *path_too_long(size_t len)
{
	return error_new(ENAMETOOLONG, "path of %zu bytes: too long", len);
}

struct hvt_error *conn_path(const char *dir, const char *name, char ret[WIRE_PATH_MAX])
{
	int len = snprintf(ret, WIRE_PATH_MAX, "%s/%s", dir, name);

	return len < WIRE_PATH_MAX ? NULL : path_too_long((size_t)len);
}

struct hvt_error *conn_call_path(struct conn *c, enum wire_kind kind, const char *path,
				 uint32_t arg, struct wire_frame *ret)
{
	size_t len = strlen(path);

	if (len >= WIRE_PATH_MAX)
		return path_too_long(len);
	return conn_call(c,
			 &(struct wire_frame){.kind = (uint16_t)kind,
					      .arg = arg,
					      .data = {(const uint8_t *)path, len}},
			 ret);
}

/* Keeps ERROR, or returns the error of closing. KIND is WIRE_CLOSE or WIRE_ABANDON. */
static struct hvt_error *end_file(struct conn *c, enum wire_kind kind, uint32_t handle,
				  struct hvt_error *error)
{
	struct wire_frame reply;
	struct hvt_error *last = conn_call(
		c, &(struct wire_frame){.kind = (uint16_t)kind, .handle = handle}, &reply);

	if (!error)
		return last;
	hvt_error_free(last);
	return error;
}

/* A buffer that grows; DATA has room for a NUL after LEN_BYTES. */
struct contents {
	char *data;
	size_t len_bytes, room;
};

static struct hvt_error *add(struct contents *t, struct hv_span data)
{
	size_t room = t->room ? t->room : READ_FIRST;

	if (data.len_bytes > HVT_FILE_MAX_BYTES - t->len_bytes)
		return error_new(EFBIG, "more than %u MiB", HVT_FILE_MAX_BYTES >> 20);
	while (room - 1 < t->len_bytes + data.len_bytes)
		room *= 2;
	if (room != t->room) {
		char *grown = lib_realloc_array(t->data, room, 1);

		if (!grown)
			return error_no_memory();
		t->data = grown;
		t->room = room;
	}
	if (data.len_bytes)
		memcpy(t->data + t->len_bytes, data.data, data.len_bytes);
	t->len_bytes += data.len_bytes;
	t->data[t->len_bytes] = '\0';
	return NULL;
}

static struct hvt_error *read_all(struct conn *c, uint32_t handle, struct contents *t)
{
	struct hvt_error *error = NULL;
	struct wire_frame reply;

	do {
		error = conn_call(c,
				  &(struct wire_frame){.kind = WIRE_READ,
						       .handle = handle,
						       .arg = WIRE_DATA_MAX},
				  &reply);
		/* A read of a file of events would wait now: the file ends after the events that
		 * exist. */
		if (hvt_error_errno(error) == EAGAIN && t->len_bytes) {
			hvt_error_free(error);
			return NULL;
		}
		if (!error)
			error = add(t, reply.data);
	} while (!error && reply.data.len_bytes);
	return error;
}

struct hvt_error *conn_read_file(struct conn *c, enum wire_kind kind, const char *path, char **ret,
				 size_t *ret_bytes)
{
	struct contents t = {0};
	struct wire_frame reply;
	struct hvt_error *error = conn_call_path(c, kind, path, O_RDONLY, &reply);

	if (error)
		return error;
	error = read_all(c, reply.handle, &t);
	error = end_file(c, WIRE_CLOSE, reply.handle, error);
	if (error) {
		free(t.data);
		return error;
	}
	*ret = t.data;
	if (ret_bytes)
		*ret_bytes = t.len_bytes;
	return NULL;
}

static void make_safe(char *text, size_t len_bytes)
{
	for (size_t i = 0; i < len_bytes; i++)
		if ((unsigned char)text[i] > '~' ||
		    (text[i] < ' ' && text[i] != '\n' && text[i] != '\t'))
			text[i] = '?';
}

struct hvt_error *conn_read_lines(struct conn *c, enum wire_kind kind, const char *path, char **ret,
				  size_t *ret_bytes)
{
	struct hvt_error *error = conn_read_file(c, kind, path, ret, ret_bytes);

	if (!error)
		make_safe(*ret, *ret_bytes);
	return error;
}

struct hvt_error *conn_write_all(struct conn *c, uint32_t handle, const void *data,
				 size_t len_bytes)
{
	const uint8_t *at = data;

	while (len_bytes) {
		size_t part = len_bytes < WIRE_DATA_MAX ? len_bytes : WIRE_DATA_MAX;
		struct wire_frame reply;
		struct hvt_error *error = conn_call(
			c,
			&(struct wire_frame){
				.kind = WIRE_WRITE, .handle = handle, .arg = 1, .data = {at, part}},
			&reply);

		if (error)
			return error;
		if (!reply.arg || reply.arg > part)
			return error_new(EIO, "only %u of %zu bytes were written", reply.arg, part);
		at += reply.arg;
		len_bytes -= reply.arg;
	}
	return NULL;
}

struct hvt_error *conn_write_file(struct conn *c, const char *path, enum hvt_write_mode mode,
				  const char *text)
{
	int flags = O_WRONLY | (mode == HVT_WRITE_APPEND ? O_APPEND : O_TRUNC);
	size_t len = strlen(text);
	HV_AUTO_FREE char *line = lib_alloc(len + 2);
	struct wire_frame reply;
	struct hvt_error *error;
	uint32_t handle;

	if (!line)
		return error_no_memory();
	error = conn_call_path(c, WIRE_OPEN, path, (uint32_t)flags, &reply);
	if (error)
		return error;
	handle = reply.handle;
	/* The newline ends the last word, so that its error is an error of the write. */
	memcpy(line, text, len);
	line[len] = '\n';
	error = conn_write_all(c, handle, line, len ? len + 1 : 0);
	/* A filter that is written in part would be another filter. */
	return end_file(c, error ? WIRE_ABANDON : WIRE_CLOSE, handle, error);
}

struct hvt_error *conn_write_in(struct conn *c, const char *dir, const char *name, const char *text)
{
	char path[WIRE_PATH_MAX];
	struct hvt_error *error = conn_path(dir, name, path);

	return error ? error : conn_write_file(c, path, HVT_WRITE_REPLACE, text);
}

struct hvt_error *conn_text(struct conn *c, const struct wire_frame *reply, char **ret)
{
	char *text;

	if (memchr(reply->data.data, '\0', reply->data.len_bytes))
		return not_understood(c);
	text = lib_strndup((const char *)reply->data.data, reply->data.len_bytes);
	if (!text)
		return error_no_memory();
	*ret = text;
	return NULL;
}

struct hvt_error *conn_list(struct conn *c, const char *path, char **ret)
{
	struct wire_frame reply;
	struct hvt_error *error = conn_call_path(c, WIRE_LIST, path, 0, &reply);

	return error ? error : conn_text(c, &reply, ret);
}
