/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/qemu/guardian.h"

#include <sys/socket.h>

#include "base/capabilities.h"
#include "base/clock.h"
#include "vmm/helper.h"
#include "vmm/qemu/guardian_wire.h"
#include "vmm/unix_socket.h"

#define CONNECT_NS (3 * HV_NS_PER_S)

struct hv_guardian {
	struct hv_helper process;
};

pid_t hv_guardian_pid(const struct hv_guardian *g)
{
	return g->process.pid;
}

bool hv_guardian_is_alive(const struct hv_guardian *g)
{
	return hv_helper_is_alive(&g->process);
}

static void run(void *ctx hv_unused)
{
	guardian_run();
}

static const struct hv_helper_kind guardian_kind = {
	.noun = "guardian",
	.comm = "hvtrace-guard",
	.socket_type = SOCK_STREAM,
	.needs = HV_CAP(SETUID) | HV_CAP(SETGID), /* to become another user */
	.run = run,
};

static struct hv_err *receive_reply(struct hv_guardian *g, struct guardian_reply *ret,
				    char **ret_bytes)
{
	uint64_t deadline_ns = hv_now_ns() + HV_HELPER_ANSWER_NS;
	struct hv_err *err = hv_helper_receive(&g->process, ret, sizeof(*ret), deadline_ns);

	if (err)
		return err;
	if (ret->len_bytes > GUARDIAN_BYTES_MAX)
		return hv_err_new(EPROTO, "guardian: %u bytes of answers", ret->len_bytes);
	*ret_bytes = hv_alloc((size_t)ret->len_bytes + 1);
	return hv_helper_receive(&g->process, *ret_bytes, ret->len_bytes, deadline_ns);
}

static struct hv_err *call(struct hv_guardian *g, enum guardian_op op, uint64_t arg,
			   const struct hv_packets *strings, struct hv_packets *answers,
			   struct guardian_reply *ret)
{
	struct guardian_request request = {
		.op = op,
		.nr = strings ? (uint32_t)strings->nr : 0,
		.len_bytes = strings ? (uint32_t)strings->bytes.len_bytes : 0,
		.arg = arg,
	};
	HV_AUTO_FREE char *bytes = NULL;
	struct guardian_reply reply;
	struct hv_err *err = hv_helper_send(&g->process, &request, sizeof(request));

	if (!err && strings)
		err = hv_helper_send(&g->process, strings->bytes.data, strings->bytes.len_bytes);
	if (!err)
		err = receive_reply(g, &reply, &bytes);
	if (err)
		return err;
	if (ret)
		*ret = reply;
	if (reply.code)
		return hv_err_received(&(struct hv_err_sent){
			.code = (uint64_t)reply.code, .text = bytes, .len_bytes = reply.len_bytes});
	if (answers) {
		hv_text_add_bytes(&answers->bytes, bytes, reply.len_bytes);
		answers->nr += reply.nr;
	}
	return NULL;
}

/* Connects the socket that the guardian has, too. If it is of another process, nothing is sent
 * there: not by the guardian either. */
static struct hv_err *connect_stub(int fd, const struct sockaddr_un *address, const char *path,
				   pid_t vmm)
{
	struct hv_unix_peer peer = HV_UNIX_PEER_NONE;
	struct hv_err *err = hv_unix_connect_socket(fd, address, path, hv_now_ns() + CONNECT_NS);

	if (err)
		return err;
	err = hv_unix_peer(fd, path, vmm, &peer);
	if (err)
		shutdown(fd, SHUT_RDWR);
	hv_close_at(&peer.pidfd);
	return err;
}

/* The guardian has given up its rights before the guest is stopped. If this process dies while it
 * connects, the guardian resumes the guest. */
static struct hv_err *start(struct hv_guardian *g, const char *path, pid_t vmm)
{
	static struct hv_helper_kind kind;
	struct sockaddr_un address;
	HV_AUTO_FD int fd = -1;
	struct hv_err *err = hv_unix_socket(path, SOCK_NONBLOCK, &address, &fd);

	kind = guardian_kind;
	kind.other_fd = fd;
	if (!err)
		err = hv_helper_start(&kind, NULL, &g->process);
	if (!err)
		err = call(g, GUARDIAN_READY, 0, NULL, NULL, NULL);
	if (!err)
		err = connect_stub(fd, &address, path, vmm);
	return err ? err : call(g, GUARDIAN_OPEN, 0, NULL, NULL, NULL);
}

struct hv_err *hv_guardian_start(const char *socket_path, pid_t vmm, struct hv_guardian **ret)
{
	struct hv_guardian *g = hv_alloc(sizeof(*g));
	struct hv_err *err;

	g->process = HV_HELPER_NONE;
	err = start(g, socket_path, vmm);
	if (err) {
		hv_guardian_free(g);
		return err;
	}
	*ret = g;
	return NULL;
}

enum hv_guardian_state hv_guardian_state(struct hv_guardian *g)
{
	struct guardian_reply reply = {0};
	HV_AUTO_ERR struct hv_err *err = call(g, GUARDIAN_STATE, 0, NULL, NULL, &reply);

	return err ? HV_GUARDIAN_UNREACHED : (enum hv_guardian_state)reply.state;
}

void hv_guardian_forget_stop(struct hv_guardian *g)
{
	hv_err_free(call(g, GUARDIAN_FORGET, 0, NULL, NULL, NULL));
}

static struct hv_err *hold(struct hv_guardian *g, enum guardian_op op, uint64_t max_ns,
			   uint64_t *ret_from_ns)
{
	struct guardian_reply reply = {0};
	struct hv_err *err = call(g, op, max_ns, NULL, NULL, &reply);

	if (!err && ret_from_ns)
		*ret_from_ns = reply.since_ns;
	return err;
}

struct hv_err *hv_guardian_hold(struct hv_guardian *g, uint64_t max_ns, uint64_t *ret_from_ns)
{
	return hold(g, GUARDIAN_HOLD, max_ns, ret_from_ns);
}

struct hv_err *hv_guardian_hold_asleep(struct hv_guardian *g, uint64_t max_ns,
				       uint64_t *ret_from_ns)
{
	return hold(g, GUARDIAN_HOLD_ASLEEP, max_ns, ret_from_ns);
}

struct hv_err *hv_guardian_exchange(struct hv_guardian *g, const struct hv_packets *packets,
				    struct hv_packets *answers)
{
	return call(g, GUARDIAN_EXCHANGE, 0, packets, answers, NULL);
}

struct hv_err *hv_guardian_release(struct hv_guardian *g, uint64_t *ret_ns)
{
	struct guardian_reply reply = {0};
	struct hv_err *err = call(g, GUARDIAN_RELEASE, 0, NULL, NULL, &reply);

	if (reply.held_ns)
		*ret_ns = reply.held_ns;
	return err;
}

void hv_guardian_free(struct hv_guardian *g)
{
	/* A guardian that still waits for the VMM has something to do; it ends by itself
	 * afterwards. */
	if (g)
		hv_helper_end(&g->process);
	free(g);
}
