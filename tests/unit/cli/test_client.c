/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Deadlines of requests, with any behaviour of the service. */
#include <check.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include "cli/client.h"
#include "tests/lib/run_suite.h"

#define LIMIT_S 1

/* A service that sends BYTES, or a PIECE of them, every PAUSE_MS until its client has gone. */
struct service {
	struct hv_text bytes;
	size_t piece;
	int pause_ms, fd;
	pthread_t thread;
};

static void *service_main(void *arg)
{
	const struct service *s = arg;
	size_t at = 0;
	ssize_t n;

	do {
		n = send(s->fd, s->bytes.data + at, s->piece ? s->piece : s->bytes.len_bytes,
			 MSG_NOSIGNAL);
		at += s->piece;
	} while (n >= 0 && poll(&(struct pollfd){s->fd, 0, 0}, 1, s->pause_ms) == 0);
	return NULL;
}

static struct client begin(struct service *s)
{
	struct client c = CLIENT_NONE;
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	s->fd = ends[1];
	c.fd = ends[0];
	c.spec = hv_strdup("web1");
	client_limit(&c, LIMIT_S);
	ck_assert_int_eq(pthread_create(&s->thread, NULL, service_main, s), 0);
	return c;
}

static void end(struct service *s, struct client *c)
{
	client_close(c);
	pthread_join(s->thread, NULL);
	close(s->fd);
	hv_text_deinit(&s->bytes);
}

static void expect_late(struct service *s, uint32_t wait_ms)
{
	struct client c = begin(s);
	struct wire_frame answer, request = {.kind = WIRE_READ, .wait_ms = wait_ms};
	struct hv_err *err = client_call(&c, &request, &answer);

	ck_assert_int_eq(err->code, ESHUTDOWN);
	ck_assert_str_eq(err->message, "domain 'web1': the session does not answer");
	hv_err_free(err);
	/* A later reply must not be taken for the reply to another request. */
	err = client_call(&c, &request, &answer);
	ck_assert(client_is_gone(err));
	hv_err_free(err);
	end(s, &c);
}

START_TEST(an_answer_that_drips_is_late)
{
	static uint8_t much[WIRE_DATA_MAX];
	struct service s = {.pause_ms = 20, .piece = 1};

	wire_encode(&s.bytes, &(struct wire_frame){.kind = WIRE_OK, .data = {much, sizeof(much)}});
	expect_late(&s, 0);
}
END_TEST

START_TEST(notes_are_no_answer)
{
	static const int pauses_ms[] = {0, 50};

	for (size_t i = 0; i < HV_ARRAY_LEN(pauses_ms); i++) {
		struct service s = {.pause_ms = pauses_ms[i]};

		wire_encode(&s.bytes, &(struct wire_frame){.kind = WIRE_NOTE});
		expect_late(&s, 0);
	}
}
END_TEST

START_TEST(silence_is_late)
{
	struct service s = {.pause_ms = 100};

	hv_text_add(&s.bytes, "");
	expect_late(&s, 0);
	s = (struct service){.pause_ms = 100};
	hv_text_add(&s.bytes, "");
	expect_late(&s, 500);
}
END_TEST

/* A read without a timeout must not wait for the rest of a frame. */
START_TEST(a_part_of_a_frame_is_late)
{
	struct service s = {.pause_ms = 60000};

	wire_encode(&s.bytes, &(struct wire_frame){.kind = WIRE_OK, .data = {(uint8_t *)"ab", 2}});
	s.bytes.len_bytes--;
	expect_late(&s, WIRE_WAIT_FOREVER);
}
END_TEST

START_TEST(a_request_that_is_not_taken_is_late)
{
	static uint8_t much[WIRE_DATA_MAX];
	struct service s = {.pause_ms = 60000};
	struct wire_frame answer, request = {.kind = WIRE_WRITE, .data = {much, sizeof(much)}};
	struct client c;
	struct hv_err *err = NULL;

	hv_text_add(&s.bytes, "");
	c = begin(&s);
	setsockopt(c.fd, SOL_SOCKET, SO_SNDBUF, &(int){4096}, sizeof(int));
	err = client_call(&c, &request, &answer);
	ck_assert_int_eq(err->code, ESHUTDOWN);
	hv_err_free(err);
	end(&s, &c);
}
END_TEST

/* The deadline is for all requests together, however fast each is answered. */
START_TEST(requests_within_a_time)
{
	struct service s = {.pause_ms = 10};
	struct wire_frame answer, request = {.kind = WIRE_READ};
	struct hv_err *err = NULL;
	struct client c;

	wire_encode(&s.bytes, &(struct wire_frame){.kind = WIRE_OK});
	c = begin(&s);
	client_limit(&c, 0);
	client_within(&c, LIMIT_S);
	while (!err)
		err = client_call(&c, &request, &answer);
	ck_assert_int_eq(err->code, ESHUTDOWN);
	hv_err_free(err);
	end(&s, &c);
}
END_TEST

START_TEST(answers_that_are_none)
{
	static const uint16_t kinds[] = {0, WIRE_LIST, WIRE_STAT, 0x7f, 0x83, UINT16_MAX};

	for (size_t i = 0; i < HV_ARRAY_LEN(kinds); i++) {
		struct service s = {.pause_ms = 60000};
		struct wire_frame answer, request = {.kind = WIRE_READ};
		struct hv_err *err;
		struct client c;

		wire_encode(&s.bytes, &(struct wire_frame){.kind = kinds[i], .arg = EIO});
		c = begin(&s);
		err = client_call(&c, &request, &answer);
		ck_assert_int_eq(err->code, EPROTO);
		hv_err_free(err);
		end(&s, &c);
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, an_answer_that_drips_is_late);
	tcase_add_test(tc, notes_are_no_answer);
	tcase_add_test(tc, silence_is_late);
	tcase_add_test(tc, a_part_of_a_frame_is_late);
	tcase_add_test(tc, a_request_that_is_not_taken_is_late);
	tcase_add_test(tc, requests_within_a_time);
	tcase_add_test(tc, answers_that_are_none);
}

int main(void)
{
	return run_suite("client", add_tests);
}
