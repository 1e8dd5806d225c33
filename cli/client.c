/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/client.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "cli/domain_state.h"
#include "cli/spec.h"
#include "vmm/domains.h"
#include "vmm/guest.h"
#include "vmm/unix_socket.h"

#define GET_MAX_BYTES (1u << 20)

void client_close(struct client *c)
{
	hv_close_at(&c->fd);
	free(c->spec);
	rundir_info_deinit(&c->info);
	hv_text_deinit(&c->in);
	*c = (struct client)CLIENT_NONE;
}

static uint64_t limit_of(const struct client *c)
{
	return hv_now_ns() + (c->limit_s ? c->limit_s : CLIENT_ANSWER_S) * HV_NS_PER_S;
}

/* 0 means no limit. */
static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
	if (!a_ns || !b_ns)
		return a_ns ? a_ns : b_ns;
	return a_ns < b_ns ? a_ns : b_ns;
}

/* Without a limit, connect(2) blocks if the service accepts no connections and its queue is
 * full. */
static void limit_connect(int fd, uint64_t deadline_ns)
{
	int left_ms = hv_left_ms(deadline_ns);
	struct timeval limit = {left_ms / 1000, left_ms % 1000 * 1000 + 1};

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

static struct hv_err *connect_to(const struct rundir_info *info, uint64_t deadline_ns, int *ret)
{
	HV_AUTO_FREE char *path = rundir_path(info->path, "sock");
	HV_AUTO_FD int fd = -1;
	struct sockaddr_un addr;
	struct hv_err *err = hv_unix_socket(path, 0, &addr, &fd);

	if (err)
		return err;
	limit_connect(fd, deadline_ns);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0)
		return hv_err_new(errno, "service (pid %d) does not answer: %s",
				  (int)info->service_pid, strerror(errno));
	*ret = hv_take_fd(&fd);
	return NULL;
}

/* Returns the UUID of a domain that attach knew by another name. NULL: libvirt does not know the
 * domain (*RET_ASKED true) or does not answer (false). */
static char *libvirt_id(const char *spec, const char *uri, bool *ret_asked)
{
	struct hv_domain *list = NULL;
	HV_AUTO_FREE char *id = NULL;
	char number[16];
	size_t nr = 0;
	struct hv_err *err;

	*ret_asked = false;
	if (strchr(spec, ':'))
		return NULL;
	err = hv_domain_list(uri, &list, &nr);
	*ret_asked = !err;
	hv_err_free(err);
	for (size_t i = 0; i < nr && !id; i++) {
		snprintf(number, sizeof(number), "%d", list[i].id);
		if (strcmp(list[i].name, spec) == 0 || strcmp(list[i].uuid, spec) == 0 ||
		    (list[i].id >= 0 && strcmp(number, spec) == 0))
			id = hv_strdup(list[i].uuid);
	}
	hv_domain_list_free(list, nr);
	return hv_take(id);
}

static struct hv_err *no_session(const char *spec, const struct rundir_info *left, bool is_known)
{
	if (left)
		return domain_state_lacks_session(left, spec);
	if (is_known)
		return hv_err_new(ENOTCONN,
				  "domain '%s': not attached: run `hvtrace attach %s%s` first",
				  spec, spec_dashes(spec), spec);
	return hv_err_new(ENOENT,
			  "domain '%s': no such domain and no session of that name: see `hvtrace "
			  "list`",
			  spec);
}

/* Whether RUN_DIR belongs to root and this process is another user's, which sees only permitted
 * sessions. */
static bool is_strange(const char *run_dir)
{
	struct stat st;

	return geteuid() != 0 && stat(run_dir, &st) == 0 && st.st_uid != geteuid();
}

static struct hv_err *not_allowed(const char *spec)
{
	return hv_err_new(EACCES,
			  "domain '%s': no session that this user may use: needs root (use sudo), "
			  "or a rule in /etc/hvtrace.conf",
			  spec);
}

struct hv_err *client_look_up(const char *run_dir, const char *spec, const char *libvirt_uri,
			      bool *ret_found, struct rundir_info *ret, struct hv_err **ret_why)
{
	AUTO_RUNDIR_INFO struct rundir_info info = {0};
	HV_AUTO_FREE char *id = NULL;
	bool asked = false;
	bool found = false;
	struct hv_err *err;
	HV_AUTO_FREE char *given = spec_absolute(spec);

	err = rundir_find(run_dir, given, libvirt_uri, &found, &info);
	if (is_strange(run_dir) && (err || !found)) {
		hv_err_free(err);
		*ret_found = false;
		*ret_why = not_allowed(spec);
		return NULL;
	}
	if (!err && !found) {
		id = libvirt_id(given, libvirt_uri, &asked);
		if (id)
			err = rundir_find(run_dir, id, libvirt_uri, &found, &info);
	}
	if (err)
		return err;
	*ret_found = found && domain_state(&info) == DOMAIN_ATTACHED;
	if (!*ret_found) {
		*ret_why = no_session(spec, found ? &info : NULL, id || !asked);
		return NULL;
	}
	*ret = info;
	info = (struct rundir_info){0};
	return NULL;
}

struct hv_err *client_find(const char *run_dir, const char *spec, const char *libvirt_uri,
			   bool *ret_found, struct client *ret, struct hv_err **ret_why)
{
	AUTO_RUNDIR_INFO struct rundir_info info = {0};
	struct hv_err *err = client_look_up(run_dir, spec, libvirt_uri, ret_found, &info, ret_why);
	int fd = -1;

	if (err || !*ret_found)
		return err;
	err = connect_to(&info, earlier(limit_of(ret), ret->until_ns), &fd);
	if (err)
		return hv_err_in(err, "domain '%s'", spec);
	ret->fd = fd;
	ret->spec = hv_strdup(spec);
	ret->info = info;
	info = (struct rundir_info){0};
	return NULL;
}

struct hv_err *client_connect(const char *run_dir, const char *spec, const char *libvirt_uri,
			      struct client *ret)
{
	struct hv_err *why = NULL;
	bool found;
	struct hv_err *err = client_find(run_dir, spec, libvirt_uri, &found, ret, &why);

	return err ? err : why;
}

bool client_is_gone(const struct hv_err *err)
{
	return err && (err->code == ECONNRESET || err->code == ESHUTDOWN);
}

static struct hv_err *ended(const struct client *c)
{
	return hv_err_new(ECONNRESET, "domain '%s': the session has ended", c->spec);
}

void client_limit(struct client *c, unsigned limit_s)
{
	c->limit_s = limit_s;
}

void client_within(struct client *c, unsigned limit_s)
{
	c->until_ns = limit_s ? hv_now_ns() + limit_s * HV_NS_PER_S : 0;
}

/* Fails because the deadline has passed. */
static struct hv_err *late(struct client *c)
{
	shutdown(c->fd, SHUT_RDWR);
	return hv_err_new(ESHUTDOWN, "domain '%s': the session does not answer", c->spec);
}

/* Waits for EVENTS until DEADLINE_NS; 0: no deadline. */
static struct hv_err *wait_for(struct client *c, short events, uint64_t deadline_ns)
{
	struct pollfd fd = {c->fd, events, 0};

	do
		if (deadline_ns && hv_now_ns() >= deadline_ns)
			return late(c); /* even if data keeps arriving */
	while (poll(&fd, 1, deadline_ns ? hv_left_ms(deadline_ns) : -1) <= 0);
	return NULL;
}

static struct hv_err *not_understood(const struct client *c)
{
	return hv_err_new(EPROTO, "domain '%s': the service's answer cannot be understood",
			  c->spec);
}

static struct hv_err *send_all(struct client *c, const struct hv_text *out, uint64_t deadline_ns)
{
	size_t sent = 0;

	while (sent < out->len_bytes) {
		ssize_t n = send(c->fd, out->data + sent, out->len_bytes - sent,
				 MSG_NOSIGNAL | MSG_DONTWAIT);
		struct hv_err *err = NULL;

		if (n < 0 && errno == EAGAIN)
			err = wait_for(c, POLLOUT, deadline_ns);
		else if (n < 0 && errno != EINTR)
			err = ended(c);
		if (err)
			return err;
		sent += n > 0 ? (size_t)n : 0;
	}
	return NULL;
}

/* DEADLINE_NS 0: the deadline starts with the first byte of a frame. */
static struct hv_err *receive(struct client *c, uint64_t deadline_ns, struct wire_frame *ret,
			      size_t *ret_used)
{
	char buf[65536];

	for (;;) {
		enum wire_result result = wire_decode(
			(struct hv_span){(uint8_t *)c->in.data, c->in.len_bytes}, ret, ret_used);
		struct hv_err *err = NULL;
		ssize_t n;

		if (result == WIRE_FRAME)
			return NULL;
		if (result == WIRE_BAD)
			return not_understood(c);
		if (!deadline_ns && c->in.len_bytes)
			deadline_ns = limit_of(c);
		err = wait_for(c, POLLIN, deadline_ns);
		if (err)
			return err;
		n = recv(c->fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return ended(c);
		hv_text_add_bytes(&c->in, buf, (size_t)n);
	}
}

static void show_note(const struct client *c, const struct wire_frame *frame)
{
	HV_AUTO_TEXT struct hv_text shown = {0};
	HV_AUTO_FREE char *line = NULL;

	if (!c->on_note || !wire_string(frame->data, WIRE_DATA_MAX, &line))
		return;
	hv_text_add(&shown, "");
	hv_text_add_lines(&shown, line); /* the service forwards text of guests */
	c->on_note(shown.data);
}

static void consume(struct client *c, size_t used)
{
	memmove(c->in.data, c->in.data + used, c->in.len_bytes - used);
	c->in.len_bytes -= used;
}

static struct hv_err *error_of(const struct wire_frame *answer)
{
	return hv_err_received(&(struct hv_err_sent){
		.code = answer->arg,
		.reason_off = answer->handle,
		.text = answer->data.data,
		.len_bytes = answer->data.len_bytes,
	});
}

/* Returns 0 for a request without a deadline. */
static uint64_t answered_by(const struct wire_frame *request, uint64_t deadline_ns)
{
	if (request->wait_ms == WIRE_WAIT_FOREVER)
		return 0;
	return deadline_ns + request->wait_ms * HV_NS_PER_MS;
}

struct hv_err *client_call(struct client *c, const struct wire_frame *request,
			   struct wire_frame *ret)
{
	HV_AUTO_TEXT struct hv_text out = {0};
	struct wire_frame answer = {0};
	uint64_t deadline_ns = earlier(limit_of(c), c->until_ns);
	struct hv_err *err;
	size_t used;

	hv_text_clear(&c->in);
	wire_encode(&out, request);
	err = send_all(c, &out, deadline_ns);
	if (err)
		return err;
	deadline_ns = earlier(answered_by(request, deadline_ns), c->until_ns);
	while (!(err = receive(c, deadline_ns, &answer, &used)) && answer.kind == WIRE_NOTE) {
		show_note(c, &answer);
		consume(c, used);
	}
	if (err)
		return err;
	if (answer.kind == WIRE_ERROR)
		return error_of(&answer);
	if (answer.kind != WIRE_OK)
		return not_understood(c);
	*ret = answer;
	return NULL;
}

static struct hv_err *call_path(struct client *c, enum wire_kind kind, const char *path,
				uint32_t arg, struct wire_frame *ret)
{
	size_t len = strlen(path);

	if (len > PATH_MAX)
		return hv_err_new(ENAMETOOLONG, "path of %zu bytes: too long", len);
	return client_call(c,
			   &(struct wire_frame){.kind = (uint16_t)kind,
						.arg = arg,
						.data = {(const uint8_t *)path, len}},
			   ret);
}

struct hv_err *client_mkdir(struct client *c, const char *path, enum client_dir kind)
{
	struct wire_frame answer;

	return call_path(c, WIRE_MKDIR, path, kind == CLIENT_DIR_OURS, &answer);
}

struct hv_err *client_rmdir(struct client *c, const char *path)
{
	struct wire_frame answer;

	return call_path(c, WIRE_RMDIR, path, 0, &answer);
}

struct hv_err *client_open(struct client *c, const char *path, int flags, uint32_t *ret_handle)
{
	struct wire_frame answer;
	struct hv_err *err = call_path(c, WIRE_OPEN, path, (uint32_t)flags, &answer);

	if (!err)
		*ret_handle = answer.handle;
	return err;
}

struct hv_err *client_read(struct client *c, uint32_t handle, uint32_t wait_ms, struct hv_span *ret)
{
	struct wire_frame answer;
	struct hv_err *err = client_call(c,
					 &(struct wire_frame){.kind = WIRE_READ,
							      .handle = handle,
							      .arg = WIRE_DATA_MAX,
							      .wait_ms = wait_ms},
					 &answer);

	if (!err)
		*ret = answer.data;
	return err;
}

/* Writes all of TEXT, with further writes after a short count, as a shell does. */
static struct hv_err *write_all(struct client *c, uint32_t handle, struct hv_span text)
{
	struct wire_frame answer;
	size_t done = 0;

	while (done < text.len_bytes) {
		size_t left = text.len_bytes - done;
		struct hv_err *err = client_call(
			c,
			&(struct wire_frame){.kind = WIRE_WRITE,
					     .handle = handle,
					     .arg = 1,
					     .data = {text.data + done,
						      left < WIRE_DATA_MAX ? left : WIRE_DATA_MAX}},
			&answer);

		if (err)
			return err;
		if (answer.arg == 0 || answer.arg > left)
			return hv_err_new(EIO, "only %u of %zu bytes were written", answer.arg,
					  left);
		done += answer.arg;
	}
	return NULL;
}

struct hv_err *client_close_file(struct client *c, uint32_t handle)
{
	struct wire_frame answer;

	return client_call(c, &(struct wire_frame){.kind = WIRE_CLOSE, .handle = handle}, &answer);
}

struct hv_err *client_put(struct client *c, const char *path, int flags, const char *text)
{
	uint32_t handle;
	struct hv_err *err = client_open(c, path, flags, &handle);

	if (err)
		return err;
	err = write_all(c, handle, (struct hv_span){(const uint8_t *)text, strlen(text)});
	hv_err_keep_first(&err, client_close_file(c, handle));
	return err;
}

struct hv_err *client_error(const char *path, struct hv_err *err)
{
	const char *words = strerror(err->code);
	bool says_more = strncasecmp(words, err->reason, strlen(err->reason)) != 0;
	struct hv_err *told =
		hv_err_new(err->code, "%s: %s%s%s%s", path, words, says_more ? " (" : "",
			   says_more ? err->reason : "", says_more ? ")" : "");

	hv_err_free(err);
	return told;
}

struct hv_err *client_echo(struct client *c, const char *path, const char *text)
{
	const char *slash = strrchr(path, '/');
	HV_AUTO_TEXT struct hv_text line = {0};
	struct hv_err *err;

	if (text)
		hv_text_printf(&line, "%s\n", text);
	err = client_put(c, path, O_WRONLY | O_TRUNC, text ? line.data : "");
	if (!err || client_is_gone(err))
		return err;
	return client_error(slash ? slash + 1 : path, err);
}

struct hv_err *client_get(struct client *c, const char *path, struct hv_text *ret)
{
	struct hv_span data = {NULL, 1};
	uint32_t handle;
	struct hv_err *err = client_open(c, path, O_RDONLY, &handle);

	if (err)
		return err;
	while (!err && data.len_bytes && ret->len_bytes < GET_MAX_BYTES) {
		err = client_read(c, handle, 0, &data);
		if (!err && data.len_bytes)
			hv_text_add_bytes(ret, data.data, data.len_bytes);
	}
	hv_err_keep_first(&err, client_close_file(c, handle));
	return err;
}
