/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses trace_stat/functionN with any contents. The client is a fake whose file is TEXT. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/metrics/profile.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"

static const char *text;
static size_t at;
static struct hv_text counts;

struct hv_err *client_open(struct client *c hv_unused, const char *path hv_unused,
			   int flags hv_unused, uint32_t *ret_handle)
{
	*ret_handle = 1;
	at = 0;
	return NULL;
}

struct hv_err *client_read(struct client *c hv_unused, uint32_t handle hv_unused,
			   uint32_t wait_ms hv_unused, struct hv_span *ret)
{
	size_t len = strlen(text + at);

	len = len < 7 ? len : 7;
	*ret = (struct hv_span){(const uint8_t *)text + at, len};
	at += len;
	return NULL;
}

struct hv_err *client_close_file(struct client *c hv_unused, uint32_t handle hv_unused)
{
	return NULL;
}

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

static time_t late_s; /* each reading advances the clock by this */

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	static time_t passed_s;
	int failed = __real_clock_gettime(clock, ret);

	passed_s += late_s;
	ret->tv_sec += passed_s;
	return failed;
}

static void count(void *ctx hv_unused, const char *name, uint64_t hits, double time_us)
{
	hv_text_printf(&counts, "%s %u %.1f\n", name, (unsigned)hits, time_us);
}

static const char *read_all(const char *from)
{
	struct client c = CLIENT_NONE;
	struct hv_err *err;

	text = from;
	hv_text_clear(&counts);
	hv_text_add(&counts, "");
	err = profile_read(&c, "", 1, 0, count, NULL);
	ck_assert_ptr_null(err);
	return counts.data;
}

START_TEST(lines)
{
	ck_assert_str_eq(read_all("  Function   Hit    Time            Avg             s^2\n"
				  "  --------   ---    ----            ---             ---\n"
				  "  vfs_read   11    1000.500 us     90.955 us       0.000 us\n"
				  "  a\033b      2    5.000 us     2.500 us       0.000 us\n"),
			 "vfs_read 11 1000.5\na?b 2 5.0\n");
}
END_TEST

/* NaN has no order; the others are not times. */
START_TEST(no_time)
{
	ck_assert_str_eq(read_all("a 1 nan us\nb 1 inf us\nc 1 -inf us\nd 1 -1.0 us\n"
				  "e 1 1e300 us\nf 1 2.0 us\n"),
			 "f 1 2.0\n");
}
END_TEST

START_TEST(a_session_that_is_slow)
{
	struct client c = CLIENT_NONE;

	text = "a 1 2.0 us\n";
	late_s = 40;
	expect_error(profile_read(&c, "instances/x", 2, 0, count, NULL), ETIMEDOUT,
		     "instances/x/trace_stat/function0: the session took too long to send it");
	late_s = 0;
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, lines);
	tcase_add_test(tc, no_time);
	tcase_add_test(tc, a_session_that_is_slow);
}

int main(void)
{
	return run_suite("profile", add_tests);
}
