/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recognizes kernel threads by their flags, whatever their names. */
#include <check.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/lib/run_suite.h"
#include "vmm/process/process.h"

START_TEST(kernel_threads_by_their_flags)
{
	ck_assert(hv_stat_is_kernel_threads("77 (vhost-70) S 2 0 0 0 -1 2097216 0 0 0 0 0 0\n"));
	ck_assert(!hv_stat_is_kernel_threads("77 (vhost-70) S 2 0 0 0 -1 4194560 0 0 0 0 0 0\n"));
	ck_assert(!hv_stat_is_kernel_threads("77 (vhost-70) S 2 0 0 0 -1"));
	ck_assert(!hv_stat_is_kernel_threads("77 (vhost-70)"));
	ck_assert(!hv_stat_is_kernel_threads(""));
}
END_TEST

START_TEST(flags_after_the_name)
{
	unsigned flags = 0;

	ck_assert(hv_stat_flags("77 (a) Z) Z 2 0 0 0 -1 4227084 0 0 0 0 0 0\n", &flags));
	ck_assert_uint_eq(flags, 4227084);
	ck_assert(!hv_stat_flags("77 (a) Z 2 0 0 0 -1", &flags));
}
END_TEST

START_TEST(names_with_blanks_and_parentheses)
{
	ck_assert(!hv_stat_is_kernel_threads("77 (a) S 2 0 0 0 -1 ) S 1 7 7 0 -1 4194560 0 0\n"));
	ck_assert(!hv_stat_is_kernel_threads("77 () S 2 2097152) S 1 7 7 0 -1 4194560 0 0\n"));
	ck_assert(hv_stat_is_kernel_threads("77 (a (b) c) I 2 0 0 0 -1 69238880 0 0\n"));
}
END_TEST

START_TEST(a_program_with_such_a_name)
{
	ck_assert_int_eq(prctl(PR_SET_NAME, "vhost-1"), 0);
	ck_assert(!hv_is_kernel_thread(getpid()));
	ck_assert(!hv_is_kernel_thread(7777777));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, kernel_threads_by_their_flags);
	tcase_add_test(tc, flags_after_the_name);
	tcase_add_test(tc, names_with_blanks_and_parentheses);
	tcase_add_test(tc, a_program_with_such_a_name);
}

int main(void)
{
	return run_suite("kernel_thread", add_tests);
}
