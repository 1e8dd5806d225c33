/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The QMP client with peers that answer well, badly or not at all. */
#include <check.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/text.h"
#include "tests/lib/run_suite.h"
#include "vmm/qemu/monitor.h"

#define GREETING "{\"QMP\": {\"version\": {}, \"capabilities\": []}}\r\n"
#define ID	 "\"id\": @" /* the peer replaces the @ by the command's id */
#define DONE	 "{\"return\": {}, " ID "}\r\n"
#define SHORT_NS (HV_NS_PER_S / 5)

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

static void say(int fd, const char *text, uint64_t id)
{
	for (; *text; text++)
		if (*text != '@' ? write(fd, text, 1) != 1 : dprintf(fd, "%" PRIu64, id) < 0)
			_exit(0);
}

/* Reads a command and returns its id. */
static uint64_t hear(int fd)
{
	static char line[4 << 20];
	const char *id;
	size_t len = 0;

	do
		if (len == sizeof(line) - 1 || read(fd, line + len, 1) != 1)
			_exit(0);
	while (line[len++] != '\n');
	line[len] = '\0';
	/* a truncated command would precede the next one */
	if (line[0] != '{' || strstr(line + 1, "\"execute\"") != strstr(line, "\"execute\""))
		_exit(1);
	id = strstr(line, "\"id\":");
	return id ? strtoull(id + 5, NULL, 10) : 0;
}

static const char *const *said;

/* Sends the first line of SAID immediately and one more for each request, then closes the
 * connection. */
static void answer_lines(int fd)
{
	uint64_t id = 0;

	for (; *said; said++) {
		say(fd, *said, id);
		id = hear(fd);
	}
}

/* Answers the third command after the fourth has arrived, as a VMM that was stopped in between. */
static void answer_late(int fd)
{
	uint64_t late, id;

	say(fd, GREETING, 0);
	say(fd, DONE, hear(fd));
	say(fd, "{\"return\": {\"status\": \"paused\"}, " ID "}\r\n", hear(fd));
	late = hear(fd);
	id = hear(fd);
	say(fd, "{\"return\": {\"status\": \"paused\"}, " ID "}\r\n", late);
	say(fd, "{\"return\": {\"status\": \"running\"}, " ID "}\r\n", id);
	hear(fd);
}

/* Sends TEXT repeatedly, as fast as the peer reads. */
static void flood(int fd, const char *text)
{
	HV_AUTO_TEXT struct hv_text much = {0};

	say(fd, GREETING, 0);
	say(fd, DONE, hear(fd));
	hear(fd);
	while (much.len_bytes < 65536)
		hv_text_add(&much, text);
	for (;;)
		if (write(fd, much.data, much.len_bytes) < 0)
			_exit(0);
}

static void answer_without_end(int fd)
{
	flood(fd, "{\"event\": \"STOP\"}\r\n");
}

static void answer_with_empty_lines(int fd)
{
	flood(fd, "\n");
}

/* Reads nothing more until PEER gets a signal, which is when the client has given up. */
static void read_late(int fd)
{
	sigset_t usr1;
	int sig;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	say(fd, GREETING, 0);
	say(fd, DONE, hear(fd));
	sigwait(&usr1, &sig);
	say(fd, "{\"return\": 1, " ID "}\r\n", hear(fd));
	say(fd, "{\"return\": \"whole\", " ID "}\r\n", hear(fd));
	hear(fd);
}

static _Noreturn void be_peer(int listener, void (*run)(int fd))
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	run(accept(listener, NULL, NULL));
	_exit(0);
}

static struct hv_err *open_to(void (*run)(int fd), struct hv_monitor **ret)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	struct hv_err *err;
	struct hv_unix_peer its = HV_UNIX_PEER_NONE;
	int fd = -1;

	memcpy(address.sun_path, path, strlen(path));
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	if (peer > 0) {
		kill(peer, SIGKILL);
		waitpid(peer, NULL, 0);
	}
	peer = fork();
	if (!peer)
		be_peer(listener, run);
	close(listener);
	err = hv_qmp_connect(path, expected, &fd, &its);
	if (!err)
		err = hv_qmp_open(fd, path, ret);
	if (!err)
		ck_assert_int_eq(its.pid, getpid()); /* the process that listened */
	hv_close_at(&its.pidfd);
	return err;
}

static struct hv_err *open_with(const char *const *to_say, struct hv_monitor **ret)
{
	said = to_say;
	return open_to(answer_lines, ret);
}

static void fails_with(struct hv_err *err, const char *words)
{
	ck_assert_ptr_nonnull(err);
	ck_assert_msg(strstr(err->message, words), "%s", err->message);
	hv_err_free(err);
}

static void fails(struct hv_err *err, int code, const char *words)
{
	ck_assert_ptr_nonnull(err);
	ck_assert_msg(err->code == code && strstr(err->message, words), "%d: %s", err->code,
		      err->message);
	hv_err_free(err);
}

START_TEST(answers)
{
	static const char *const lines[] = {
		GREETING,
		"{\"event\": \"STOP\"}\r\n" DONE,
		"{\"event\": \"RESUME\"}\r\n{\"return\": {\"arch\": \"x86_64\"}, " ID "}\r\n",
		"{\"return\": \"a\\r\\nb\", " ID "}\r\n",
		"{\"error\": {\"class\": \"CommandNotFound\", \"desc\": \"none\"}, " ID "}\r\n",
		"{\"error\": {\"class\": \"GenericError\", \"desc\": \"no \\u001b!\"}, " ID "}\r\n",
		"{\"return\": 1, " ID "}\r\n",
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
	fails(hv_monitor_execute(m, "x", NULL, &none), ENOTSUP, "monitor: x: none");
	fails(hv_monitor_execute(m, "x", NULL, &none), EIO, "monitor: x: no ?!");
	fails(hv_monitor_hmp(m, "x", &text), EPROTO, "monitor: 'x': answer is not text");
	fails(hv_monitor_execute(m, "x", NULL, &none), ECONNRESET,
	      "the monitor closed the connection");
	ck_assert_ptr_null(none);
}
END_TEST

static void check_status(struct hv_monitor *m, const char *status)
{
	HV_AUTO_JSON struct json_object *answer = NULL;
	struct hv_err *err = hv_monitor_execute(m, "query-status", NULL, &answer);

	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert_str_eq(hv_json_string(answer, "status"), status);
}

/* The answer to an abandoned command must not be taken for the next command's. */
START_TEST(a_late_answer)
{
	HV_AUTO_MONITOR struct hv_monitor *m = NULL;
	struct json_object *none = NULL;

	ck_assert(!open_to(answer_late, &m));
	check_status(m, "paused");
	hv_qmp_timeout_ns = SHORT_NS;
	fails(hv_monitor_execute(m, "query-status", NULL, &none), ETIMEDOUT, "no answer");
	hv_qmp_timeout_ns = 20 * HV_NS_PER_S;
	check_status(m, "running");
}
END_TEST

START_TEST(a_peer_that_never_stops_sending)
{
	HV_AUTO_MONITOR struct hv_monitor *m = NULL;
	struct json_object *none = NULL;

	ck_assert(!open_to(_i ? answer_with_empty_lines : answer_without_end, &m));
	hv_qmp_timeout_ns = SHORT_NS;
	fails(hv_monitor_execute(m, "query-status", NULL, &none), ETIMEDOUT, "no answer");
}
END_TEST

/* The unsent rest of an abandoned command is sent before the next one. */
START_TEST(a_peer_that_reads_late)
{
	HV_AUTO_MONITOR struct hv_monitor *m = NULL;
	HV_AUTO_FREE char *line = hv_alloc(2 << 20);
	HV_AUTO_FREE char *text = NULL;

	memset(line, 'a', (2 << 20) - 1);
	ck_assert(!open_to(read_late, &m));
	hv_qmp_timeout_ns = SHORT_NS;
	fails(hv_monitor_hmp(m, line, &text), ETIMEDOUT, "no answer");
	hv_qmp_timeout_ns = 20 * HV_NS_PER_S;
	kill(peer, SIGUSR1);
	ck_assert_ptr_null(hv_monitor_hmp(m, "info x", &text));
	ck_assert_str_eq(text, "whole");
}
END_TEST

START_TEST(no_greeting)
{
	static const char *const lines[] = {"hello\r\n", NULL};
	struct hv_monitor *m = NULL;

	fails(open_with(lines, &m), EPROTO, "this is not a QMP socket");
	ck_assert_ptr_null(m);
}
END_TEST

START_TEST(busy)
{
	static const char *const lines[] = {"", NULL};
	struct hv_monitor *m = NULL;

	fails(open_with(lines, &m), EBUSY,
	      "another client is connected, or this is not a QMP socket");
}
END_TEST

START_TEST(no_socket)
{
	char much[200];
	struct hv_unix_peer its;
	int fd;

	fails(hv_qmp_connect("/nonexistent/q", 0, &fd, &its), ENOENT, "No such file or directory");
	memset(much, 'a', sizeof(much));
	much[sizeof(much) - 1] = '\0';
	fails(hv_qmp_connect(much, 0, &fd, &its), ENAMETOOLONG,
	      "path is 199 bytes long, at most 107");
	fails_with(hv_qmp_connect("", 0, &fd, &its), "no path is given");
	fails_with(hv_qmp_connect("/", 0, &fd, &its), "nothing listens there");
}
END_TEST

/* The socket belongs to the wrong process: no byte is sent or read. */
START_TEST(another_process)
{
	static const char *const lines[] = {GREETING, DONE, NULL};
	struct hv_monitor *m = NULL;

	expected = 1;
	fails(open_with(lines, &m), ESRCH, "not to process 1");
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
	tcase_add_test(tc, a_late_answer);
	tcase_add_loop_test(tc, a_peer_that_never_stops_sending, 0, 2);
	tcase_add_test(tc, a_peer_that_reads_late);
	tcase_add_test(tc, no_greeting);
	tcase_add_test(tc, busy);
	tcase_add_test(tc, no_socket);
	tcase_add_test(tc, another_process);
}

int main(void)
{
	return run_suite("qmp", add_tests);
}
