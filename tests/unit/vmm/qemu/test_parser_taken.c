/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A parser that a VMM has taken over: this file's parser_run() sends malformed or late answers, or
 * none. Each request must fail with one error, the process must be gone afterwards, and the next
 * request must start a new one. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/text.h"
#include "tests/lib/run_suite.h"
#include "vmm/guest.h"
#include "vmm/helper.h"
#include "vmm/qemu/parser.h"
#include "vmm/qemu/parser_wire.h"

/* The parser's reply to all requests except the first. */
static struct {
	struct parser_head head;
	const void *bytes;
	size_t nr_bytes; /* to send, whatever the head contains */
	unsigned times;
	bool is_silent;
	bool ends;
	bool does_not_read;
} does;

static struct hv_parser *parser;
static unsigned nr_relayed;

_Noreturn void parser_run(const char *path hv_unused)
{
	struct parser_head question, hello = {.kind = PARSER_ANSWER};
	char bytes[PARSER_ASKED_MAX_BYTES];

	while (recv(HV_HELPER_CONTROL, &question, sizeof(question), MSG_WAITALL) ==
	       sizeof(question)) {
		if (question.len_bytes)
			recv(HV_HELPER_CONTROL, bytes, question.len_bytes, MSG_WAITALL);
		if (question.kind == PARSER_HELLO) {
			send(HV_HELPER_CONTROL, &hello, sizeof(hello), MSG_NOSIGNAL);
			continue;
		}
		for (unsigned i = 0; i < does.times; i++) {
			send(HV_HELPER_CONTROL, &does.head, sizeof(does.head), MSG_NOSIGNAL);
			send(HV_HELPER_CONTROL, does.bytes, does.nr_bytes, MSG_NOSIGNAL);
			while (does.times > 1 &&
			       recv(HV_HELPER_CONTROL, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
				;
		}
		if (does.ends)
			_exit(0);
		while (does.is_silent || does.does_not_read)
			pause();
	}
	_exit(0);
}

static struct hv_err *transact(void *self hv_unused, const char *request hv_unused, char **ret)
{
	static char answer[8u << 20];

	nr_relayed++;
	if (does.does_not_read)
		memset(answer, 'a', sizeof(answer) - 1);
	*ret = hv_strdup(does.does_not_read ? answer : "{}");
	return NULL;
}

static void free_nothing(void *self hv_unused)
{
}

static const struct hv_monitor_ops ops = {.free = free_nothing, .transact = transact};

static void setup(void)
{
	memset(&does, 0, sizeof(does));
	does.times = 1;
	does.head.kind = PARSER_ANSWER;
	parser = hv_parser_relay(hv_monitor_new(&ops, NULL));
	hv_parser_silent_ns = 2 * HV_NS_PER_S;
}

static void teardown(void)
{
	hv_parser_free(parser);
}

static void refused(struct hv_err *err, int code, const char *words)
{
	ck_assert_ptr_nonnull(err);
	ck_assert_msg(err->code == code && strstr(err->message, words), "%d: %s", err->code,
		      err->message);
	ck_assert_int_eq(hv_parser_pid(parser), -1);
	hv_err_free(err);
}

static struct hv_err *ask(void)
{
	struct hv_vmm_status status;

	return hv_parser_status(parser, &status);
}

static void put(const void *bytes, size_t len)
{
	does.bytes = bytes;
	does.nr_bytes = len;
	does.head.len_bytes = (uint32_t)len;
}

START_TEST(malformed_answers)
{
	static const char much[65536];

	refused(ask(), EPROTO, "an answer that is too short"); /* shorter than a status */
	put(much, sizeof(much));
	refused(ask(), EPROTO, "an answer that is too long");
	does.head.len_bytes = UINT32_MAX;
	refused(ask(), EPROTO, "an answer that is too long");
	put(NULL, 0);
	does.head.kind = PARSER_STATUS;
	refused(ask(), EPROTO, "an unexpected message");
	does.head.kind = 0;
	refused(ask(), EPROTO, "an unexpected message");
}
END_TEST

START_TEST(malformed_errors)
{
	static const char much[2 * PARSER_MESSAGE_MAX_BYTES];
	static const int codes[] = {-1, INT32_MIN, 4096, INT32_MAX};
	struct hv_err *err;

	for (size_t i = 0; i < HV_ARRAY_LEN(codes); i++) {
		does.head.code = codes[i];
		refused(ask(), EPROTO, "a malformed error");
	}
	does.head.code = EIO;
	put(much, sizeof(much));
	refused(ask(), EPROTO, "a malformed error");
	put("a\033[2J\nb", 7);
	err = ask();
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, EIO);
	ck_assert_str_eq(err->message, "a?[2J?b");
	hv_err_free(err);
}
END_TEST

START_TEST(no_answer)
{
	does.times = 0;
	does.ends = true;
	refused(ask(), EPIPE, "cannot tell how the VMM answered: parser: it has ended");
	does.ends = false;
	does.is_silent = true;
	refused(ask(), ETIME, "no answer");
	put("half", 4);
	does.head.len_bytes = sizeof(struct hv_vmm_status);
	does.times = 1;
	refused(ask(), ETIME, "no answer");
}
END_TEST

START_TEST(relays)
{
	char much[PARSER_COMMAND_MAX_BYTES + 1];

	memset(much, 'a', sizeof(much));
	does.head.kind = PARSER_RELAY;
	put(much, sizeof(much));
	refused(ask(), EPROTO, "a command that cannot be relayed");
	ck_assert_uint_eq(nr_relayed, 0);
	/* the parser does not read the answer to its command */
	put("{}", 2);
	does.does_not_read = true;
	refused(ask(), ETIME, "it does not read");
	/* it sends commands endlessly */
	does.does_not_read = false;
	does.times = 1000000;
	nr_relayed = 0;
	refused(ask(), EPROTO, "an unexpected message");
	ck_assert_uint_lt(nr_relayed, 100000);
}
END_TEST

START_TEST(ram_out_of_order)
{
	static const struct hv_vmm_range lists[][2] = {
		{{{0}, 0x1000, 0}, {{0x800}, 0x1000, 0}},
		{{{0x1000}, 0x1000, 0}, {{0}, 0x1000, 0}},
		{{{0}, 0, 0}, {{0x1000}, 0x1000, 0}},
		{{{0}, 0x1000, 0}, {{UINT64_MAX - 0xfff}, 0x2000, 0}},
		{{{0}, 0x1000, 0}, {{0x1000}, 0x2000, UINT64_MAX - 0xfff}},
	};
	struct hv_vmm_range *ranges = hv_alloc(HV_VMM_RANGES_MAX * sizeof(*ranges));
	size_t nr = 0;
	bool can_go;

	for (size_t i = 0; i < HV_ARRAY_LEN(lists); i++) {
		put(lists[i], sizeof(lists[i]));
		refused(hv_parser_ram(parser, ranges, &nr, &can_go), EPROTO,
			"RAM that is not in order");
	}
	put(lists[0], sizeof(lists[0]) - 1);
	refused(hv_parser_ram(parser, ranges, &nr, &can_go), EPROTO, "RAM that is not in order");
	ck_assert_uint_eq(nr, 0);
	put(lists[0], sizeof(lists[0][0]));
	ck_assert_ptr_null(hv_parser_ram(parser, ranges, &nr, &can_go));
	ck_assert_uint_eq(nr, 1);
	free(ranges);
}
END_TEST

START_TEST(numbers_out_of_range)
{
	static pid_t tids[HV_VCPUS_MAX + 1];
	struct hv_vcpu_regs regs[3];
	enum hv_vmm_device device = HV_VMM_NO_DEVICE;
	struct hv_vmm_stub stub = {.state = 77};
	unsigned nr = 0;

	memset(stub.where, 'a', sizeof(stub.where));
	put(tids, sizeof(tids));
	refused(hv_parser_threads(parser, NULL, 0, &nr), EPROTO, "an answer that is too long");
	put(NULL, 0);
	refused(hv_parser_threads(parser, NULL, 0, &nr), EPROTO, "parser: no list of threads");
	put(regs, 2 * sizeof(*regs));
	refused(hv_parser_registers(parser, hv_arch_find("x86_64"), regs, 3), EPROTO,
		"registers of too few vCPUs");
	put(regs, 3 * sizeof(*regs));
	refused(hv_parser_registers(parser, hv_arch_find("x86_64"), regs, 2), EPROTO,
		"an answer that is too long");
	put(NULL, 0);
	does.head.args[0] = HV_NR_VMM_DEVICES;
	refused(hv_parser_devices(parser, &device), EPROTO, "parser: an unknown device");
	put(&stub, sizeof(stub));
	ck_assert_ptr_null(hv_parser_stub(parser, &stub));
	ck_assert_int_eq(stub.state, HV_STUB_ANOTHER);
	ck_assert_uint_eq(strlen(stub.where), sizeof(stub.where) - 1);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, malformed_answers);
	tcase_add_test(tc, malformed_errors);
	tcase_add_test(tc, no_answer);
	tcase_add_test(tc, relays);
	tcase_add_test(tc, ram_out_of_order);
	tcase_add_test(tc, numbers_out_of_range);
}

int main(void)
{
	return run_suite("parser_taken", add_tests);
}
