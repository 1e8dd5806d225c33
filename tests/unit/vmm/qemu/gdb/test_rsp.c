/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Framing of gdb's remote serial protocol. */
#include <check.h>
#include <string.h>

#include "tests/lib/run_suite.h"
#include "vmm/qemu/gdb/gdb_stub.h"

static struct hv_rsp_reader reader;

static void feed(const char *s)
{
	hv_rsp_feed(&reader, s, strlen(s));
}

static void setup(void)
{
	reader = (struct hv_rsp_reader){0};
}

static void teardown(void)
{
	hv_rsp_reader_deinit(&reader);
}

START_TEST(frames)
{
	HV_AUTO_TEXT struct hv_text t = {0};

	hv_rsp_frame(&t, "OK", 2);
	hv_rsp_frame(&t, "", 0);
	ck_assert_str_eq(t.data, "$OK#9a$#00");
}
END_TEST

START_TEST(packets_in_pieces)
{
	feed("+$O");
	ck_assert_int_eq(hv_rsp_next(&reader), HV_RSP_MORE);
	feed("K#9");
	ck_assert_int_eq(hv_rsp_next(&reader), HV_RSP_MORE);
	feed("a+$#00-");
	ck_assert_int_eq(hv_rsp_next(&reader), HV_RSP_PACKET);
	ck_assert_str_eq(reader.packet.data, "OK");
	ck_assert_int_eq(hv_rsp_next(&reader), HV_RSP_PACKET);
	ck_assert_str_eq(reader.packet.data, "");
	ck_assert_int_eq(hv_rsp_next(&reader), HV_RSP_NAK);
	ck_assert_int_eq(hv_rsp_next(&reader), HV_RSP_MORE);
}
END_TEST

/* A hostile VMM sends one byte at a time, endlessly. */
START_TEST(very_many_pieces)
{
	char byte = 'a';

	feed("$");
	for (unsigned i = 0; i < HV_RSP_PACKET_MAX_BYTES; i++) {
		hv_rsp_feed(&reader, &byte, 1);
		ck_assert_int_eq(hv_rsp_next(&reader), HV_RSP_MORE);
	}
	hv_rsp_feed(&reader, &byte, 1);
	ck_assert_int_eq(hv_rsp_next(&reader), HV_RSP_BAD);
	feed("$OK#9a");
	ck_assert_int_eq(hv_rsp_next(&reader), HV_RSP_PACKET);
	ck_assert_str_eq(reader.packet.data, "OK");
}
END_TEST

START_TEST(expansion)
{
	HV_AUTO_TEXT struct hv_text t = {0};

	hv_rsp_frame(&t, "0* 1}\x03", 6); /* ' ' - 29 = 3 more; } escapes '#' */
	feed(t.data);
	ck_assert_int_eq(hv_rsp_next(&reader), HV_RSP_PACKET);
	ck_assert_str_eq(reader.packet.data, "00001#");
}
END_TEST

START_TEST(damage)
{
	static const char *const bad[] = {"*!", "a*", "a*\x1d", "}"};

	feed("$OK#9b");
	ck_assert_int_eq(hv_rsp_next(&reader), HV_RSP_BAD);
	feed("$OK#zz");
	ck_assert_int_eq(hv_rsp_next(&reader), HV_RSP_BAD);
	for (size_t i = 0; i < HV_ARRAY_LEN(bad); i++) {
		HV_AUTO_TEXT struct hv_text t = {0};

		hv_rsp_frame(&t, bad[i], strlen(bad[i]));
		feed(t.data);
		ck_assert_int_eq(hv_rsp_next(&reader), HV_RSP_BAD);
	}
	feed("$OK#9a");
	ck_assert_int_eq(hv_rsp_next(&reader), HV_RSP_PACKET);
}
END_TEST

START_TEST(endless)
{
	static char much[HV_RSP_PACKET_MAX_BYTES + 2];

	memset(much, 'a', sizeof(much));
	much[0] = '$';
	hv_rsp_feed(&reader, much, sizeof(much));
	ck_assert_int_eq(hv_rsp_next(&reader), HV_RSP_BAD);
	feed("$OK#9a");
	ck_assert_int_eq(hv_rsp_next(&reader), HV_RSP_PACKET);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, frames);
	tcase_add_test(tc, packets_in_pieces);
	tcase_add_test(tc, very_many_pieces);
	tcase_add_test(tc, expansion);
	tcase_add_test(tc, damage);
	tcase_add_test(tc, endless);
}

int main(void)
{
	return run_suite("rsp", add_tests);
}
