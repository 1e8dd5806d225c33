/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The default mount point of a guest's tree. */
#include <check.h>

#include "base/guard.h"
#include "cli/mountpoint.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"

static void expect(const char *name, const char *dir)
{
	HV_AUTO_FREE char *at = mountpoint_default("/run/x", name, "1-2");

	ck_assert_str_eq(at, dir);
}

START_TEST(by_the_name)
{
	expect("web1", "/run/x/tracing/web1");
	expect("a b", "/run/x/tracing/a b");
}
END_TEST

/* Names that are not file names, or lead elsewhere. */
START_TEST(by_the_id_if_the_name_is_unsuitable)
{
	static const char *const names[] = {"", ".", "..", ".hidden", "a/b", "../../etc"};

	for (size_t i = 0; i < HV_ARRAY_LEN(names); i++)
		expect(names[i], "/run/x/tracing/1-2");
}
END_TEST

START_TEST(a_parent_that_refuses_directories)
{
	expect_error(mountpoint_make("/proc/hvtrace", "/proc/hvtrace/tracing/web1"), ENOENT,
		     "/proc/hvtrace: cannot be made: No such file or directory");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, by_the_name);
	tcase_add_test(tc, by_the_id_if_the_name_is_unsuitable);
	tcase_add_test(tc, a_parent_that_refuses_directories);
}

int main(void)
{
	return run_suite("mountpoint", add_tests);
}
