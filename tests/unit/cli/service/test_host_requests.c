/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When the broker answers a host request: most need the session's directory. The broker refuses
 * them by name, and uses no path without the directory. */
#include "tests/lib/lone_broker.h"

#include <check.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tests/lib/run_suite.h"

static struct lone_broker lone;

static void set_up(void)
{
	lone_broker_make(&lone);
	lone_broker_begin(&lone);
}

static void tear_down(void)
{
	lone_broker_end(&lone);
	ck_assert_int_eq(rmdir(LONE_NULL), 0); /* it is empty */
	lone_broker_remove(&lone);
}

/* Returns the message of the refusal, or NULL. The caller frees it. */
static char *ask(unsigned kind)
{
	struct hv_message question = {.kind = kind, .bytes = (uint8_t *)"/"};
	HV_AUTO_MESSAGE struct hv_message answer = {0};
	HV_AUTO_ERR struct hv_err *err = run_host_request(&lone.broker, &question, &answer);

	return err ? hv_strdup(err->message) : NULL;
}

static void expect(unsigned kind, const char *message)
{
	HV_AUTO_FREE char *found = ask(kind);

	if (!message)
		ck_assert_msg(!found, "%u: %s", kind, found);
	else
		ck_assert_msg(found && !strcmp(found, message), "%u: %s", kind, found);
}

#define LACKS(name) "request '" name "': the session has no directory"

START_TEST(requests_before_the_directory_are_refused)
{
	expect(HOST_LISTEN, "request 'listen': the session has no directory");
	expect(HOST_KEEP_RUNDIR, LACKS("keep the directory"));
	expect(HOST_POLICY, LACKS("read the rules"));
	expect(HOST_SYSLOG, LACKS("log a line"));
	expect(HOST_DUMP, LACKS("open the dump"));
	expect(HOST_UMOUNT, LACKS("umount"));
	expect(HOST_FACTS, LACKS("keep facts"));
	expect(HOST_LEAVE_RUNDIR, LACKS("leave the directory"));
	expect(HOST_ACTOR, NULL);
	expect(HOST_PROCESSES, NULL);
	ck_assert_int_ne(access(lone.run_dir, F_OK), 0);
	ck_assert(!lone.broker.is_over);
}
END_TEST

START_TEST(the_directory_is_opened_once)
{
	expect(HOST_OPEN_RUNDIR, NULL);
	expect(HOST_OPEN_RUNDIR, "request 'open the directory': the session has opened it before");
	expect(HOST_POLICY, NULL);
	expect(HOST_LISTEN, NULL);
	expect(HOST_DUMP, NULL);
	expect(HOST_KEEP_RUNDIR, NULL);
	expect(HOST_LEAVE_RUNDIR, NULL);
	ck_assert(lone.broker.is_over);
}
END_TEST

/* As when no descriptor was free: the next HOST_KEEP_RUNDIR tries again. */
START_TEST(a_lost_directory_is_made_again)
{
	expect(HOST_OPEN_RUNDIR, NULL);
	rundir_remove(&lone.broker.service.dir);
	expect(HOST_DUMP, LACKS("open the dump"));
	expect(HOST_POLICY, LACKS("read the rules"));
	expect(HOST_SYSLOG, NULL);
	expect(HOST_KEEP_RUNDIR, NULL);
	expect(HOST_DUMP, NULL);
	expect(HOST_POLICY, NULL);
}
END_TEST

/* A broker in another process, and its service. */

#define PATIENCE_MS 20000

/* The service reports its end. It stays if STAYS. */
static _Noreturn void be_service(bool stays)
{
	static const struct hv_helper_kind kind = {.noun = "broker",
						   .comm = "broker",
						   .socket_type = SOCK_STREAM,
						   .needs = NEEDS,
						   .run = run};
	static const unsigned requests[] = {HOST_OPEN_RUNDIR, HOST_LEAVE_RUNDIR};
	struct hv_helper helper = HV_HELPER_NONE;

	lone.broker.server = hv_broker_server_new(lone.broker.service.guest, HV_ADOPTS_NOTHING);
	if (hv_helper_start(&kind, &lone.broker, &helper))
		_exit(2);
	for (size_t i = 0; i < HV_ARRAY_LEN(requests); i++) {
		struct hv_message question = {.kind = requests[i]}, answer = {0};

		if (hv_channel_ask(helper.control, &question, &answer))
			_exit(3);
	}
	hv_helper_end(&helper); /* waits for the broker */
	while (stays)
		pause();
	_exit(0);
}

/* Returns the status of the service when it and all its descendants have ended, or -1. They are
 * this process's children, once their parents have ended. */
static int status_of_service(bool stays)
{
	const uint64_t end_ns = hv_now_ns() + PATIENCE_MS * HV_NS_PER_MS;
	int service_status = -1, status;
	pid_t service, ended = 0;

	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	service = fork();
	if (!service)
		be_service(stays);
	while (ended >= 0 && hv_now_ns() < end_ns) {
		ended = waitpid(-1, &status, WNOHANG);
		if (ended == service)
			service_status = status;
		usleep(1000);
	}
	if (ended < 0)
		return service_status;
	kill(service, SIGKILL);
	return -1;
}

START_TEST(a_service_that_stays_after_its_detach_is_killed)
{
	int status;

	leave_ms = 300;
	status = status_of_service(true);
	ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "%x", (unsigned)status);
}
END_TEST

START_TEST(a_detached_service_leaves_no_process)
{
	leave_ms = 10 * PATIENCE_MS;
	ck_assert_int_eq(status_of_service(false), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, requests_before_the_directory_are_refused);
	tcase_add_test(tc, the_directory_is_opened_once);
	tcase_add_test(tc, a_lost_directory_is_made_again);
	tcase_add_test(tc, a_service_that_stays_after_its_detach_is_killed);
	tcase_add_test(tc, a_detached_service_leaves_no_process);
}

int main(void)
{
	return run_suite("host_requests", add_tests);
}
