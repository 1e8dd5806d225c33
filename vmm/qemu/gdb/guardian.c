/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/qemu/gdb/guardian.h"

#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "base/capabilities.h"
#include "base/clock.h"
#include "vmm/guest.h"
#include "vmm/helper.h"
#include "vmm/unix_socket.h"

#define CONNECT_NS (3 * HV_NS_PER_S)

struct hv_guardian {
	struct hv_helper process;
	uint64_t held_from_ns; /* start of the last hold */
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

/* Kills a guardian whose reply is impossible, because it was taken over. The guest is then resumed
 * like after any end of the guardian. */
static struct hv_err *out_of_form(struct hv_guardian *g, const char *what)
{
	if (g->process.pid > 0)
		kill(g->process.pid, SIGKILL);
	shutdown(g->process.control, SHUT_RDWR);
	return hv_err_new(EPROTO, "guardian: %s", what);
}

/* A request, and the payload of its reply. */
struct asked {
	enum guardian_op op;
	uint64_t arg;
	const struct hv_packets *strings; /* may be NULL */
	size_t room_bytes;		  /* limit for the payload of the reply */
	struct guardian_reply reply;
	char *bytes; /* the payload, LEN_BYTES of the reply; owned */
};

static void asked_deinit(struct asked *a)
{
	free(a->bytes);
}
#define AUTO_ASKED hv_cleanup(asked_deinit)

static struct hv_err *receive_reply(struct hv_guardian *g, struct asked *a)
{
	uint64_t deadline_ns = hv_now_ns() + hv_helper_answer_ns;
	struct guardian_reply *r = &a->reply;
	struct hv_err *err = hv_helper_receive(&g->process, r, sizeof(*r), deadline_ns);

	if (err)
		return err;
	if (r->len_bytes > (r->code ? GUARDIAN_MESSAGE_MAX_BYTES : a->room_bytes))
		return out_of_form(g, "an answer that is too long");
	if (r->state >= HV_NR_GUARDIAN_STATES)
		return out_of_form(g, "an unknown state");
	a->bytes = hv_alloc((size_t)r->len_bytes + 1);
	return hv_helper_receive(&g->process, a->bytes, r->len_bytes, deadline_ns);
}

static struct hv_err *call(struct hv_guardian *g, struct asked *a)
{
	struct guardian_request request = {
		.op = a->op,
		.nr = a->strings ? (uint32_t)a->strings->nr : 0,
		.len_bytes = a->strings ? (uint32_t)a->strings->bytes.len_bytes : 0,
		.arg = a->arg,
	};
	struct hv_err *err = hv_helper_send(&g->process, &request, sizeof(request));

	if (!err && a->strings)
		err = hv_helper_send(&g->process, a->strings->bytes.data,
				     a->strings->bytes.len_bytes);
	if (!err)
		err = receive_reply(g, a);
	if (err || !a->reply.code)
		return err;
	return hv_err_received(&(struct hv_err_sent){.code = (uint64_t)a->reply.code,
						     .text = a->bytes,
						     .len_bytes = a->reply.len_bytes});
}

/* Sends a request without a value and expects a reply without payload. */
static struct hv_err *order(struct hv_guardian *g, enum guardian_op op,
			    const struct hv_packets *strings)
{
	AUTO_ASKED struct asked a = {.op = op, .strings = strings};

	return call(g, &a);
}

/* Connects the socket that the guardian shares. If the peer is another process, shuts the socket
 * down, so that the guardian cannot send to it either. */
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

/* The guardian has dropped its privileges before the guest is stopped. If this process dies while
 * it connects, the guardian resumes the guest. */
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
		err = order(g, GUARDIAN_READY, NULL);
	if (!err)
		err = connect_stub(fd, &address, path, vmm);
	return err ? err : order(g, GUARDIAN_OPEN, NULL);
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
	AUTO_ASKED struct asked a = {.op = GUARDIAN_STATE};
	HV_AUTO_ERR struct hv_err *err = call(g, &a);

	return err ? HV_GUARDIAN_UNREACHED : (enum hv_guardian_state)a.reply.state;
}

void hv_guardian_forget_stop(struct hv_guardian *g)
{
	hv_err_free(order(g, GUARDIAN_FORGET, NULL));
}

static struct hv_err *hold(struct hv_guardian *g, enum guardian_op op, uint64_t max_ns,
			   uint64_t *ret_from_ns)
{
	AUTO_ASKED struct asked a = {.op = op, .arg = max_ns};
	uint64_t asked_ns = hv_now_ns();
	struct hv_err *err = call(g, &a);

	if (err)
		return err;
	if (a.reply.since_ns < asked_ns || a.reply.since_ns > hv_now_ns())
		return out_of_form(g, "a hold that began outside of its request");
	g->held_from_ns = a.reply.since_ns;
	if (ret_from_ns)
		*ret_from_ns = a.reply.since_ns;
	return NULL;
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

struct hv_err *hv_guardian_describe(struct hv_guardian *g, const struct hv_arch *arch)
{
	HV_AUTO_PACKETS struct hv_packets name = {0};

	hv_packets_add(&name, arch->name);
	return order(g, GUARDIAN_DESCRIBE, &name);
}

struct hv_err *hv_guardian_look(struct hv_guardian *g, unsigned expected, struct hv_vcpu_regs **ret,
				unsigned *ret_nr)
{
	AUTO_ASKED struct asked a = {
		.op = GUARDIAN_LOOK,
		.arg = expected,
		.room_bytes = HV_VCPUS_MAX * sizeof(**ret),
	};
	struct hv_err *err = call(g, &a);
	size_t nr = a.reply.len_bytes / sizeof(**ret);

	if (err)
		return err;
	if (!nr || a.reply.len_bytes % sizeof(**ret) || !hv_vcpu_regs_are_sane(a.bytes, nr))
		return out_of_form(g, "registers that no vCPUs have");
	*ret = (void *)hv_take(a.bytes);
	*ret_nr = (unsigned)nr;
	return NULL;
}

struct hv_err *hv_guardian_flush(struct hv_guardian *g)
{
	return order(g, GUARDIAN_FLUSH, NULL);
}

struct hv_err *hv_guardian_execute(struct hv_guardian *g, const struct hv_packets *packets)
{
	return order(g, GUARDIAN_EXECUTE, packets);
}

struct hv_err *hv_guardian_release(struct hv_guardian *g, uint64_t *ret_ns)
{
	AUTO_ASKED struct asked a = {.op = GUARDIAN_RELEASE};
	struct hv_err *err = call(g, &a);

	if (a.reply.held_ns > hv_now_ns() - g->held_from_ns) {
		hv_err_free(err);
		return out_of_form(g, "a hold that was longer than possible");
	}
	if (a.reply.held_ns)
		*ret_ns = a.reply.held_ns;
	return err;
}

void hv_guardian_free(struct hv_guardian *g)
{
	/* A guardian that still waits for a stop is left running, and ends after it has resumed the
	 * guest. */
	if (g)
		hv_helper_end(&g->process);
	free(g);
}
