/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The QMP client with peers that answer well, badly or not at all. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "tests/lib/run_suite.h"
#include "vmm/qemu/monitor.h"

#define GREETING "{\"QMP\": {\"version\": {}, \"capabilities\": []}}\r\n"
#define DONE	 "{\"return\": {}}\r\n"

static char dir[32];
static char path[48];
static pid_t peer;
static pid_t expected;

static void setup(void)
{
	strcpy(dir, "/tmp/hvtrace-qmp-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s", dir);
}

static void teardown(void)
{
	if (peer > 0) {
		kill(peer, SIGKILL);
		waitpid(peer, NULL, 0);
	}
	unlink(path);
	rmdir(dir);
}

/* Sends the first of LINES at once and one more for each request, then closes the connection. */
static _Noreturn void be_peer(int listener, const char *const *lines)
{
	char buf[4096];
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = accept(listener, NULL, NULL);
	for (; *lines; lines++) {
		if (write(fd, *lines, strlen(*lines)) < 0)
			_exit(0);
		do
			if (read(fd, buf, 1) != 1)
				_exit(0);
		while (buf[0] != '\n');
	}
	_exit(0);
}

static struct hv_err *open_with(const char *const *lines, struct hv_monitor **ret)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	struct hv_err *err;
	struct hv_unix_peer its = HV_UNIX_PEER_NONE;

	memcpy(address.sun_path, path, strlen(path));
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	if (peer > 0) {
		kill(peer, SIGKILL);
		waitpid(peer, NULL, 0);
	}
	peer = fork();
	if (!peer)
		be_peer(listener, lines);
	close(listener);
	err = hv_qmp_open(path, expected, ret, &its);
	if (!err)
		ck_assert_int_eq(its.pid, getpid()); /* the process that listened */
	hv_close_at(&its.pidfd);
	return err;
}

static void fails_with(struct hv_err *err, const char *words)
{
	ck_assert_ptr_nonnull(err);
	ck_assert_msg(strstr(err->message, words), "%s", err->message);
	hv_err_free(err);
}

static void fails(struct hv_err *err, int code)
{
	ck_assert_ptr_nonnull(err);
	ck_assert_msg(err->code == code, "%d: %s", err->code, err->message);
	hv_err_free(err);
}

START_TEST(answers)
{
	static const char *const lines[] = {
		GREETING,
		"{\"event\": \"STOP\"}\r\n" DONE,
		"{\"event\": \"RESUME\"}\r\n{\"return\": {\"arch\": \"x86_64\"}}\r\n",
		"{\"return\": \"a\\r\\nb\"}\r\n",
		"{\"error\": {\"class\": \"CommandNotFound\", \"desc\": \"none\"}}\r\n",
		"{\"error\": {\"class\": \"GenericError\", \"desc\": \"no \\u001b!\"}}\r\n",
		"{\"return\": 1}\r\n",
		NULL};
	HV_AUTO_MONITOR struct hv_monitor *m = NULL;
	HV_AUTO_JSON struct json_object *target = NULL;
	struct json_object *none = NULL;
	HV_AUTO_FREE char *text = NULL;
	struct hv_err *err = open_with(lines, &m);

	ck_assert(!err);
	err = hv_monitor_execute(m, "query-target", NULL, &target);
	ck_assert(!err);
	ck_assert_str_eq(hv_json_string(target, "arch"), "x86_64");
	ck_assert_ptr_null(hv_json_string(target, "none"));
	err = hv_monitor_hmp(m, "info x", &text);
	ck_assert(!err);
	ck_assert_str_eq(text, "a\r\nb");
	fails(hv_monitor_execute(m, "x", NULL, &none), ENOTSUP);
	fails(hv_monitor_execute(m, "x", NULL, &none), EIO);
	fails(hv_monitor_hmp(m, "x", &text), EPROTO);
	fails(hv_monitor_execute(m, "x", NULL, &none), ECONNRESET);
	ck_assert_ptr_null(none);
}
END_TEST

START_TEST(no_greeting)
{
	static const char *const lines[] = {"hello\r\n", NULL};
	struct hv_monitor *m = NULL;

	fails(open_with(lines, &m), EPROTO);
	ck_assert_ptr_null(m);
}
END_TEST

START_TEST(busy)
{
	static const char *const lines[] = {"", NULL};
	struct hv_monitor *m = NULL;

	fails(open_with(lines, &m), EBUSY);
}
END_TEST

START_TEST(no_socket)
{
	struct hv_monitor *m = NULL;
	char much[200];
	struct hv_unix_peer its;

	fails(hv_qmp_open("/nonexistent/q", 0, &m, &its), ENOENT);
	memset(much, 'a', sizeof(much));
	much[sizeof(much) - 1] = '\0';
	fails(hv_qmp_open(much, 0, &m, &its), ENAMETOOLONG);
	fails_with(hv_qmp_open("", 0, &m, &its), "no path is given");
	fails_with(hv_qmp_open("/", 0, &m, &its), "nothing listens there");
}
END_TEST

/* The socket is not of the process that it should be: not a byte is sent or taken. */
START_TEST(another_process)
{
	static const char *const lines[] = {GREETING, DONE, NULL};
	struct hv_monitor *m = NULL;

	expected = 1;
	fails(open_with(lines, &m), ESRCH);
	expected = getpid();
	unlink(path);
	ck_assert_ptr_null(open_with(lines, &m));
	hv_monitor_free(m);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_set_timeout(tc, 20);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, answers);
	tcase_add_test(tc, no_greeting);
	tcase_add_test(tc, busy);
	tcase_add_test(tc, no_socket);
	tcase_add_test(tc, another_process);
}

int main(void)
{
	return run_suite("qmp", add_tests);
}
