#include <check.h>
#include <string.h>

#include "tree/settings/token.h"

/* What one write takes, and the word it leaves. */
static size_t take(struct hv_token *t, const char *buf)
{
	size_t used = 0;

	ck_assert_ptr_null(hv_token_take(t, HV_TOKEN_SIZE_MAX, buf, strlen(buf), &used));
	return used;
}

START_TEST(one_word_a_write)
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

START_TEST(a_word_over_writes)
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

START_TEST(too_long)
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

static void check_name(const char *buf, size_t len, const char *want)
{
	char *name = hv_name_written(buf, len);

	ck_assert_str_eq(name, want);
	free(name);
}

START_TEST(names)
{
	check_name("nop\n", 4, "nop");
	check_name(" \t nop \n\n", 8, "nop");
	check_name("two words", 9, "two words");
	check_name("cut\0off", 7, "cut");
	check_name("cut short", 3, "cut");
	check_name(" \n", 2, "");
	check_name("", 0, "");
}
END_TEST

/* A number may be followed by nothing but a newline, and what comes behind a NUL is not seen. */
START_TEST(numbers_written)
{
	static const char zeros[70] =
		"0000000000000000000000000000000000000000000000000000000000000000"
		"00001";
	struct hv_err *err;
	uint64_t v = 0;

	ck_assert_ptr_null(hv_number_written("12\nx", 3, &v));
	ck_assert_uint_eq(v, 12);
	ck_assert_ptr_null(hv_number_written("7\0x", 3, &v));
	ck_assert_uint_eq(v, 7);
	/* as kstrtoul_from_user, which reads so much and no more */
	ck_assert_ptr_null(hv_number_written(zeros, sizeof(zeros) - 1, &v));
	ck_assert_uint_eq(v, 0);
	err = hv_number_written("0x10", 4, &v);
	ck_assert_int_eq(err->code, EINVAL);
	hv_err_free(err);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("token");
	TCase *tests = tcase_create("token");
	SRunner *runner = srunner_create(suite);
	int nr_failed;

	suite_add_tcase(suite, tests);
	tcase_add_test(tests, one_word_a_write);
	tcase_add_test(tests, a_word_over_writes);
	tcase_add_test(tests, nul_delimits);
	tcase_add_test(tests, too_long);
	tcase_add_test(tests, numbers);
	tcase_add_test(tests, names);
	tcase_add_test(tests, numbers_written);
	srunner_run_all(runner, CK_NORMAL);
	nr_failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return nr_failed != 0;
}
