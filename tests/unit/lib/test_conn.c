/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Deadlines of requests, with any behaviour of the service. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "lib/conn.h"
#include "lib/frames.h"
#include "tests/lib/run_suite.h"

#define LIMIT_MS 300

/* A service that sends BYTES, or a PIECE of them, every PAUSE_MS until its client has gone. */
struct service {
	uint8_t *bytes;
	size_t len_bytes, piece;
	bool counts; /* the first tag is 1, and each time it is greater by 1 */
	int pause_ms, fd;
	pthread_t thread;
};

static void *service_main(void *arg)
{
	struct service *s = arg;
	size_t at = 0;
	ssize_t n;

	do {
		n = send(s->fd, s->bytes + at, s->piece ? s->piece : s->len_bytes, MSG_NOSIGNAL);
		at += s->piece;
		s->bytes[20] += s->counts;
	} while (n >= 0 && poll(&(struct pollfd){s->fd, 0, 0}, 1, s->pause_ms) == 0);
	return NULL;
}

static void add_frame(struct service *s, enum wire_kind kind, uint32_t tag, struct hv_span data)
{
	struct wire_frame frame = {.kind = (uint16_t)kind, .tag = tag, .arg = EIO, .data = data};

	s->len_bytes = WIRE_HEAD_LEN + data.len_bytes;
	s->bytes = hv_alloc(s->len_bytes);
	wire_head(&frame, s->bytes);
	if (data.len_bytes)
		memcpy(s->bytes + WIRE_HEAD_LEN, data.data, data.len_bytes);
}

static struct conn *begin(struct service *s, uint64_t until_ns)
{
	struct conn_peer peer = {
		.domain = "web1", .timeout_ms = until_ns ? 0 : LIMIT_MS, .until_ns = until_ns};
	struct conn *c = NULL;
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	s->fd = ends[1];
	ck_assert_ptr_null(conn_adopt(ends[0], &peer, &c));
	ck_assert_int_eq(pthread_create(&s->thread, NULL, service_main, s), 0);
	return c;
}

static void end(struct service *s, struct conn *c)
{
	conn_close(c);
	pthread_join(s->thread, NULL);
	close(s->fd);
	free(s->bytes);
}

static void expect(struct hvt_error *error, int code, const char *message)
{
	ck_assert_int_eq(hvt_error_errno(error), code);
	ck_assert_str_eq(hvt_error_message(error), message);
	hvt_error_free(error);
}

static void expect_late(struct service *s, const struct wire_frame *request)
{
	struct conn *c = begin(s, 0);
	uint64_t begin_ns = hv_now_ns();
	struct wire_frame reply;

	expect(conn_call(c, request, &reply), ESHUTDOWN,
	       "domain 'web1': the session does not answer");
	ck_assert_uint_ge(hv_now_ns() - begin_ns, LIMIT_MS * HV_NS_PER_MS);
	/* A later reply must not be taken for the reply to another request. */
	expect(conn_call(c, request, &reply), ESHUTDOWN,
	       "domain 'web1': the session does not answer");
	end(s, c);
}

static void expect_late_read(struct service *s, uint32_t wait_ms)
{
	expect_late(s, &(struct wire_frame){.kind = WIRE_READ, .wait_ms = wait_ms});
}

static struct hv_span much(void)
{
	static uint8_t bytes[WIRE_DATA_MAX];

	return (struct hv_span){bytes, sizeof(bytes)};
}

START_TEST(a_trickling_answer_times_out)
{
	struct service s = {.pause_ms = 20, .piece = 1};

	add_frame(&s, WIRE_OK, 1, much());
	expect_late_read(&s, 0);
}
END_TEST

START_TEST(notes_do_not_extend_the_timeout)
{
	static const int pauses_ms[] = {0, 50};

	for (size_t i = 0; i < HV_ARRAY_LEN(pauses_ms); i++) {
		struct service s = {.pause_ms = pauses_ms[i]};

		add_frame(&s, WIRE_NOTE, 0, (struct hv_span){0});
		expect_late_read(&s, 0);
	}
}
END_TEST

START_TEST(answers_to_other_requests_are_no_answer)
{
	struct service s = {.pause_ms = 0};

	add_frame(&s, WIRE_OK, 7, (struct hv_span){0});
	expect_late_read(&s, 0);
}
END_TEST

START_TEST(silence_is_late)
{
	static const uint32_t waits_ms[] = {0, 200};

	for (size_t i = 0; i < HV_ARRAY_LEN(waits_ms); i++) {
		struct service s = {.pause_ms = 100, .bytes = hv_alloc(WIRE_HEAD_LEN)};

		expect_late_read(&s, waits_ms[i]);
	}
}
END_TEST

/* A read without a timeout must not wait for the rest of a frame. */
START_TEST(a_part_of_a_frame_is_late)
{
	struct service s = {.pause_ms = 60000};

	add_frame(&s, WIRE_OK, 1, (struct hv_span){(const uint8_t *)"ab", 2});
	s.len_bytes--;
	expect_late_read(&s, WIRE_WAIT_FOREVER);
}
END_TEST

START_TEST(a_request_that_is_not_taken_is_late)
{
	struct service s = {.pause_ms = 60000, .bytes = hv_alloc(WIRE_HEAD_LEN)};
	struct wire_frame reply, request = {.kind = WIRE_WRITE, .data = much()};
	struct conn *c = begin(&s, 0);

	setsockopt(c->fd, SOL_SOCKET, SO_SNDBUF, &(int){4096}, sizeof(int));
	expect(conn_call(c, &request, &reply), ESHUTDOWN,
	       "domain 'web1': the session does not answer");
	end(&s, c);
}
END_TEST

/* The total of all requests, however fast each is answered. */
START_TEST(requests_until_a_time)
{
	struct service s = {.pause_ms = 10, .counts = true};
	struct wire_frame reply, request = {.kind = WIRE_READ, .wait_ms = WIRE_WAIT_FOREVER};
	struct hvt_error *error = NULL;
	struct conn *c;
	unsigned nr = 0;

	add_frame(&s, WIRE_OK, 1, (struct hv_span){0});
	c = begin(&s, hv_now_ns() + LIMIT_MS * HV_NS_PER_MS);
	while (!(error = conn_call(c, &request, &reply)))
		nr++;
	ck_assert_uint_ge(nr, 2);
	expect(error, ESHUTDOWN, "domain 'web1': the session does not answer");
	end(&s, c);
}
END_TEST

START_TEST(invalid_answer_kinds)
{
	static const uint16_t kinds[] = {0, WIRE_LIST, WIRE_STAT, 0x7f, 0x83, UINT16_MAX};

	for (size_t i = 0; i < HV_ARRAY_LEN(kinds); i++) {
		struct service s = {.pause_ms = 60000};
		struct wire_frame reply, request = {.kind = WIRE_READ};
		struct conn *c;

		add_frame(&s, kinds[i], 1, (struct hv_span){0});
		c = begin(&s, 0);
		for (unsigned try = 0; try < 2; try++)
			expect(conn_call(c, &request, &reply), EPROTO,
			       "domain 'web1': the service's answer cannot be understood");
		end(&s, c);
	}
}
END_TEST

static void take_note(const char *text, void *data)
{
	ck_assert_str_eq(text, "wait?for");
	++*(unsigned *)data;
}

START_TEST(notes)
{
	static const char *const texts[] = {"wait\nfor", "with\0a NUL"};
	static const size_t lengths[] = {8, 10};

	for (size_t i = 0; i < HV_ARRAY_LEN(texts); i++) {
		struct service s = {.pause_ms = 50};
		struct wire_frame reply, request = {.kind = WIRE_DETACH};
		struct conn *c;
		unsigned nr = 0;

		add_frame(&s, WIRE_NOTE, 1,
			  (struct hv_span){(const uint8_t *)texts[i], lengths[i]});
		c = begin(&s, 0);
		c->on_note = take_note;
		c->note_data = &nr;
		hvt_error_free(conn_call(c, &request, &reply));
		ck_assert(i ? nr == 0 : nr > 1);
		end(&s, c);
	}
}
END_TEST

/* A service that takes nothing: the requests wait in the connection, and no call waits. */
START_TEST(requests_in_a_poll_loop)
{
	struct service s = {.pause_ms = 60000};
	struct wire_frame reply, request = {.kind = WIRE_WRITE, .data = much()};
	struct conn *c;
	uint32_t tag = 0;
	bool has;

	add_frame(&s, WIRE_OK, 2, (struct hv_span){(const uint8_t *)"ab", 2});
	c = begin(&s, 0);
	for (uint32_t i = 1; i <= 8; i++) {
		ck_assert_ptr_null(conn_queue(c, &request, &tag));
		ck_assert_uint_eq(tag, i);
		ck_assert_ptr_null(conn_flush(c));
	}
	ck_assert(conn_has_output(c));
	poll(&(struct pollfd){c->fd, POLLIN, 0}, 1, -1);
	ck_assert_ptr_null(conn_fill(c, &has));
	ck_assert(has);
	ck_assert_ptr_null(conn_next(c, &has, &reply));
	ck_assert(has && reply.tag == 2 && reply.data.len_bytes == 2);
	ck_assert_ptr_null(conn_fill(c, &has));
	ck_assert(!has);
	shutdown(s.fd, SHUT_RDWR);
	expect(conn_flush(c), ECONNRESET, "domain 'web1': the session has ended");
	expect(conn_fill(c, &has), ECONNRESET, "domain 'web1': the session has ended");
	end(&s, c);
}
END_TEST

/* A seccomp filter of the client may refuse a system call. That is not the session's end. */
START_TEST(a_failed_system_call_is_named)
{
	static const char says[] =
		"domain 'web1': cannot reach the session: Socket operation on non-socket";
	struct service s = {.pause_ms = 1};
	struct wire_frame reply, request = {.kind = WIRE_STAT};
	int other = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct conn *c;
	bool any;

	add_frame(&s, WIRE_OK, 1, (struct hv_span){0});
	c = begin(&s, 0);
	ck_assert_int_eq(dup2(other, c->fd), c->fd);
	close(other);
	expect(conn_fill(c, &any), ENOTSOCK, says);
	expect(conn_call(c, &request, &reply), ENOTSOCK, says);
	c->broken = 0;
	expect(conn_call(c, &request, &reply), ENOTSOCK, says);
	end(&s, c);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, a_trickling_answer_times_out);
	tcase_add_test(tc, notes_do_not_extend_the_timeout);
	tcase_add_test(tc, answers_to_other_requests_are_no_answer);
	tcase_add_test(tc, silence_is_late);
	tcase_add_test(tc, a_part_of_a_frame_is_late);
	tcase_add_test(tc, a_request_that_is_not_taken_is_late);
	tcase_add_test(tc, requests_until_a_time);
	tcase_add_test(tc, invalid_answer_kinds);
	tcase_add_test(tc, notes);
	tcase_add_test(tc, requests_in_a_poll_loop);
	tcase_add_test(tc, a_failed_system_call_is_named);
}

int main(void)
{
	return run_suite("conn", add_tests);
}
