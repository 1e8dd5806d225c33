/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The gdb stub's client with a VMM that sends endlessly, does not read, or answers after the client
 * has given up. */
#include <check.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "tests/lib/run_suite.h"
#include "vmm/qemu/gdb/gdb_stub.h"

#define STOPPED "$T02thread:01;#04"
#define OK	"+$OK#9a"

static pid_t peer;
static struct hv_gdb_stub stub;

static void send_text(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) < 0)
		_exit(0);
}

/* Sends TEXT repeatedly, as fast as the peer reads. */
static void flood(int fd, const char *text)
{
	HV_AUTO_TEXT struct hv_text much = {0};

	while (much.len_bytes < 65536)
		hv_text_add(&much, text);
	for (;;)
		if (write(fd, much.data, much.len_bytes) < 0)
			_exit(0);
}

static void flood_stops(int fd)
{
	flood(fd, STOPPED);
}

static void flood_answers(int fd)
{
	flood(fd, OK);
}

/* Reads NR packets. */
static void hear(int fd, unsigned nr)
{
	char c;

	while (nr && read(fd, &c, 1) == 1)
		nr -= c == '#';
}

/* Answers each packet with nearly a megabyte. */
static void answer_much(int fd)
{
	HV_AUTO_TEXT struct hv_text answer = {0};
	HV_AUTO_TEXT struct hv_text payload = {0};

	for (unsigned i = 0; i < 10000; i++)
		hv_text_add(&payload, "a*~"); /* 98 characters */
	hv_text_add(&answer, "+");
	hv_rsp_frame(&answer, payload.data, payload.len_bytes);
	for (;;) {
		hear(fd, 1);
		send_text(fd, answer.data);
	}
}

/* Reads two packets, and answers them only after four more: the one that resumes the guest, and
 * three later requests. */
static void answer_late(int fd)
{
	hear(fd, 6);
	send_text(fd, "+$E01#a6+$E02#a7+");
	send_text(fd, OK OK OK);
	hear(fd, 1);
}

/* The text after the acknowledgement of a packet. */
static const char *answered;

static void answer_once(int fd)
{
	char checksum[2];

	hear(fd, 1);
	/* Unread bytes would reset the connection. */
	if (read(fd, checksum, sizeof(checksum)) == sizeof(checksum))
		send_text(fd, answered);
}

static void start(void (*run)(int fd))
{
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	peer = fork();
	if (!peer) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ends[0]);
		run(ends[1]);
		_exit(0);
	}
	close(ends[1]);
	stub = (struct hv_gdb_stub){.fd = ends[0]};
}

static void teardown(void)
{
	hv_gdb_stub_close(&stub);
	kill(peer, SIGKILL);
	waitpid(peer, NULL, 0);
}

static struct hv_gdb_limit in_ms(unsigned ms)
{
	return (struct hv_gdb_limit){hv_now_ns() + ms * HV_NS_PER_MS, -1};
}

static void fails(struct hv_err *err, int code, const char *words)
{
	ck_assert_ptr_nonnull(err);
	ck_assert_msg(err->code == code && strstr(err->message, words), "%d: %s", err->code,
		      err->message);
	hv_err_free(err);
}

static struct hv_err *exchange(unsigned nr, struct hv_gdb_limit limit, struct hv_packets *answers)
{
	HV_AUTO_PACKETS struct hv_packets packets = {0};

	for (unsigned i = 0; i < nr; i++)
		hv_packets_add(&packets, "g");
	return hv_gdb_stub_exchange(&stub, &packets, limit, answers);
}

START_TEST(stops_without_end)
{
	HV_AUTO_PACKETS struct hv_packets answers = {0};

	start(flood_stops);
	fails(exchange(1, in_ms(200), &answers), ECANCELED, "no answer in time");
	fails(hv_gdb_stub_continue(&stub, in_ms(200)), ECANCELED, "no answer in time");
}
END_TEST

START_TEST(answers_without_end)
{
	start(flood_answers);
	fails(hv_gdb_stub_await_stop(&stub, in_ms(200)), ECANCELED, "no answer in time");
}
END_TEST

/* While the guest runs, the client reads data and acknowledges stop replies, both with a limit. The
 * VMM does not read the acknowledgements. */
START_TEST(a_running_guest_sends_without_end)
{
	struct hv_err *err = NULL;

	start(_i ? flood_answers : flood_stops);
	while (!err)
		err = hv_gdb_stub_drain(&stub);
	fails(err, _i ? EPROTO : ECANCELED,
	      _i ? "it does not stop sending while the guest runs" : "no answer in time");
}
END_TEST

START_TEST(much_is_answered)
{
	HV_AUTO_PACKETS struct hv_packets answers = {0};

	start(answer_much);
	fails(exchange(50, in_ms(60000), &answers), EPROTO, "answers of more than");
	ck_assert_uint_lt(answers.bytes.len_bytes, 20u << 20);
}
END_TEST

/* Answers to packets of an abandoned exchange must not be taken for answers to the next
 * exchange. */
START_TEST(late_answers)
{
	HV_AUTO_PACKETS struct hv_packets none = {0};
	HV_AUTO_PACKETS struct hv_packets answers = {0};
	struct hv_err *err;

	start(answer_late);
	fails(exchange(2, in_ms(100), &none), ECANCELED, "no answer in time");
	fails(hv_gdb_stub_continue(&stub, in_ms(100)), ECANCELED, "no answer in time");
	err = exchange(3, in_ms(60000), &answers);
	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert_uint_eq(answers.nr, 3);
	ck_assert_mem_eq(answers.bytes.data, "OK\0OK\0OK", 9);
}
END_TEST

START_TEST(answers_that_are_wrong)
{
	static const struct {
		const char *answer;
		int code;
		const char *message;
	} rows[] = {
		{"", ECONNRESET, "gdb stub: the VMM closed the connection"},
		{"+$OK#00", EPROTO, "gdb stub: an answer is damaged"},
		{"+$OK#9a$OK#9a", EPROTO, "gdb stub: more answers than packets"},
	};
	HV_AUTO_PACKETS struct hv_packets answers = {0};

	answered = rows[_i].answer;
	start(answer_once);
	fails(exchange(1, in_ms(60000), &answers), rows[_i].code, rows[_i].message);
}
END_TEST

START_TEST(a_packet_that_is_refused)
{
	HV_AUTO_PACKETS struct hv_packets packets = {0};
	HV_AUTO_PACKETS struct hv_packets answers = {0};

	stub.fd = -1;
	hv_packets_add(&packets, "M1000,1:90");
	hv_packets_add(&answers, "E22");
	fails(hv_packets_all_ok(&packets, &answers), EIO,
	      "gdb stub: 'M1000,1:90' answered with 'E22'");
	peer = fork();
	if (!peer)
		_exit(0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_set_timeout(tc, 30);
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, stops_without_end);
	tcase_add_test(tc, answers_without_end);
	tcase_add_loop_test(tc, a_running_guest_sends_without_end, 0, 2);
	tcase_add_test(tc, much_is_answered);
	tcase_add_test(tc, late_answers);
	tcase_add_loop_test(tc, answers_that_are_wrong, 0, 3);
	tcase_add_test(tc, a_packet_that_is_refused);
}

int main(void)
{
	return run_suite("gdb_stub", add_tests);
}
