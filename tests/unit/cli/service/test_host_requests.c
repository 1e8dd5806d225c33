/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When the broker answers a host request: most need the session's directory. The broker refuses
 * them by name, and uses no path without the directory. */
#include "tests/lib/lone_broker.h"

#include <check.h>

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

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, requests_before_the_directory_are_refused);
	tcase_add_test(tc, the_directory_is_opened_once);
	tcase_add_test(tc, a_lost_directory_is_made_again);
}

int main(void)
{
	return run_suite("host_requests", add_tests);
}
