/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drives the privileged side with a hostile guardian (vmm/qemu/gdb/guardian.c). The input is a
 * request and the bytes that the guardian sends after it. This file replaces guardian_run(), which
 * runs in its own process but keeps its privileges. Each request must return, with the guarantees
 * of guardian.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "vmm/guest.h"
#include "vmm/helper.h"
#include "vmm/qemu/gdb/guardian.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *input;
static size_t input_bytes;
static uint32_t to; /* enum guardian_op */

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void reply_to(const struct guardian_request *request)
{
	struct guardian_reply good = {.state = HV_GUARDIAN_RUNS, .since_ns = hv_now_ns()};

	if (request->op == to) {
		send(HV_HELPER_CONTROL, input, input_bytes, MSG_NOSIGNAL);
		_exit(0);
	}
	send(HV_HELPER_CONTROL, &good, sizeof(good), MSG_NOSIGNAL);
}

_Noreturn void guardian_run(void)
{
	struct guardian_request request;
	char bytes[4096];

	while (recv(HV_HELPER_CONTROL, &request, sizeof(request), MSG_WAITALL) == sizeof(request)) {
		if (request.len_bytes)
			recv(HV_HELPER_CONTROL, bytes, request.len_bytes, MSG_WAITALL);
		reply_to(&request);
	}
	_exit(0);
}

/* Makes the gdb stub's socket, where this process listens and sends nothing. */
static int listen_at(struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address->sun_family = AF_UNIX;
	snprintf(address->sun_path, sizeof(address->sun_path), "/tmp/hvtrace-fuzz-guardian-%d",
		 (int)getpid());
	check(bind(fd, (struct sockaddr *)address, sizeof(*address)) == 0 && listen(fd, 1) == 0);
	return fd;
}

static struct hv_err *hold(struct hv_guardian *g)
{
	uint64_t before_ns = hv_now_ns(), from_ns = 0;
	struct hv_err *err = hv_guardian_hold(g, HV_NS_PER_S, &from_ns);

	check(err || (from_ns >= before_ns && from_ns <= hv_now_ns()));
	return err;
}

static struct hv_err *look(struct hv_guardian *g)
{
	HV_AUTO_FREE struct hv_vcpu_regs *regs = NULL;
	unsigned nr = 0;
	struct hv_err *err = hv_guardian_look(g, 2, &regs, &nr);

	check(err ? !regs : regs && !hv_vcpus_check(nr) && hv_vcpu_regs_are_sane(regs, nr));
	return err;
}

static struct hv_err *release(struct hv_guardian *g, uint64_t begun_ns)
{
	uint64_t held_ns = 0;
	struct hv_err *err = hv_guardian_release(g, &held_ns);

	check(held_ns <= hv_now_ns() - begun_ns);
	return err;
}

static struct hv_err *run_command(struct hv_guardian *g)
{
	HV_AUTO_PACKETS struct hv_packets packets = {0};

	hv_packets_add(&packets, "M0,1:90");
	return hv_guardian_execute(g, &packets);
}

static struct hv_err *ask(struct hv_guardian *g, uint64_t begun_ns)
{
	switch (to) {
	case GUARDIAN_DESCRIBE:
		return hv_guardian_describe(g, hv_arch_find("x86_64"));
	case GUARDIAN_LOOK:
		return look(g);
	case GUARDIAN_FLUSH:
		return hv_guardian_flush(g);
	case GUARDIAN_EXECUTE:
		return run_command(g);
	case GUARDIAN_RELEASE:
		return release(g, begun_ns);
	default:
		check(hv_guardian_state(g) < HV_NR_GUARDIAN_STATES);
		return NULL;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum guardian_op ops[] = {GUARDIAN_LOOK,  GUARDIAN_LOOK,	GUARDIAN_DESCRIBE,
					       GUARDIAN_HOLD,  GUARDIAN_FLUSH,	GUARDIAN_EXECUTE,
					       GUARDIAN_STATE, GUARDIAN_RELEASE};
	struct sockaddr_un address = {0};
	struct hv_guardian *g = NULL;
	uint64_t begun_ns = hv_now_ns();
	struct hv_err *err;
	int fd;

	if (size < 1)
		return 0;
	to = ops[data[0] % HV_ARRAY_LEN(ops)];
	input = data + 1;
	input_bytes = size - 1;
	fd = listen_at(&address);
	err = hv_guardian_start(address.sun_path, getpid(), &g);
	unlink(address.sun_path);
	close(fd);
	check(!err);
	err = hold(g);
	if (!err)
		err = ask(g, begun_ns);
	check(!err || (err->code > 0 && !strchr(err->message, '\n')));
	hv_err_free(err);
	hv_guardian_free(g);
	return 0;
}
