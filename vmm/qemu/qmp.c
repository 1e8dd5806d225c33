/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QMP on a unix socket: greeting, capabilities, then one command and its answer at a time; events
 * are skipped. Each line is a JSON object that ends with LF (QEMU docs/interop/qmp-spec.txt).
 *
 * After a stop, a VMM also answers commands that timed out long ago. So each command has an id,
 * which its answer repeats, and answers with other ids are dropped. */
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/text.h"
#include "base/clock.h"
#include "vmm/qemu/monitor.h"
#include "vmm/unix_socket.h"

#define GREETING_NS    (3 * HV_NS_PER_S)
#define LINE_MAX_BYTES (32u << 20)

uint64_t hv_qmp_timeout_ns = 20 * HV_NS_PER_S;

struct qmp {
	int fd;
	char *path;
	uint64_t id; /* of the last command */
	/* Commands from the first unsent byte on. A command that timed out is sent completely
	 * before the next one. */
	struct hv_text out;
	struct hv_text in;    /* received */
	size_t taken_bytes;   /* consumed bytes of IN */
	size_t scanned_bytes; /* bytes of IN after TAKEN_BYTES that contain no newline */
	uint64_t deadline_ns; /* of the command or the greeting */
	bool is_late;	      /* the deadline had passed at the last wait */
};

static void qmp_free(void *self)
{
	struct qmp *q = self;

	hv_close_at(&q->fd);
	hv_text_deinit(&q->in);
	hv_text_deinit(&q->out);
	free(q->path);
	free(q);
}

static struct hv_err *no_answer(const struct qmp *q)
{
	return hv_err_new(ETIMEDOUT, "%s: no answer", q->path);
}

static void begin(struct qmp *q, uint64_t limit_ns)
{
	q->deadline_ns = hv_now_ns() + limit_ns;
	q->is_late = false;
}

/* The first wait after the deadline still succeeds if data is there: it may have arrived in time
 * while this process was not running. Later waits fail, because a VMM can send endlessly. */
static struct hv_err *wait_for(struct qmp *q, short events)
{
	struct pollfd p = {.fd = q->fd, .events = events};

	if (q->is_late)
		return no_answer(q);
	for (;;) {
		int nr;

		q->is_late = hv_now_ns() >= q->deadline_ns;
		nr = poll(&p, 1, hv_left_ms(q->deadline_ns));
		if (nr > 0)
			return NULL;
		if (nr < 0 && errno != EINTR)
			return hv_err_new(errno, "%s: %s", q->path, strerror(errno));
		if (nr == 0 || q->is_late)
			return no_answer(q);
	}
}

static void drop_first(struct hv_text *t, size_t nr)
{
	memmove(t->data, t->data + nr, t->len_bytes - nr);
	t->len_bytes -= nr;
}

static struct hv_err *send_all(struct qmp *q)
{
	struct hv_err *err = NULL;
	size_t sent = 0;

	while (!err && sent < q->out.len_bytes) {
		ssize_t nr = send(q->fd, q->out.data + sent, q->out.len_bytes - sent, MSG_NOSIGNAL);

		if (nr >= 0)
			sent += (size_t)nr;
		else if (errno != EAGAIN && errno != EINTR)
			err = hv_err_new(errno, "%s: %s", q->path, strerror(errno));
		else
			err = wait_for(q, POLLOUT);
	}
	drop_first(&q->out, sent);
	return err;
}

static bool take_line(struct qmp *q, char **ret)
{
	size_t from = q->taken_bytes + q->scanned_bytes;
	char *end = from < q->in.len_bytes ? memchr(q->in.data + from, '\n', q->in.len_bytes - from)
					   : NULL;
	size_t len;

	q->scanned_bytes = q->in.len_bytes - q->taken_bytes;
	if (!end)
		return false;
	len = (size_t)(end - q->in.data) - q->taken_bytes;
	*ret = strndup(q->in.data + q->taken_bytes, len);
	if (!*ret)
		abort();
	q->taken_bytes += len + 1;
	q->scanned_bytes = 0;
	return true;
}

static struct hv_err *receive(struct qmp *q)
{
	char buf[65536];
	ssize_t nr = recv(q->fd, buf, sizeof(buf), 0);

	if (nr == 0)
		return hv_err_new(ECONNRESET, "%s: the monitor closed the connection", q->path);
	if (nr < 0 && errno != EAGAIN && errno != EINTR)
		return hv_err_new(errno, "%s: %s", q->path, strerror(errno));
	if (nr > 0 && q->taken_bytes) {
		drop_first(&q->in, q->taken_bytes);
		q->taken_bytes = 0;
	}
	if (nr > 0)
		hv_text_add_bytes(&q->in, buf, (size_t)nr);
	if (q->in.len_bytes > LINE_MAX_BYTES)
		return hv_err_new(EMSGSIZE, "%s: an answer is longer than %u bytes", q->path,
				  LINE_MAX_BYTES);
	return NULL;
}

static struct hv_err *read_line(struct qmp *q, char **ret)
{
	while (!take_line(q, ret)) {
		struct hv_err *err = wait_for(q, POLLIN);

		if (!err)
			err = receive(q);
		if (err)
			return err;
	}
	return NULL;
}

static bool has(struct json_object *o, const char *key)
{
	return json_object_is_type(o, json_type_object) && json_object_object_get_ex(o, key, NULL);
}

/* Whether LINE answers the last command. */
static bool is_answer(const struct qmp *q, const char *line)
{
	HV_AUTO_JSON struct json_object *o = json_tokener_parse(line);

	return (has(o, "return") || has(o, "error")) && hv_json_int(o, "id", 0) == (int64_t)q->id;
}

static struct hv_err *qmp_transact(void *self, const char *request, char **ret)
{
	struct qmp *q = self;
	HV_AUTO_FREE char *line = NULL;
	struct hv_err *err;

	begin(q, hv_qmp_timeout_ns);
	hv_text_printf(&q->out, "{\"id\":%" PRIu64 ",%s\n", ++q->id, request + 1);
	err = send_all(q);
	while (!err) {
		free(hv_take(line));
		err = read_line(q, &line);
		if (!err && is_answer(q, line)) {
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

/* QEMU serves one client of a QMP socket at a time. Others receive no greeting until it
 * disconnects. */
static struct hv_err *greet(struct qmp *q)
{
	HV_AUTO_JSON struct json_object *greeting = NULL;
	HV_AUTO_FREE char *line = NULL;
	struct hv_err *err;

	begin(q, GREETING_NS);
	err = read_line(q, &line);
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
	greeting = json_tokener_parse(line);
	if (!has(greeting, "QMP"))
		return hv_err_new(EPROTO, "%s: this is not a QMP socket", q->path);
	return NULL;
}

struct hv_err *hv_qmp_connect(const char *path, pid_t expected, int *ret_fd,
			      struct hv_unix_peer *ret_peer)
{
	HV_AUTO_FD int fd = -1;
	struct hv_err *err = hv_unix_connect(path, hv_now_ns() + GREETING_NS, &fd);

	if (!err)
		err = hv_unix_peer(fd, path, expected, ret_peer);
	if (!err)
		*ret_fd = hv_take_fd(&fd);
	return err;
}

struct hv_err *hv_qmp_open(int fd, const char *path, struct hv_monitor **ret)
{
	struct qmp *q = hv_alloc(sizeof(*q));
	HV_AUTO_MONITOR struct hv_monitor *m = hv_monitor_new(&qmp_ops, q);
	HV_AUTO_JSON struct json_object *answer = NULL;
	struct hv_err *err;

	q->fd = fd;
	q->path = hv_strdup(path);
	err = greet(q);
	if (!err)
		err = hv_monitor_execute(m, "qmp_capabilities", NULL, &answer);
	if (!err)
		*ret = hv_take(m);
	return err;
}
