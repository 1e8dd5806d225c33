/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Suggestions for typos. */
#include "base/nearest.h"

#include <check.h>
#include <stdlib.h>

#include "base/guard.h"
#include "tests/lib/run_suite.h"

static const char *const names[] = {
	"attach",
	"detach",
	"vfs_read",
	"vfs_write",
	"vfs_readv",
	"cat",
	"a_name_that_is_longer_than_any_word_that_is_compared_and_goes_on_and_on",
};

static const char *found(const char *word)
{
	struct hv_nearest n = hv_nearest_to(word);

	for (size_t i = 0; i < HV_ARRAY_LEN(names); i++)
		hv_nearest_try(&n, names[i]);
	return n.found ? n.found : "none";
}

START_TEST(a_typo_is_near)
{
	ck_assert_str_eq(found("attahc"), "attach"); /* two letters swapped */
	ck_assert_str_eq(found("atach"), "attach");
	ck_assert_str_eq(found("dettach"), "detach");
	ck_assert_str_eq(found("vfs_reed"), "vfs_read");
	ck_assert_str_eq(found("vfs_raedv"), "vfs_readv");
	ck_assert_str_eq(found("cta"), "cat");
	ck_assert_str_eq(found("cax"), "cat");
}
END_TEST

START_TEST(the_nearest_then_the_first_word_wins)
{
	ck_assert_str_eq(found("vfs_read"), "none");
	ck_assert_str_eq(found("xttach"), "attach");
	ck_assert_str_eq(found("ttach"), "attach");
}
END_TEST

START_TEST(distant_words_are_not_suggested)
{
	ck_assert_str_eq(found("dog"), "none");
	ck_assert_str_eq(found("ct"), "none");
	ck_assert_str_eq(found(""), "none");
	ck_assert_str_eq(found("vfs_*"), "none");
	ck_assert_str_eq(found("tcp_sendmsg"), "none");
	ck_assert_str_eq(found("a_name_that_is_longer_than_any_word_that_is_compared_and_goes_on"),
			 "none");
}
END_TEST

START_TEST(a_question_needs_a_match)
{
	struct hv_nearest n = hv_nearest_to("attahc");
	HV_AUTO_FREE char *nothing = hv_nearest_question(&n), *question = NULL;

	hv_nearest_try(&n, "attach");
	question = hv_nearest_question(&n);
	ck_assert_str_eq(nothing, "");
	ck_assert_str_eq(question, "; did you mean attach?");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, a_typo_is_near);
	tcase_add_test(tc, the_nearest_then_the_first_word_wins);
	tcase_add_test(tc, distant_words_are_not_suggested);
	tcase_add_test(tc, a_question_needs_a_match);
}

int main(void)
{
	return run_suite("nearest", add_tests);
}
