/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/metrics/http.h"

#include <fcntl.h>
#include <unistd.h>

#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"

START_TEST(a_build_without_the_library)
{
	int fd = open("/dev/null", O_RDONLY);
	struct http *http = NULL;

	expect_error(http_start(fd, NULL, NULL, &http), ENOTSUP,
		     "this hvtrace was built without libmicrohttpd");
	ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
	ck_assert_ptr_null(http);
	http_stop(http);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, a_build_without_the_library);
}

int main(void)
{
	return run_suite("http_none", add_tests);
}
