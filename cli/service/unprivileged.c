/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/unprivileged.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "cli/service/btf_files.h"
#include "cli/service/kept_facts.h"
#include "cli/service/memory.h"
#include "vmm/broker/server.h"
#include "vmm/broker/client.h"
#include "vmm/broker/sandbox.h"

#define CHILD_NS (300 * HV_NS_PER_S)
#define ANSWER_S 10 /* for a part of an answer */

/* Kinds of messages of every child. */
enum {
	/* The release -> whether the file is proved, its path, the copy. */
	GIVE_BTF = UNPRIVILEGED_FIRST - 3,
	GIVE_FACTS, /* -> the facts of the session that died, or nothing */
	/* The code and the message of an error. */
	FAILED,
};

/* The child. */

/* Closes all files except the socket, and with them the parent's access to the guest and libvirt.
 * Returns the socket's new descriptor. */
static int keep_only(int socket)
{
	int null = open("/dev/null", O_RDWR);
	struct hv_err *err = hv_sandbox_keep(&socket);

	if (err || null < 0)
		_exit(1);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	close_range(STDERR_FILENO + 1, (unsigned)socket - 1, 0);
	close_range((unsigned)socket + 1, ~0u, 0);
	return socket;
}

static void say_failed(int socket, struct hv_err *err)
{
	struct hv_message m = {.kind = FAILED,
			       .args = {(uint64_t)err->code},
			       .bytes = (uint8_t *)err->message,
			       .len_bytes = strlen(err->message)};

	hv_err_free(hv_channel_send(socket, &m));
	hv_err_free(err);
}

struct hv_err *unprivileged_open_btf(void *socket, const char *release, struct hv_btf_given *ret)
{
	return btf_files_ask(*(const int *)socket, GIVE_BTF, release, ret);
}

struct hv_err *unprivileged_kept_facts(void *socket, uint8_t **ret, size_t *ret_len_bytes)
{
	return kept_facts_ask(*(const int *)socket, GIVE_FACTS, ret, ret_len_bytes);
}

static _Noreturn void run_child(int socket, const struct unprivileged *d)
{
	struct hv_guest *guest = NULL;
	struct hv_err *err;

	socket = keep_only(socket);
	prctl(PR_SET_NAME, d->comm);
	err = hv_broker_client_guest(socket, &guest);
	if (!err)
		err = memory_limit();
	if (!err)
		err = hv_sandbox_enter(socket, hv_broker_client_readable_ram(guest));
	if (err)
		say_failed(socket, err);
	else
		d->work(guest, socket, d->ctx);
	_exit(0);
}

/* The parent. */

/* A child that does not accept an answer is compromised. */
static void limit_answers(int socket)
{
	struct timeval limit = {.tv_sec = ANSWER_S};

	setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

static struct hv_err *give_btf(int socket, const struct unprivileged *d,
			       const struct hv_message *question)
{
	HV_AUTO_MESSAGE struct hv_message answer = {0};
	struct hv_err *err = btf_files_answer(d->btf, question, &answer);

	return hv_channel_answer(socket, err, &answer);
}

static struct hv_err *give_facts(int socket, const struct unprivileged *d)
{
	HV_AUTO_MESSAGE struct hv_message answer = {0};

	if (d->facts)
		kept_facts_answer(d->facts, &answer);
	return hv_channel_answer(socket, NULL, &answer);
}

/* Answers a message of the child. *RET_OVER: it was the last one. */
static struct hv_err *answer(struct hv_broker_server *server, int socket,
			     const struct unprivileged *d, const struct hv_message *m,
			     bool *ret_over)
{
	if (m->kind == GIVE_BTF)
		return give_btf(socket, d, m);
	if (m->kind == GIVE_FACTS)
		return give_facts(socket, d);
	if (m->kind < UNPRIVILEGED_FIRST)
		return hv_broker_server_answer(server, socket, m);
	*ret_over = d->heard(m, d->ctx);
	return *ret_over ? NULL : hv_channel_answer(socket, NULL, &(struct hv_message){0});
}

static struct hv_err *serve_child(struct hv_broker_server *server, int socket,
				  const struct unprivileged *d)
{
	uint64_t deadline_ns = hv_now_ns() + CHILD_NS;
	struct hv_err *err = NULL;
	bool is_over = false;

	limit_answers(socket);
	while (!err) {
		HV_AUTO_MESSAGE struct hv_message m = {0};

		err = hv_channel_receive_by(socket, deadline_ns, &m);
		if (!err && m.kind == FAILED)
			return hv_err_received(&(struct hv_err_sent){
				.code = m.args[0], .text = m.bytes, .len_bytes = m.len_bytes});
		if (!err)
			err = answer(server, socket, d, &m, &is_over);
		if (is_over)
			return NULL;
	}
	hv_err_free(err);
	return hv_err_new(
		ECHILD,
		"the unprivileged process of the service died while it read the guest's memory");
}

struct hv_err *unprivileged_run(struct hv_guest *guest, struct hv_broker_server *server,
				const struct unprivileged *d)
{
	struct hv_broker_server *used = server ? server : hv_broker_server_new(guest, d->adopts);
	HV_AUTO_FD int ours = -1;
	struct hv_err *err;
	int ends[2];
	pid_t pid;

	hv_broker_server_renew(used); /* ends holds */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return hv_err_new(
			errno,
			"cannot start the unprivileged process of the service: socketpair: %s",
			strerror(errno));
	ours = ends[0];
	pid = fork();
	if (pid == 0)
		run_child(ends[1], d);
	close(ends[1]);
	err = pid < 0 ? hv_err_new(errno,
				   "cannot start the unprivileged process of the service: fork: %s",
				   strerror(errno))
		      : serve_child(used, ours, d);
	if (!server)
		hv_broker_server_free(used);
	if (pid < 0)
		return err;
	kill(pid, SIGKILL); /* it has no more work */
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return err;
}
