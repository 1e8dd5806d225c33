/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guardian's process: a loop that waits for requests from the service, for the service's end,
 * and for the gdb stub. */
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/confine.h"
#include "vmm/helper.h"
#include "vmm/qemu/gdb/gdb_stub.h"
#include "vmm/qemu/gdb/guardian.h"
#include "vmm/qemu/gdb/stub_vcpus.h"
#include "vmm/unix_socket.h"

#define STOP_NS	 (3 * HV_NS_PER_S)  /* enough for the VMM to stop every vCPU and drain its I/O */
#define REPLY_NS (5 * HV_NS_PER_S)  /* limit for sending a reply outside of a hold */
#define LAST_NS	 (60 * HV_NS_PER_S) /* limit for a pending stop after the service has ended */
#define GRACE_NS HV_NS_PER_S

struct guard {
	enum hv_guardian_state machine;
	struct hv_gdb_stub stub;
	struct hv_stub_vcpus vcpus;
	uint64_t since_ns;    /* start of the hold */
	uint64_t deadline_ns; /* end of the hold */
	uint64_t held_ns;     /* duration of the last hold */
	bool expired;	      /* the last hold timed out */
	bool asleep;	      /* the held guest is suspended: its vCPUs were stopped already */
	bool was_opened;      /* the service has requested to open the stub */
	struct hv_text inbox;
};

static void stub_lost(struct guard *g)
{
	hv_gdb_stub_close(&g->stub);
	g->machine = HV_GUARDIAN_UNREACHED;
}

/* Ends a hold. A suspended guest stays suspended, unless it woke up and one of our packets stopped
 * it: then it is resumed. */
static struct hv_err *end_stop(struct guard *g, struct hv_gdb_limit limit)
{
	bool stays = g->asleep && !g->stub.was_stopped;

	g->asleep = false;
	return stays ? NULL : hv_gdb_stub_continue(&g->stub, limit);
}

static struct hv_err *resume(struct guard *g, struct hv_gdb_limit limit)
{
	struct hv_err *err = end_stop(g, limit);

	g->held_ns = hv_now_ns() - g->since_ns;
	if (err && err->code != ECANCELED) {
		stub_lost(g);
		return err;
	}
	hv_err_free(err); /* a busy VMM has not read the packet yet, but will */
	g->machine = HV_GUARDIAN_RUNS;
	return NULL;
}

/* Ends a hold that timed out or lost its service. Switches the stub back to virtual addresses
 * first: QEMU keeps the mode for the stub's next client. */
static void force_release(struct guard *g)
{
	struct hv_gdb_limit limit = {hv_now_ns() + GRACE_NS, -1};
	struct hv_packets virtual_mode = {0};
	struct hv_packets dropped = {0};

	hv_packets_add(&virtual_mode, "Qqemu.PhyMemMode:0");
	hv_err_free(hv_gdb_stub_exchange(&g->stub, &virtual_mode, limit, &dropped));
	hv_packets_deinit(&virtual_mode);
	hv_packets_deinit(&dropped);
	hv_err_free(resume(g, limit));
}

/* Resumes the guest when a stop arrives after its request has timed out. */
static void watch_stopping(struct guard *g)
{
	struct hv_gdb_limit now = {hv_now_ns(), -1};
	struct hv_err *err = hv_gdb_stub_await_stop(&g->stub, now);

	if (!err) {
		g->since_ns = hv_now_ns();
		force_release(g);
	} else if (err->code != ECANCELED) {
		stub_lost(g);
	}
	hv_err_free(err);
}

static void watch_stub(struct guard *g)
{
	struct hv_err *err;

	if (g->machine == HV_GUARDIAN_STOPPING) {
		watch_stopping(g);
		return;
	}
	err = hv_gdb_stub_drain(&g->stub);
	if (err)
		stub_lost(g);
	hv_err_free(err);
}

/* Takes over the socket that the service has connected. */
static struct hv_err *do_open(struct guard *g)
{
	struct hv_gdb_limit limit = {hv_now_ns() + STOP_NS, -1};
	struct hv_err *err = hv_gdb_stub_open(HV_HELPER_OTHER, limit, &g->stub);

	if (err)
		return err;
	g->machine = HV_GUARDIAN_HOLDS;
	g->since_ns = hv_now_ns();
	return resume(g, limit);
}

static struct hv_err *check_may_hold(const struct guard *g)
{
	if (g->machine == HV_GUARDIAN_RUNS)
		return NULL;
	return hv_err_new(EBUSY, "guardian: the gdb stub is %s",
			  g->machine == HV_GUARDIAN_UNREACHED ? "lost" : "busy");
}

static void held(struct guard *g, uint64_t max_ns)
{
	g->machine = HV_GUARDIAN_HOLDS;
	g->since_ns = hv_now_ns();
	g->deadline_ns = max_ns < UINT64_MAX - g->since_ns ? g->since_ns + max_ns : UINT64_MAX;
	g->expired = false;
}

/* Reads a pending stop. QEMU sends the stop reply before its monitor reports the guest as paused,
 * so the service can know of a stop that this process has not read yet. */
static void look_for_stop(struct guard *g)
{
	if (g->machine == HV_GUARDIAN_STOPPING)
		watch_stopping(g);
}

/* Stops waiting for a requested stop, unless it has arrived. */
static void forget_stop(struct guard *g)
{
	look_for_stop(g);
	if (g->machine == HV_GUARDIAN_STOPPING)
		g->machine = HV_GUARDIAN_RUNS;
}

static struct hv_err *do_hold_asleep(struct guard *g, uint64_t max_ns)
{
	struct hv_err *err;

	/* The guest fell asleep before it could stop. */
	forget_stop(g);
	err = check_may_hold(g);
	if (!err)
		err = hv_gdb_stub_drain(&g->stub);
	if (err)
		return err;
	g->stub.was_stopped = false;
	g->asleep = true;
	held(g, max_ns);
	return NULL;
}

static struct hv_err *do_hold(struct guard *g, uint64_t max_ns)
{
	struct hv_gdb_limit limit = {hv_now_ns() + STOP_NS, HV_HELPER_CONTROL};
	struct hv_err *err = check_may_hold(g);

	if (err)
		return err;
	err = hv_gdb_stub_interrupt(&g->stub, limit);
	if (err && err->code == ECANCELED) {
		hv_err_free(err);
		g->machine = HV_GUARDIAN_STOPPING;
		return hv_err_new(EBUSY, "guardian: the guest did not stop within %" PRIu64 " s",
				  STOP_NS / HV_NS_PER_S);
	}
	if (err) {
		stub_lost(g);
		return err;
	}
	held(g, max_ns);
	return NULL;
}

static struct hv_err *over(const struct guard *g)
{
	return hv_err_new(ETIMEDOUT,
			  "guardian: the hold timed out after %" PRIu64 " ms; the guest runs again",
			  g->held_ns / HV_NS_PER_MS);
}

static struct hv_err *exchange(void *ctx, const struct hv_packets *packets,
			       struct hv_packets *answers)
{
	struct guard *g = ctx;
	struct hv_gdb_limit limit = {g->deadline_ns, HV_HELPER_CONTROL};
	struct hv_err *err;

	if (g->expired)
		return over(g);
	if (g->machine != HV_GUARDIAN_HOLDS)
		return hv_err_new(EPIPE, "guardian: the guest is not held");
	err = hv_gdb_stub_exchange(&g->stub, packets, limit, answers);
	if (!err && g->asleep && packets->nr && !g->stub.was_stopped)
		err = hv_gdb_stub_acknowledge(&g->stub, limit);
	if (!err || err->code != ECANCELED)
		return err;
	hv_err_free(err);
	force_release(g);
	g->expired = true;
	return over(g);
}

static struct hv_err *do_describe(struct guard *g, const char *name)
{
	const struct hv_arch *arch = hv_arch_find(name);

	return arch ? hv_stub_vcpus_describe(&g->vcpus, arch)
		    : hv_err_new(ENOTSUP, "the architecture %s is not supported", name);
}

static struct hv_err *check_described(const struct guard *g)
{
	return g->vcpus.arch ? NULL
			     : hv_err_new(EINVAL, "guardian: hvtrace does not know the registers "
						  "of this architecture");
}

static struct hv_err *do_look(struct guard *g, uint64_t expected, struct hv_text *out)
{
	HV_AUTO_FREE struct hv_vcpu_regs *regs = NULL;
	unsigned nr = 0;
	struct hv_err *err = check_described(g);

	if (!err)
		err = hv_stub_vcpus_look(&g->vcpus, (unsigned)expected, &regs, &nr);
	if (!err)
		hv_text_add_bytes(out, regs, nr * sizeof(*regs));
	return err;
}

static struct hv_err *do_flush(struct guard *g)
{
	struct hv_err *err = check_described(g);

	return err ? err : hv_stub_vcpus_flush(&g->vcpus);
}

static struct hv_err *do_execute(struct guard *g, const struct hv_packets *packets)
{
	HV_AUTO_PACKETS struct hv_packets answers = {0};
	struct hv_err *err = exchange(g, packets, &answers);

	return err ? err : hv_packets_all_ok(packets, &answers);
}

static struct hv_err *do_release(struct guard *g)
{
	if (g->expired)
		return over(g);
	if (g->machine != HV_GUARDIAN_HOLDS)
		return hv_err_new(EPIPE, "guardian: the guest is not held");
	return resume(g, (struct hv_gdb_limit){hv_now_ns() + GRACE_NS, -1});
}

static bool send_all(struct guard *g, const void *bytes, size_t len)
{
	uint64_t deadline_ns =
		g->machine == HV_GUARDIAN_HOLDS ? g->deadline_ns : hv_now_ns() + REPLY_NS;
	const char *at = bytes;

	while (len) {
		struct pollfd p = {.fd = HV_HELPER_CONTROL, .events = POLLOUT};
		ssize_t nr;

		if (poll(&p, 1, hv_left_ms(deadline_ns)) == 0)
			return false;
		nr = send(HV_HELPER_CONTROL, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (nr < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		at += nr > 0 ? nr : 0;
		len -= nr > 0 ? (size_t)nr : 0;
	}
	return true;
}

/* Returns false if the service does not read the reply. */
static bool answer(struct guard *g, struct hv_err *err, const struct hv_text *out)
{
	struct guardian_reply reply = {
		.code = err ? err->code : 0,
		.len_bytes = err ? (uint32_t)strnlen(err->message, GUARDIAN_MESSAGE_MAX_BYTES)
				 : (uint32_t)out->len_bytes,
		.state = g->machine,
		.since_ns = g->since_ns,
		.held_ns = g->held_ns,
	};
	bool sent = send_all(g, &reply, sizeof(reply)) &&
		    send_all(g, err ? err->message : out->data, reply.len_bytes);

	hv_err_free(err);
	return sent;
}

static bool handle(struct guard *g, const struct guardian_request *request, char *bytes)
{
	struct hv_packets packets = {.bytes = {.data = bytes, .len_bytes = request->len_bytes},
				     .nr = request->nr};
	HV_AUTO_TEXT struct hv_text out = {0};
	struct hv_err *err = NULL;

	switch (request->op) {
	case GUARDIAN_READY:
		break;
	case GUARDIAN_OPEN:
		g->was_opened = true;
		err = do_open(g);
		break;
	case GUARDIAN_HOLD:
		err = do_hold(g, request->arg);
		break;
	case GUARDIAN_HOLD_ASLEEP:
		err = do_hold_asleep(g, request->arg);
		break;
	case GUARDIAN_DESCRIBE:
		err = do_describe(g, bytes);
		break;
	case GUARDIAN_LOOK:
		err = do_look(g, request->arg, &out);
		break;
	case GUARDIAN_FLUSH:
		err = do_flush(g);
		break;
	case GUARDIAN_EXECUTE:
		err = do_execute(g, &packets);
		break;
	case GUARDIAN_RELEASE:
		err = do_release(g);
		break;
	case GUARDIAN_STATE:
		look_for_stop(g);
		break;
	case GUARDIAN_FORGET:
		forget_stop(g);
		break;
	default:
		return false; /* as if the service had ended: the guest is resumed */
	}
	return answer(g, err, &out);
}

/* Returns false if the service has closed the connection. */
static bool read_control(struct guard *g)
{
	struct guardian_request request;
	char buf[65536];
	ssize_t nr = recv(HV_HELPER_CONTROL, buf, sizeof(buf), MSG_DONTWAIT);
	size_t whole;
	bool taken;

	if (nr < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (nr <= 0)
		return false;
	hv_text_add_bytes(&g->inbox, buf, (size_t)nr);
	if (g->inbox.len_bytes < sizeof(request))
		return true;
	memcpy(&request, g->inbox.data, sizeof(request));
	if (request.len_bytes > GUARDIAN_BYTES_MAX)
		return false;
	whole = sizeof(request) + request.len_bytes;
	if (g->inbox.len_bytes < whole)
		return true;
	taken = handle(g, &request, g->inbox.data + sizeof(request));
	hv_text_clear(&g->inbox); /* the service sends one request at a time */
	return taken;
}

static struct hv_helper_wake wait_for(const struct guard *g)
{
	bool watch = g->machine == HV_GUARDIAN_RUNS || g->machine == HV_GUARDIAN_STOPPING;

	return hv_helper_wait(watch ? g->stub.fd : -1,
			      g->machine == HV_GUARDIAN_HOLDS ? g->deadline_ns : UINT64_MAX);
}

/* Resumes the guest if it is stopped, after the service has ended. */
static void last_act(struct guard *g)
{
	uint64_t deadline_ns = hv_now_ns() + LAST_NS;
	struct sockaddr_un peer;
	socklen_t len = sizeof(peer);

	/* Connecting stops the guest. If the service has connected the socket and then ended before
	 * it sent GUARDIAN_OPEN, open the stub now, in order to resume the guest. */
	if (!g->was_opened && getpeername(HV_HELPER_OTHER, (struct sockaddr *)&peer, &len) == 0)
		hv_err_free(do_open(g));
	while (g->machine == HV_GUARDIAN_STOPPING && hv_now_ns() < deadline_ns) {
		struct pollfd p = {.fd = g->stub.fd, .events = POLLIN};

		if (poll(&p, 1, hv_left_ms(deadline_ns)) > 0)
			watch_stopping(g);
	}
	if (g->machine == HV_GUARDIAN_HOLDS)
		force_release(g);
	if (g->machine == HV_GUARDIAN_RUNS)
		hv_err_free(
			hv_gdb_stub_await_taken(&g->stub, (struct hv_gdb_limit){deadline_ns, -1}));
}

void guardian_run(void)
{
	const struct hv_confinement none = HV_CONFINEMENT_NONE;
	HV_AUTO_ERR struct hv_err *err = hv_confine(&none);
	struct guard g = {.stub = {.fd = -1}};

	if (err)
		_exit(1);
	g.vcpus = (struct hv_stub_vcpus){.exchange = exchange, .ctx = &g};
	for (;;) {
		struct hv_helper_wake wake = wait_for(&g);

		if (g.machine == HV_GUARDIAN_HOLDS && hv_now_ns() >= g.deadline_ns) {
			force_release(&g);
			g.expired = true;
		}
		if (wake.is_alone || (wake.is_asked && !read_control(&g)))
			break;
		if (wake.has_other && g.stub.fd >= 0 && g.machine != HV_GUARDIAN_HOLDS)
			watch_stub(&g);
	}
	last_act(&g);
	_exit(0);
}
