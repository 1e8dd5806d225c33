/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A host that permits no more threads. */
#include "cli/metrics/http.h"

#include <sys/socket.h>

#include "tests/lib/failing_call.h"
#include "tests/lib/run_suite.h"

static struct hv_err *never(void *ctx hv_unused, struct hv_text *ret hv_unused)
{
	ck_abort();
}

static struct hv_err *start(void *ctx hv_unused)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct http *http = NULL;

	return http_start(fd, never, NULL, &http);
}

START_TEST(no_thread)
{
	static const struct failing_call calls[] = {
		{SCMP_SYS(clone), EAGAIN}, {SCMP_SYS(clone3), EAGAIN}, {0}};

	expect_failure(calls, start, NULL, EIO, "libmicrohttpd cannot start a server");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, no_thread);
}

int main(void)
{
	return run_suite("http", add_tests);
}
