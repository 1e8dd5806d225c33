/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <string.h>

#include "tests/lib/run_suite.h"
#include "tree/settings/token.h"

/* Returns how many bytes one write consumes. The word is then in the token. */
static size_t take(struct hv_token *t, const char *buf)
{
	size_t used = 0;

	ck_assert_ptr_null(hv_token_take(t, HV_TOKEN_SIZE_MAX, buf, strlen(buf), &used));
	return used;
}

START_TEST(one_word_per_write)
{
	struct hv_token t = {0};

	ck_assert_uint_eq(take(&t, "vfs_read no_such x\n"), 9);
	ck_assert_str_eq(t.text, "vfs_read");
	ck_assert(!t.unfinished);
	ck_assert_uint_eq(take(&t, "  no_such x\n"), 10);
	ck_assert_str_eq(t.text, "no_such");
	ck_assert_uint_eq(take(&t, " \t\n"), 3);
	ck_assert_uint_eq(t.len_bytes, 0);
}
END_TEST

START_TEST(a_word_across_writes)
{
	struct hv_token t = {0};

	ck_assert_uint_eq(take(&t, " vfs"), 4);
	ck_assert(t.unfinished);
	ck_assert_uint_eq(take(&t, "_re"), 3);
	ck_assert(t.unfinished);
	ck_assert_uint_eq(take(&t, "ad x"), 3);
	ck_assert(!t.unfinished);
	ck_assert_str_eq(t.text, "vfs_read");
	ck_assert_uint_eq(take(&t, "x"), 1);
	ck_assert_uint_eq(take(&t, "\n"), 1);
	ck_assert_str_eq(t.text, "x");
	ck_assert(!t.unfinished);
}
END_TEST

START_TEST(nul_delimits)
{
	struct hv_token t = {0};
	size_t used;

	ck_assert_ptr_null(hv_token_take(&t, HV_TOKEN_SIZE_MAX, "ab\0cd", 5, &used));
	ck_assert_uint_eq(used, 3);
	ck_assert_str_eq(t.text, "ab");
}
END_TEST

START_TEST(a_hold_that_takes_too_long)
{
	struct hv_token t = {0};
	struct hv_err *err;
	size_t used = 77;

	err = hv_token_take(&t, 8, "12345678", 8, &used);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, EINVAL);
	hv_err_free(err);
	ck_assert_uint_eq(used, 77);
	ck_assert_uint_eq(t.len_bytes, 0);
	ck_assert_ptr_null(hv_token_take(&t, 8, "1234567", 7, &used));
	ck_assert_str_eq(t.text, "1234567");
}
END_TEST

static int number(const char *text, unsigned base, uint64_t *ret)
{
	struct hv_err *err = hv_number_parse(text, base, ret);
	int code = err ? err->code : 0;

	hv_err_free(err);
	return code;
}

START_TEST(numbers)
{
	uint64_t v = 0;

	ck_assert_int_eq(number("12\n", 10, &v), 0);
	ck_assert_uint_eq(v, 12);
	ck_assert_int_eq(number("+7", 10, &v), 0);
	ck_assert_uint_eq(v, 7);
	ck_assert_int_eq(number("0x1F", 0, &v), 0);
	ck_assert_uint_eq(v, 31);
	ck_assert_int_eq(number("010", 0, &v), 0);
	ck_assert_uint_eq(v, 8);
	ck_assert_int_eq(number("010", 10, &v), 0);
	ck_assert_uint_eq(v, 10);
	ck_assert_int_eq(number("0", 0, &v), 0);
	ck_assert_uint_eq(v, 0);
	ck_assert_int_eq(number("18446744073709551615", 10, &v), 0);
	ck_assert_uint_eq(v, UINT64_MAX);
	ck_assert_int_eq(number("18446744073709551616", 10, &v), ERANGE);
	ck_assert_int_eq(number("-1", 10, &v), EINVAL);
	ck_assert_int_eq(number("", 10, &v), EINVAL);
	ck_assert_int_eq(number("\n", 10, &v), EINVAL);
	ck_assert_int_eq(number("1\n\n", 10, &v), EINVAL);
	ck_assert_int_eq(number("1 ", 10, &v), EINVAL);
	ck_assert_int_eq(number("0x", 0, &v), EINVAL);
	ck_assert_int_eq(number("08", 0, &v), EINVAL);
	ck_assert_int_eq(number("x", 0, &v), EINVAL);
	ck_assert_uint_eq(v, UINT64_MAX);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, one_word_per_write);
	tcase_add_test(tc, a_word_across_writes);
	tcase_add_test(tc, nul_delimits);
	tcase_add_test(tc, a_hold_that_takes_too_long);
	tcase_add_test(tc, numbers);
}

int main(void)
{
	return run_suite("token", add_tests);
}
