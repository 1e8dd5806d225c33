/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QMP on a unix socket: greeting, capabilities, then one command and its answer at a time; events
 * are skipped. Every line is a JSON object and ends in LF (QEMU docs/interop/qmp-spec.txt). */
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/text.h"
#include "base/clock.h"
#include "vmm/qemu/monitor.h"
#include "vmm/unix_socket.h"

#define TIMEOUT_NS     (20 * HV_NS_PER_S)
#define GREETING_NS    (3 * HV_NS_PER_S)
#define LINE_MAX_BYTES (32u << 20)

struct qmp {
	int fd;
	char *path;
	struct hv_text in;    /* received, not yet taken */
	size_t scanned_bytes; /* of IN, which have no newline */
};

static void qmp_free(void *self)
{
	struct qmp *q = self;

	hv_close_at(&q->fd);
	hv_text_deinit(&q->in);
	free(q->path);
	free(q);
}

static struct hv_err *wait_for(struct qmp *q, short events, uint64_t deadline_ns)
{
	struct pollfd p = {.fd = q->fd, .events = events};

	for (;;) {
		int nr = poll(&p, 1, hv_left_ms(deadline_ns));

		if (nr > 0)
			return NULL;
		if (nr < 0 && errno != EINTR)
			return hv_err_new(errno, "%s: %s", q->path, strerror(errno));
		if (nr == 0)
			return hv_err_new(ETIMEDOUT, "%s: no answer", q->path);
	}
}

static struct hv_err *send_line(struct qmp *q, const char *line, uint64_t deadline_ns)
{
	size_t len = strlen(line), sent = 0;

	while (sent < len) {
		ssize_t nr = send(q->fd, line + sent, len - sent, MSG_NOSIGNAL);
		struct hv_err *err;

		if (nr >= 0) {
			sent += (size_t)nr;
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return hv_err_new(errno, "%s: %s", q->path, strerror(errno));
		err = wait_for(q, POLLOUT, deadline_ns);
		if (err)
			return err;
	}
	return NULL;
}

static bool take_line(struct qmp *q, char **ret)
{
	char *end = q->in.data ? memchr(q->in.data + q->scanned_bytes, '\n',
					q->in.len_bytes - q->scanned_bytes)
			       : NULL;
	size_t len;

	q->scanned_bytes = q->in.len_bytes;
	if (!end)
		return false;
	len = (size_t)(end - q->in.data);
	*ret = strndup(q->in.data, len);
	if (!*ret)
		abort();
	memmove(q->in.data, end + 1, q->in.len_bytes - len - 1);
	q->in.len_bytes -= len + 1;
	q->scanned_bytes = 0;
	return true;
}

static struct hv_err *read_line(struct qmp *q, uint64_t deadline_ns, char **ret)
{
	char buf[65536];

	while (!take_line(q, ret)) {
		struct hv_err *err = wait_for(q, POLLIN, deadline_ns);
		ssize_t nr;

		if (err)
			return err;
		nr = recv(q->fd, buf, sizeof(buf), 0);
		if (nr == 0)
			return hv_err_new(ECONNRESET, "%s: the monitor closed the connection",
					  q->path);
		if (nr < 0 && errno != EAGAIN && errno != EINTR)
			return hv_err_new(errno, "%s: %s", q->path, strerror(errno));
		if (nr > 0)
			hv_text_add_bytes(&q->in, buf, (size_t)nr);
		if (q->in.len_bytes > LINE_MAX_BYTES)
			return hv_err_new(EMSGSIZE, "%s: an answer is longer than %u bytes",
					  q->path, LINE_MAX_BYTES);
	}
	return NULL;
}

static bool has_member(const char *line, const char *a, const char *b)
{
	HV_AUTO_JSON struct json_object *o = json_tokener_parse(line);

	return json_object_is_type(o, json_type_object) &&
	       (json_object_object_get_ex(o, a, NULL) || json_object_object_get_ex(o, b, NULL));
}

static struct hv_err *qmp_transact(void *self, const char *request, char **ret)
{
	struct qmp *q = self;
	uint64_t deadline_ns = hv_now_ns() + TIMEOUT_NS;
	HV_AUTO_FREE char *line = NULL;
	struct hv_err *err = send_line(q, request, deadline_ns);

	if (!err)
		err = send_line(q, "\n", deadline_ns);
	while (!err) {
		free(hv_take(line));
		err = read_line(q, deadline_ns, &line);
		if (!err && has_member(line, "return", "error")) {
			*ret = hv_take(line);
			return NULL;
		}
	}
	return err;
}

static const struct hv_monitor_ops qmp_ops = {
	.free = qmp_free,
	.transact = qmp_transact,
};

/* QEMU serves one client of a QMP socket at a time; others get no greeting until it leaves. */
static struct hv_err *greet(struct qmp *q)
{
	HV_AUTO_FREE char *line = NULL;
	struct hv_err *err = read_line(q, hv_now_ns() + GREETING_NS, &line);

	if (err && err->code == ETIMEDOUT) {
		hv_err_free(err);
		return hv_err_new(EBUSY,
				  "%s: no greeting within %" PRIu64
				  " s: another client is connected, or "
				  "this is not a QMP socket",
				  q->path, GREETING_NS / HV_NS_PER_S);
	}
	if (err)
		return err;
	if (!has_member(line, "QMP", "QMP"))
		return hv_err_new(EPROTO, "%s: this is not a QMP socket", q->path);
	return NULL;
}

struct hv_err *hv_qmp_open(const char *path, pid_t expected, struct hv_monitor **ret,
			   struct hv_unix_peer *ret_peer)
{
	struct qmp *q = hv_alloc(sizeof(*q));
	HV_AUTO_MONITOR struct hv_monitor *m = hv_monitor_new(&qmp_ops, q);
	HV_AUTO_JSON struct json_object *answer = NULL;
	struct hv_unix_peer peer = HV_UNIX_PEER_NONE;
	struct hv_err *err;

	q->fd = -1;
	q->path = hv_strdup(path);
	err = hv_unix_connect(path, hv_now_ns() + GREETING_NS, &q->fd);
	if (!err)
		err = hv_unix_peer(q->fd, path, expected, &peer);
	if (!err)
		err = greet(q);
	if (!err)
		err = hv_monitor_execute(m, "qmp_capabilities", NULL, &answer);
	if (err) {
		hv_close_at(&peer.pidfd);
		return err;
	}
	*ret_peer = peer;
	*ret = hv_take(m);
	return NULL;
}
