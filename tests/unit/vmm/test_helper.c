/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A helper: requests, replies and wake-ups; and no more requests after a missed reply. */
#include <check.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/capabilities.h"
#include "base/clock.h"
#include "tests/lib/run_suite.h"
#include "vmm/helper.h"

struct capabilities {
	uint64_t permitted;
	uint64_t effective;
	uint64_t bounding;
};

#define HANG_NS (60 * HV_NS_PER_S)

/* Returns when the other end has hung up. */
static void await_hang_up(void)
{
	struct pollfd p = {.fd = HV_HELPER_CONTROL};

	while (poll(&p, 1, -1) < 0)
		continue;
}

/* Answers each number with the next one, but 0 only after the client has hung up. Exits when the
 * connection is closed. */
static void add_one(void *ctx hv_unused)
{
	struct hv_helper_wake wake = {0};
	unsigned nr;

	for (;;) {
		wake = hv_helper_wait(-1, UINT64_MAX);
		if (wake.is_alone || recv(HV_HELPER_CONTROL, &nr, sizeof(nr), 0) != sizeof(nr))
			_exit(0);
		if (!nr)
			await_hang_up();
		nr++;
		if (send(HV_HELPER_CONTROL, &nr, sizeof(nr), MSG_NOSIGNAL) < 0)
			_exit(1);
	}
}

static const struct hv_helper_kind adder = {"adder", "test-adder", SOCK_STREAM, add_one};
static const struct hv_helper_kind packet_adder = {"adder", "test-adder", SOCK_SEQPACKET, add_one};

static void ask(const struct hv_helper *h, unsigned nr)
{
	unsigned answer = 0;

	ck_assert_ptr_null(hv_helper_send(h, &nr, sizeof(nr)));
	ck_assert_ptr_null(
		hv_helper_receive(h, &answer, sizeof(answer), hv_now_ns() + hv_helper_answer_ns));
	ck_assert_uint_eq(answer, nr + 1);
}

static void check_questions(const struct hv_helper_kind *kind)
{
	struct hv_helper h = HV_HELPER_NONE;

	ck_assert_ptr_null(hv_helper_start(kind, NULL, &h));
	ck_assert(hv_helper_is_alive(&h));
	ask(&h, 1);
	ask(&h, 41);
	hv_helper_end(&h);
	ck_assert_int_eq(h.control, -1);
}

START_TEST(questions_and_answers)
{
	check_questions(&adder);
	check_questions(&packet_adder);
}
END_TEST

static void expect(struct hv_err *err, int code, const char *message)
{
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, code);
	ck_assert_str_eq(err->message, message);
	hv_err_free(err);
}

/* A late answer would be taken for the answer to the next request. */
START_TEST(a_late_answer_is_discarded)
{
	struct hv_helper h = HV_HELPER_NONE;
	unsigned nr = 0;

	ck_assert_ptr_null(hv_helper_start(&adder, NULL, &h));
	ck_assert_ptr_null(hv_helper_send(&h, &nr, sizeof(nr)));
	expect(hv_helper_receive(&h, &nr, sizeof(nr), hv_now_ns()), ETIME, "adder: no answer");
	ck_assert(!hv_helper_is_alive(&h));
	nr = 1;
	expect(hv_helper_send(&h, &nr, sizeof(nr)), EPIPE, "adder: it has ended");
	hv_helper_end(&h);
}
END_TEST

/* Answers a request after some time. */
static void take_time(void *ctx)
{
	struct hv_helper_wake wake = hv_helper_wait(-1, UINT64_MAX);

	(void)ctx;
	usleep(300000);
	if (wake.is_asked && send(HV_HELPER_CONTROL, "x", 1, MSG_NOSIGNAL) < 0)
		_exit(1);
}

static const struct hv_helper_kind slow = {"slow", "test-slow", SOCK_STREAM, take_time};

/* Stops both while one waits for the other, as when a machine is paused. The helper continues
 * slightly later. */
static void pause_both(pid_t service, pid_t helper)
{
	usleep(100000);
	kill(helper, SIGSTOP);
	kill(service, SIGSTOP);
	usleep(3000000);
	kill(service, SIGCONT);
	usleep(100000);
	kill(helper, SIGCONT);
	_exit(0);
}

START_TEST(a_paused_host_is_not_a_timeout)
{
	struct hv_helper h = HV_HELPER_NONE;
	char told = 0;
	pid_t child;

	ck_assert_ptr_null(hv_helper_start(&slow, NULL, &h));
	child = fork();
	if (child == 0)
		pause_both(getppid(), h.pid);
	ck_assert_ptr_null(hv_helper_send(&h, "?", 1));
	ck_assert_ptr_null(hv_helper_receive(&h, &told, 1, hv_now_ns() + 2 * HV_NS_PER_S));
	ck_assert_int_eq(told, 'x');
	waitpid(child, NULL, 0);
	hv_helper_end(&h);
}
END_TEST

START_TEST(killed)
{
	struct hv_helper h = HV_HELPER_NONE;
	unsigned nr = 1;

	ck_assert_ptr_null(hv_helper_start(&packet_adder, NULL, &h));
	kill(h.pid, SIGKILL);
	waitpid(h.pid, NULL, 0);
	ck_assert(!hv_helper_is_alive(&h));
	expect(hv_helper_receive(&h, &nr, sizeof(nr), hv_now_ns() + HV_NS_PER_S), EPIPE,
	       "adder: it has ended");
	hv_helper_end(&h);
}
END_TEST

/* Waits for the first wake-up, sends its kind, and exits. */
static void report_wakeup_reason(void *ctx)
{
	uint64_t deadline_ns = *(const uint64_t *)ctx;
	struct hv_helper_wake wake = hv_helper_wait(-1, deadline_ns);
	char told = wake.is_alone		 ? 'a'
		    : wake.is_asked		 ? 'q'
		    : hv_now_ns() >= deadline_ns ? 't'
						 : '?';

	if (send(HV_HELPER_CONTROL, &told, 1, MSG_NOSIGNAL) < 0)
		_exit(1);
}

static const struct hv_helper_kind teller = {"teller", "test-teller", SOCK_STREAM,
					     report_wakeup_reason};

START_TEST(wakes_at_its_deadline)
{
	uint64_t deadline_ns = hv_now_ns() + 50 * HV_NS_PER_MS;
	struct hv_helper h = HV_HELPER_NONE;
	char told = 0;

	ck_assert_ptr_null(hv_helper_start(&teller, &deadline_ns, &h));
	ck_assert_ptr_null(hv_helper_receive(&h, &told, 1, hv_now_ns() + hv_helper_answer_ns));
	ck_assert_int_eq(told, 't');
	ck_assert_uint_ge(hv_now_ns(), deadline_ns);
	hv_helper_end(&h);
}
END_TEST

/* Another process still has the service's end of the socketpair open, so only the pidfd shows the
 * end of the service. */
START_TEST(wakes_when_the_service_has_died)
{
	uint64_t deadline_ns = UINT64_MAX;
	struct hv_helper h = HV_HELPER_NONE;
	int said[2];
	pid_t service;
	char told = 0;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, said), 0);
	service = fork();
	if (!service) {
		if (hv_helper_start(&teller, &deadline_ns, &h))
			_exit(1);
		/* A child keeps the socket open and forwards the helper's messages. */
		if (!fork()) {
			hv_err_free(hv_helper_receive(&h, &told, 1, hv_now_ns() + HANG_NS));
			if (write(said[1], &told, 1) < 0)
				_exit(1);
			_exit(0);
		}
		_exit(0);
	}
	waitpid(service, NULL, 0);
	ck_assert_int_eq(read(said[0], &told, 1), 1);
	ck_assert_int_eq(told, 'a');
}
END_TEST

/* Sends the helper's capabilities as the kernel reports them. */
static void report_capabilities(void *ctx hv_unused)
{
	struct capabilities has = {0};
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		sscanf(line, "CapPrm: %" SCNx64, &has.permitted);
		sscanf(line, "CapEff: %" SCNx64, &has.effective);
		sscanf(line, "CapBnd: %" SCNx64, &has.bounding);
	}
	if (send(HV_HELPER_CONTROL, &has, sizeof(has), MSG_NOSIGNAL) < 0)
		_exit(1);
}

static struct capabilities capabilities_of(uint64_t needs)
{
	const struct hv_helper_kind kind = {.noun = "humble",
					    .comm = "test-humble",
					    .socket_type = SOCK_STREAM,
					    .run = report_capabilities,
					    .needs = needs};
	struct capabilities has = {1, 1, 1};
	struct hv_helper h = HV_HELPER_NONE;

	ck_assert_ptr_null(hv_helper_start(&kind, NULL, &h));
	ck_assert_ptr_null(
		hv_helper_receive(&h, &has, sizeof(has), hv_now_ns() + hv_helper_answer_ns));
	hv_helper_end(&h);
	return has;
}

/* CHECKPOINT_RESTORE is in the second word of capabilities. */
START_TEST(has_the_rights_that_it_needs)
{
	uint64_t needs = HV_CAP(SYS_PTRACE) | HV_CAP(CHECKPOINT_RESTORE);
	struct capabilities has = capabilities_of(needs);

	if (geteuid() != 0)
		needs = 0;
	ck_assert_uint_eq(has.permitted, needs);
	ck_assert_uint_eq(has.effective, needs);
	ck_assert(geteuid() != 0 || has.bounding == 0);
	has = capabilities_of(0);
	ck_assert_uint_eq(has.permitted | has.effective, 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, has_the_rights_that_it_needs);
	tcase_add_test(tc, questions_and_answers);
	tcase_add_test(tc, a_late_answer_is_discarded);
	tcase_add_test(tc, a_paused_host_is_not_a_timeout);
	tcase_add_test(tc, killed);
	tcase_add_test(tc, wakes_at_its_deadline);
	tcase_add_test(tc, wakes_when_the_service_has_died);
}

int main(void)
{
	return run_suite("helper", add_tests);
}
