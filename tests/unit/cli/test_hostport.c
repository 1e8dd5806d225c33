/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>

#include "cli/parse.h"
#include "tests/lib/run_suite.h"

static void expect(const char *text, const char *want, int want_port)
{
	char got[INET6_ADDRSTRLEN];
	struct hostport at;
	const struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&at.addr;
	const struct sockaddr_in *v4 = (struct sockaddr_in *)&at.addr;

	ck_assert_ptr_null(hostport_parse(text, "99", HOSTPORT_NUMERIC, &at));
	if (at.addr.ss_family == AF_INET)
		inet_ntop(AF_INET, &v4->sin_addr, got, sizeof(got));
	else
		inet_ntop(AF_INET6, &v6->sin6_addr, got, sizeof(got));
	ck_assert_str_eq(got, want);
	ck_assert_int_eq(ntohs(v4->sin_port), want_port);
}

static void refuse(const char *text, const char *why)
{
	struct hostport at;
	struct hv_err *err = hostport_parse(text, "99", HOSTPORT_NUMERIC, &at);

	ck_assert_ptr_nonnull(err);
	ck_assert_str_eq(err->message, why);
	hv_err_free(err);
}

START_TEST(places)
{
	expect("10.0.0.1", "10.0.0.1", 99);
	expect("10.0.0.1:7", "10.0.0.1", 7);
	expect("::1", "::1", 99);
	expect("[::1]", "::1", 99);
	expect("[fe80::2]:65535", "fe80::2", 65535);
}
END_TEST

START_TEST(no_places)
{
	refuse("", "'' is not ADDRESS[:PORT]");
	refuse(":9", "':9' is not ADDRESS[:PORT]");
	refuse("10.0.0.1:", "'10.0.0.1:' is not ADDRESS[:PORT]");
	refuse("10.0.0.1:0", "'10.0.0.1:0' is not ADDRESS[:PORT]");
	refuse("10.0.0.1:65536", "'10.0.0.1:65536' is not ADDRESS[:PORT]");
	refuse("10.0.0.1:-1", "'10.0.0.1:-1' is not ADDRESS[:PORT]");
	refuse("10.0.0.1:1x", "'10.0.0.1:1x' is not ADDRESS[:PORT]");
	refuse("[::1", "'[::1': Name or service not known");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, places);
	tcase_add_test(tc, no_places);
}

int main(void)
{
	return run_suite("hostport", add_tests);
}
