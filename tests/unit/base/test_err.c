/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors: their messages, contexts and flags. */
#include <check.h>
#include <string.h>

#include "base/err.h"
#include "tests/lib/run_suite.h"

START_TEST(messages_are_safe_to_print)
{
	HV_AUTO_ERR struct hv_err *err = hv_err_new(ENOENT, "no '%s'", "a\033[2J\nb\x7f");

	ck_assert_int_eq(err->code, ENOENT);
	ck_assert_str_eq(err->message, "no 'a?[2J?b?'");
	err = hv_err_in(err, "task %s", "x\ty");
	err = hv_err_add(err, " (%s)", "\a");
	ck_assert_str_eq(err->message, "task x?y: no 'a?[2J?b?' (?)");
	/* A UTF-8 terminal also interprets U+009B as a control character. Letters stay. */
	err = hv_err_in(err, "\xc2\x9b"
			     "2J\xc3\xa4\xc2");
	ck_assert_str_eq(err->message, "??2J\xc3\xa4?: task x?y: no 'a?[2J?b?' (?)");
	/* Terminals that interpret bytes from 0x80 on receive none of them. */
	err = hv_err_in(err, "\x9b"
			     "2J\xff");
	ck_assert_str_eq(err->reason, "??2J\xc3\xa4?: task x?y: no 'a?[2J?b?' (?)");
	ck_assert(strncmp(err->message, "?2J?: ", 6) == 0);
}
END_TEST

START_TEST(reason_excludes_the_last_context)
{
	HV_AUTO_ERR struct hv_err *err = hv_err_new(EIO, "short read");

	ck_assert_ptr_eq(err->reason, err->message);
	err = hv_err_in(err, "kallsyms");
	ck_assert_str_eq(err->reason, "short read");
	err = hv_err_in(err, "domain '%s'", "web1");
	ck_assert_str_eq(err->message, "domain 'web1': kallsyms: short read");
	ck_assert_str_eq(err->reason, "kallsyms: short read");
	err = hv_err_add(err, "; try again in %d s", 2);
	ck_assert_str_eq(err->message, "domain 'web1': kallsyms: short read; try again in 2 s");
	ck_assert_str_eq(err->reason, "kallsyms: short read; try again in 2 s");
}
END_TEST

START_TEST(facts_survive_context_and_copy)
{
	struct hv_err *err = hv_err_mark(hv_err_new(EBUSY, "busy"), HV_ERR_NEEDS_RECOVERY);
	HV_AUTO_ERR struct hv_err *copy = NULL;

	err = hv_err_mark(hv_err_in(err, "domain 'web1'"), HV_ERR_NAMES_DOMAIN);
	err = hv_err_add(err, "!");
	copy = hv_err_copy(err);
	hv_err_free(err);
	ck_assert_uint_eq(copy->facts, HV_ERR_NEEDS_RECOVERY | HV_ERR_NAMES_DOMAIN);
	ck_assert_int_eq(copy->code, EBUSY);
	ck_assert_str_eq(copy->message, "domain 'web1': busy!");
	ck_assert_str_eq(copy->reason, "busy!");
}
END_TEST

START_TEST(codes_of_peers_are_errnos)
{
	static const uint64_t none[] = {0,	    41,		134,	       512,
					4095,	    INT32_MAX,	1ull << 31,    UINT32_MAX,
					1ull << 32, UINT64_MAX, -1ull - EINVAL};

	for (size_t i = 0; i < HV_ARRAY_LEN(none); i++)
		ck_assert_int_eq(hv_err_code(none[i]), EPROTO);
	ck_assert_int_eq(hv_err_code(1), EPERM);
	ck_assert_int_eq(hv_err_code(EINVAL), EINVAL);
	ck_assert_int_eq(hv_err_code(EHWPOISON), EHWPOISON);
}
END_TEST

START_TEST(errors_of_peers_are_errors)
{
	struct hv_err_sent sent = {
		.code = 0, .facts = UINT64_MAX, .reason_off = UINT64_MAX, .text = "a\nb\x9bxyz", 5};
	HV_AUTO_ERR struct hv_err *err = hv_err_received(&sent);

	ck_assert_int_eq(err->code, EPROTO);
	ck_assert_uint_eq(err->facts, HV_ERR_FACTS);
	ck_assert_str_eq(err->message, "a?b?x");
	ck_assert_ptr_eq(err->reason, err->message);
	hv_err_free(err);
	err = hv_err_received(&(struct hv_err_sent){
		.code = EBUSY, .reason_off = 3, .text = "a: busy\0more", .len_bytes = 12});
	ck_assert_int_eq(err->code, EBUSY);
	ck_assert_str_eq(err->reason, "busy");
	hv_err_free(err);
	err = hv_err_received(&(struct hv_err_sent){.code = EBUSY});
	ck_assert_str_eq(err->message, "");
}
END_TEST

START_TEST(success_stays_success)
{
	ck_assert_ptr_null(hv_err_in(NULL, "domain '%s'", "web1"));
	ck_assert_ptr_null(hv_err_add(NULL, "; %d", 1));
	ck_assert_ptr_null(hv_err_mark(NULL, HV_ERR_NAMES_DOMAIN));
	hv_err_free(NULL);
}
END_TEST

START_TEST(the_first_error_is_kept)
{
	HV_AUTO_ERR struct hv_err *first = NULL;

	hv_err_keep_first(&first, NULL);
	ck_assert_ptr_null(first);
	hv_err_keep_first(&first, hv_err_new(EIO, "first"));
	hv_err_keep_first(&first, NULL);
	hv_err_keep_first(&first, hv_err_new(EINVAL, "second"));
	ck_assert_str_eq(first->message, "first");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, messages_are_safe_to_print);
	tcase_add_test(tc, reason_excludes_the_last_context);
	tcase_add_test(tc, facts_survive_context_and_copy);
	tcase_add_test(tc, codes_of_peers_are_errnos);
	tcase_add_test(tc, errors_of_peers_are_errors);
	tcase_add_test(tc, success_stays_success);
	tcase_add_test(tc, the_first_error_is_kept);
}

int main(void)
{
	return run_suite("err", add_tests);
}
