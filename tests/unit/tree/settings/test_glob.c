/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/run_suite.h"
#include "tree/settings/glob.h"

static bool matches(const char *pattern, const char *name)
{
	char *text = strdup(pattern);
	struct hv_glob glob = hv_glob_parse(text);
	bool matched = hv_glob_match(&glob, name);

	free(text);
	return matched;
}

static enum hv_glob_kind kind(const char *pattern)
{
	char text[64];

	strcpy(text, pattern);
	return hv_glob_parse(text).kind;
}

START_TEST(kinds)
{
	ck_assert_int_eq(kind("vfs_read"), HV_GLOB_FULL);
	ck_assert_int_eq(kind("vfs_*"), HV_GLOB_PREFIX);
	ck_assert_int_eq(kind("*_read"), HV_GLOB_SUFFIX);
	ck_assert_int_eq(kind("*fs_r*"), HV_GLOB_SUBSTRING);
	ck_assert_int_eq(kind("*"), HV_GLOB_SUFFIX);
	ck_assert_int_eq(kind("**"), HV_GLOB_SUBSTRING);
	ck_assert_int_eq(kind("a*b"), HV_GLOB_SHELL);
	ck_assert_int_eq(kind("*a*b"), HV_GLOB_SHELL);
	ck_assert_int_eq(kind("a?"), HV_GLOB_SHELL);
	ck_assert_int_eq(kind("a[b]*"), HV_GLOB_SHELL);
	ck_assert_int_eq(kind("*a\\"), HV_GLOB_SHELL);
	ck_assert_int_eq(kind("12*"), HV_GLOB_INDEX);
	ck_assert_int_eq(kind("!1"), HV_GLOB_INDEX);
}
END_TEST

START_TEST(negation)
{
	char text[] = "!vfs_*";
	struct hv_glob glob = hv_glob_parse(text);

	ck_assert(glob.negated);
	ck_assert_str_eq(glob.search, "vfs_");
	ck_assert(hv_glob_match(&glob, "vfs_read"));
}
END_TEST

START_TEST(plain_kinds)
{
	ck_assert(matches("vfs_read", "vfs_read"));
	ck_assert(!matches("vfs_read", "vfs_readv"));
	ck_assert(!matches("vfs_read", "vfs_rea"));
	ck_assert(matches("vfs_*", "vfs_"));
	ck_assert(!matches("vfs_*", "xvfs_"));
	ck_assert(matches("*_read", "_read"));
	ck_assert(!matches("*_read", "read"));
	ck_assert(!matches("*_read", "_reads"));
	ck_assert(matches("*s_r*", "vfs_read"));
	ck_assert(!matches("*sr*", "vfs_read"));
	ck_assert(matches("*", ""));
	ck_assert(matches("**", "anything"));
	ck_assert(!matches("1", "1"));
}
END_TEST

START_TEST(shell_kind)
{
	ck_assert(matches("vfs_rea?", "vfs_read"));
	ck_assert(!matches("vfs_read?", "vfs_read"));
	ck_assert(matches("vfs_[rw]*e", "vfs_write"));
	ck_assert(!matches("vfs_[rw]*e", "vfs_open_e"));
	ck_assert(matches("vfs_[!rw]*", "vfs_open"));
	ck_assert(!matches("vfs_[!rw]*", "vfs_read"));
	ck_assert(!matches("vfs_read[!a]", "vfs_read"));
	ck_assert(matches("a[b-d]e", "ace"));
	ck_assert(!matches("a[b-d]e", "aee"));
	ck_assert(matches("a[]b]", "a]"));
	ck_assert(matches("a[b-]", "a-"));
	ck_assert(matches("a[b", "a[b"));
	ck_assert(!matches("a[b", "ab"));
	ck_assert(matches("a[b-", "a[b-"));
	ck_assert(matches("a\\*b?", "a*bc"));
	ck_assert(!matches("a\\*b?", "axbc"));
	ck_assert(matches("a?\\", "ab"));
	ck_assert(!matches("a?\\", "ab\\"));
	ck_assert(matches("*a*b*a?b", "xxaybzaabaab"));
	ck_assert(!matches("*a*b*a?b", "xxaybzaaba"));
	ck_assert(matches("a*?", "abc"));
	ck_assert(!matches("a*?", "a"));
	ck_assert(matches("a**b", "axxb"));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, kinds);
	tcase_add_test(tc, negation);
	tcase_add_test(tc, plain_kinds);
	tcase_add_test(tc, shell_kind);
}

int main(void)
{
	return run_suite("glob", add_tests);
}
