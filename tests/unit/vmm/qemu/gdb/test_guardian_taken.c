/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hostile guardian: this file replaces guardian_run(), and sends malformed replies and impossible
 * values. Each request must fail with one error and end the process. */
#include <check.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "tests/lib/run_suite.h"
#include "vmm/guest.h"
#include "vmm/helper.h"
#include "vmm/qemu/gdb/guardian.h"

/* The reply to requests of kind TO. Other requests receive a correct reply. */
static struct {
	uint32_t to; /* enum guardian_op */
	struct guardian_reply reply;
	const void *bytes;
	size_t nr_bytes; /* may differ from reply.len_bytes */
	bool ends;
	bool does_not_read;
} does;

static char dir[32];
static char path[sizeof(dir) + 8];
static int listener;
static struct hv_guardian *guardian;

static void reply_to(const struct guardian_request *request)
{
	struct guardian_reply good = {.state = HV_GUARDIAN_RUNS, .since_ns = hv_now_ns()};

	if (request->op != does.to) {
		send(HV_HELPER_CONTROL, &good, sizeof(good), MSG_NOSIGNAL);
		return;
	}
	if (does.ends)
		_exit(0);
	send(HV_HELPER_CONTROL, &does.reply, sizeof(does.reply), MSG_NOSIGNAL);
	send(HV_HELPER_CONTROL, does.bytes, does.nr_bytes, MSG_NOSIGNAL);
}

static _Noreturn void wait_until_abandoned(void)
{
	struct pollfd hangup = {.fd = HV_HELPER_CONTROL};

	poll(&hangup, 1, -1);
	_exit(0);
}

_Noreturn void guardian_run(void)
{
	struct guardian_request request;
	char bytes[4096];

	while (recv(HV_HELPER_CONTROL, &request, sizeof(request), MSG_WAITALL) == sizeof(request)) {
		if (does.does_not_read && request.op == does.to)
			wait_until_abandoned();
		if (request.len_bytes)
			recv(HV_HELPER_CONTROL, bytes, request.len_bytes, MSG_WAITALL);
		reply_to(&request);
	}
	_exit(0);
}

static void setup(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	memset(&does, 0, sizeof(does));
	hv_helper_answer_ns = 20 * HV_NS_PER_S; /* reset it: tests can share a process */
	strcpy(dir, "/tmp/hvtrace-guardian-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s", dir);
	memcpy(address.sun_path, path, strlen(path));
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
}

static void teardown(void)
{
	hv_guardian_free(guardian);
	guardian = NULL;
	close(listener);
	unlink(path);
	rmdir(dir);
}

static void ok(struct hv_err *err)
{
	ck_assert_msg(!err, "%s", err ? err->message : "");
}

/* Begins a hold. The guardian replies to the next OP with DOES. */
static void hold_before(enum guardian_op op)
{
	does.to = op;
	ok(hv_guardian_start(path, getpid(), &guardian));
	ok(hv_guardian_hold(guardian, HV_NS_PER_S, NULL));
}

static void fails(struct hv_err *err, int code, const char *what)
{
	ck_assert_ptr_nonnull(err);
	ck_assert_msg(err->code == code && strstr(err->message, what), "%d: %s", err->code,
		      err->message);
	ck_assert_ptr_null(strchr(err->message, '\n'));
	hv_err_free(err);
}

static void is_gone(void)
{
	uint64_t held_ns = 1;

	ck_assert(!hv_guardian_is_alive(guardian));
	ck_assert_int_eq(hv_guardian_state(guardian), HV_GUARDIAN_UNREACHED);
	fails(hv_guardian_release(guardian, &held_ns), EPIPE, "it has ended");
}

static struct hv_err *look(void)
{
	struct hv_vcpu_regs *regs = NULL;
	unsigned nr = 77;
	struct hv_err *err = hv_guardian_look(guardian, 2, &regs, &nr);

	if (err)
		ck_assert(!regs && nr == 77);
	free(regs);
	return err;
}

START_TEST(registers_of_no_size)
{
	static const uint8_t bytes[3 * sizeof(struct hv_vcpu_regs)];
	static const size_t sizes[] = {0, 1, sizeof(struct hv_vcpu_regs) - 1,
				       2 * sizeof(struct hv_vcpu_regs) + 8};

	does.reply.len_bytes = (uint32_t)sizes[_i];
	does.bytes = bytes;
	does.nr_bytes = sizes[_i];
	hold_before(GUARDIAN_LOOK);
	fails(look(), EPROTO, "registers that no vCPUs have");
	is_gone();
}
END_TEST

static void spoil(struct hv_vcpu_regs *regs, int which)
{
	if (which == 0)
		memset(&regs->executes_all, 2, 1);
	else if (which == 1)
		memset(&regs->is_hypervisor, 0xff, 1);
	else if (which == 2)
		regs->levels = 6;
	else
		memset(&regs->hidden, 0xff, sizeof(regs->hidden));
}

START_TEST(registers_of_no_vcpu)
{
	struct hv_vcpu_regs regs[2] = {0};

	spoil(&regs[1], _i);
	does.reply.len_bytes = sizeof(regs);
	does.bytes = regs;
	does.nr_bytes = sizeof(regs);
	hold_before(GUARDIAN_LOOK);
	fails(look(), EPROTO, "registers that no vCPUs have");
	is_gone();
}
END_TEST

START_TEST(registers_of_too_many)
{
	does.reply.len_bytes = (HV_VCPUS_MAX + 1) * sizeof(struct hv_vcpu_regs);
	hold_before(GUARDIAN_LOOK);
	fails(look(), EPROTO, "too long");
	is_gone();
}
END_TEST

/* A reply to a write has no bytes. */
START_TEST(a_long_answer)
{
	HV_AUTO_PACKETS struct hv_packets packets = {0};

	hv_packets_add(&packets, "M0,1:90");
	does.reply.len_bytes = 3;
	does.bytes = "OK";
	does.nr_bytes = 3;
	hold_before(GUARDIAN_EXECUTE);
	fails(hv_guardian_execute(guardian, &packets), EPROTO, "too long");
	is_gone();
}
END_TEST

START_TEST(an_unknown_state)
{
	does.reply.state = HV_NR_GUARDIAN_STATES;
	hold_before(GUARDIAN_STATE);
	ck_assert_int_eq(hv_guardian_state(guardian), HV_GUARDIAN_UNREACHED);
	is_gone();
}
END_TEST

START_TEST(a_state_that_no_guest_has)
{
	does.reply.state = HV_NR_GUARDIAN_STATES;
	hold_before(GUARDIAN_FLUSH);
	fails(hv_guardian_flush(guardian), EPROTO, "guardian: an unknown state");
	is_gone();
}
END_TEST

/* The service receives a valid errno value and one line of text. */
START_TEST(a_malformed_error)
{
	static const char text[] = "one\nline\033[2J";

	does.reply.code = -5;
	does.reply.len_bytes = sizeof(text);
	does.bytes = text;
	does.nr_bytes = sizeof(text);
	hold_before(GUARDIAN_FLUSH);
	fails(hv_guardian_flush(guardian), EPROTO, "one?line?[2J");
}
END_TEST

START_TEST(a_long_error)
{
	does.reply.code = EIO;
	does.reply.len_bytes = GUARDIAN_MESSAGE_MAX_BYTES + 1;
	hold_before(GUARDIAN_FLUSH);
	fails(hv_guardian_flush(guardian), EPROTO, "too long");
	is_gone();
}
END_TEST

/* The service computes the end of a hold from the begin that the guardian reports. */
START_TEST(a_hold_outside_its_request)
{
	does.to = GUARDIAN_HOLD;
	does.reply.since_ns = _i ? UINT64_MAX : 1;
	ok(hv_guardian_start(path, getpid(), &guardian));
	fails(hv_guardian_hold(guardian, HV_NS_PER_S, NULL), EPROTO,
	      "began outside of its request");
	is_gone();
}
END_TEST

START_TEST(a_hold_that_is_impossibly_long)
{
	uint64_t held_ns = 77;

	does.reply.held_ns = 60 * HV_NS_PER_S;
	hold_before(GUARDIAN_RELEASE);
	fails(hv_guardian_release(guardian, &held_ns), EPROTO, "longer than possible");
	ck_assert_uint_eq(held_ns, 77);
	is_gone();
}
END_TEST

/* The request is larger than the socket buffer. */
START_TEST(a_guardian_that_does_not_read)
{
	HV_AUTO_PACKETS struct hv_packets packets = {0};

	for (unsigned i = 0; i < 1000000; i++)
		hv_packets_add(&packets, "M0,1:9");
	does.does_not_read = true;
	hold_before(GUARDIAN_EXECUTE);
	hv_helper_answer_ns = HV_NS_PER_S / 10;
	fails(hv_guardian_execute(guardian, &packets), ETIME, "it does not read");
	is_gone();
}
END_TEST

START_TEST(a_guardian_that_is_silent)
{
	does.does_not_read = true;
	hold_before(GUARDIAN_LOOK);
	hv_helper_answer_ns = HV_NS_PER_S / 10;
	fails(look(), ETIME, "no answer");
	is_gone();
}
END_TEST

START_TEST(a_guardian_that_ends)
{
	does.ends = true;
	hold_before(GUARDIAN_LOOK);
	fails(look(), EPIPE, "it has ended");
	is_gone();
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 30);
	tcase_add_loop_test(tc, registers_of_no_size, 0, 4);
	tcase_add_loop_test(tc, registers_of_no_vcpu, 0, 4);
	tcase_add_test(tc, registers_of_too_many);
	tcase_add_test(tc, a_long_answer);
	tcase_add_test(tc, an_unknown_state);
	tcase_add_test(tc, a_malformed_error);
	tcase_add_test(tc, a_long_error);
	tcase_add_test(tc, a_state_that_no_guest_has);
	tcase_add_loop_test(tc, a_hold_outside_its_request, 0, 2);
	tcase_add_test(tc, a_hold_that_is_impossibly_long);
	tcase_add_test(tc, a_guardian_that_does_not_read);
	tcase_add_test(tc, a_guardian_that_is_silent);
	tcase_add_test(tc, a_guardian_that_ends);
}

int main(void)
{
	return run_suite("guardian_taken", add_tests);
}
