/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prefixes of strings. */
#include "base/prefix.h"

#include <check.h>
#include <stdlib.h>

#include "tests/lib/run_suite.h"

START_TEST(a_text_starts_with_its_prefixes)
{
	ck_assert(hv_starts_with("vfs_read", "vfs_"));
	ck_assert(hv_starts_with("vfs_read", "vfs_read"));
	ck_assert(hv_starts_with("vfs_read", ""));
	ck_assert(hv_starts_with("", ""));
	ck_assert(!hv_starts_with("vfs_read", "vfs_write"));
	ck_assert(!hv_starts_with("vfs", "vfs_"));
	ck_assert(!hv_starts_with("", "v"));
}
END_TEST

/* As in the comm of a task. */
START_TEST(a_text_needs_no_nul_after_the_prefix)
{
	const char comm[4] = {'C', 'P', 'U', ' '};

	ck_assert(hv_starts_with(comm, "CPU "));
	ck_assert(!hv_starts_with(comm, "CPU7"));
}
END_TEST

START_TEST(returns_the_rest)
{
	const char *text = "task 7";

	ck_assert_ptr_eq(hv_after_prefix(text, "task "), text + 5);
	ck_assert_ptr_eq(hv_after_prefix(text, "task 7"), text + 6);
	ck_assert_ptr_null(hv_after_prefix(text, "file "));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, a_text_starts_with_its_prefixes);
	tcase_add_test(tc, a_text_needs_no_nul_after_the_prefix);
	tcase_add_test(tc, returns_the_rest);
}

int main(void)
{
	return run_suite("prefix", add_tests);
}
